//===- GroupTest.cpp - One launch for many tensors
//---------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "KernelChecks.h"
#include <algorithm>

namespace {

/// A tensor of the update, and by how many elements its buffers are off from aligned ones.
struct Part {
  int64_t size, shift;
};

struct Layout {
  int64_t parameter, gradient, moment, stored;
};

constexpr int64_t kArena = 1 << 20;

/// An update of the kind of AdamW's: in place, with the stored value beside it where its type is
/// `narrow`'s. The scalar says which parameter it is.
std::string updateKernel(int64_t size, const std::string &narrow, bool isFamily) {
  bool isNarrow = narrow != "f32";
  return format(R"(
    exec.kernel private @update_$N(%p: tensor<$Nxf32>, %g: tensor<$Nx$T>, %m: tensor<$Nxf32>, %clip: tensor<f32>, %number: i64)
        -> (tensor<$Nxf32>, tensor<$Nxf32>, tensor<$Nx$T>) attributes {row_dims = 1 : i64$FAMILY} {
      %e = tensor.empty() : tensor<$Nxf32>
      %et = tensor.empty() : tensor<$Nx$T>
      %next:2 = linalg.generic {indexing_maps = [#id, #id, #id, #none, #id, #id], iterator_types = ["parallel"]}
          ins(%p, %g, %m, %clip : tensor<$Nxf32>, tensor<$Nx$T>, tensor<$Nxf32>, tensor<f32>)
          outs(%e, %e : tensor<$Nxf32>, tensor<$Nxf32>) {
        ^bb0(%p0: f32, %g0: $T, %m0: f32, %clip0: f32, %u0: f32, %u1: f32):
          %g1 = $WIDEN
          %c9 = arith.constant 0.9 : f32
          %c1 = arith.constant 0.1 : f32
          %eps = arith.constant 0.001 : f32
          %index = linalg.index 0 : index
          %place = arith.index_cast %index : index to i64
          %sum = arith.addi %place, %number : i64
          %noise = arith.sitofp %sum : i64 to f32
          %g2 = arith.mulf %g1, %clip0 : f32
          %old = arith.mulf %m0, %c9 : f32
          %new = arith.mulf %g2, %c1 : f32
          %m1 = arith.addf %old, %new : f32
          %square = arith.mulf %m1, %m1 : f32
          %root = math.sqrt %square : f32
          %below = arith.addf %root, %eps : f32
          %step = arith.divf %m1, %below : f32
          %scaled = arith.mulf %noise, %eps : f32
          %step1 = arith.mulf %step, %scaled : f32
          %p1 = arith.subf %p0, %step1 : f32
          linalg.yield %p1, %m1 : f32, f32
      } -> (tensor<$Nxf32>, tensor<$Nxf32>)
      %stored = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%next#0 : tensor<$Nxf32>) outs(%et : tensor<$Nx$T>) {
        ^bb0(%p1: f32, %u: $T):
          %s = $NARROW
          linalg.yield %s : $T
      } -> tensor<$Nx$T>
      exec.yield %next#0, %next#1, %stored : tensor<$Nxf32>, tensor<$Nxf32>, tensor<$Nx$T>
    })",
                {{"FAMILY", isFamily ? ", family = \"update\"" : ""},
                 {"WIDEN", isNarrow ? "arith.extf %g0 : bf16 to f32" : "arith.negf %g0 : f32"},
                 {"NARROW", isNarrow ? "arith.truncf %p1 : f32 to bf16" : "arith.negf %p1 : f32"},
                 {"N", text(size)},
                 {"T", narrow}});
}

/// A step that updates `parts`, and where their buffers lie.
std::string updateProgram(const std::vector<Part> &parts, const std::string &narrow, bool isFamily,
                          std::vector<Layout> &layouts) {
  std::string kernels = "#id = affine_map<(i) -> (i)>\n#none = affine_map<(i) -> ()>\n",
              body = "  %clip = exec.buffer temporaries offset(0) : memref<f32>\n";
  int64_t end = 64, narrowBytes = narrow == "f32" ? 4 : 2;
  layouts.clear();
  std::vector<int64_t> sizes;
  for (const Part &part : parts) {
    auto place = [&](const std::string &name, const std::string &type, int64_t bytes) {
      std::string all = "memref<" + text(part.size + part.shift) + "x" + type + ">";
      std::string id = name + text(layouts.size());
      body += "  %b" + id + " = exec.buffer parameters offset(" + text(end) + ") : " + all + "\n";
      body += "  %" + id + " = exec.view %b" + id + " offset(" + text(part.shift) + ") : " + all +
              " to memref<" + text(part.size) + "x" + type + ">\n";
      int64_t offset = end + part.shift * bytes;
      end = (end + (part.size + part.shift) * bytes + 63) / 64 * 64;
      return offset;
    };
    Layout layout = {place("p", "f32", 4), place("g", narrow, narrowBytes), place("m", "f32", 4),
                     place("s", narrow, narrowBytes)};
    body += format(
        "  %n$I = arith.constant $NUMBER : i64\n"
        "  exec.launch @update_$N ins(%p$I, %g$I, %m$I, %clip : memref<$Nxf32>, memref<$Nx$T>, "
        "memref<$Nxf32>, memref<f32>) outs(%p$I, %m$I, %s$I : memref<$Nxf32>, memref<$Nxf32>, "
        "memref<$Nx$T>) scalars(%n$I : i64)\n",
        {{"NUMBER", text(2 * int64_t(layouts.size()))},
         {"I", text(layouts.size())},
         {"N", text(part.size)},
         {"T", narrow}});
    layouts.push_back(layout);
    if (std::find(sizes.begin(), sizes.end(), part.size) == sizes.end()) {
      kernels += updateKernel(part.size, narrow, isFamily);
      sizes.push_back(part.size);
    }
  }
  EXPECT_LE(end, kArena);
  return kernels + "\nexec.function @ulsc_step() attributes {entry} {\n" + body +
         "  exec.return\n}\n";
}

void fillParts(ExecProgram &program, const std::vector<Part> &parts, const std::string &narrow,
               const std::vector<Layout> &layouts) {
  *program.at<float>(0) = 0.75f;
  for (size_t i = 0; i < parts.size(); ++i) {
    int64_t size = parts[i].size;
    fillNormal(program.at<float>(layouts[i].parameter), size, 3 * i);
    fillNormal(program.at<float>(layouts[i].moment), size, 3 * i + 1);
    std::vector<float> gradient(size);
    fillNormal(gradient.data(), size, 3 * i + 2);
    for (int64_t j = 0; j < size; ++j)
      if (narrow == "f32")
        program.at<float>(layouts[i].gradient)[j] = gradient[j];
      else
        program.at<uint16_t>(layouts[i].gradient)[j] = toBf16(gradient[j]);
  }
}

/// The number of the scalar, element and parameter all show in what is expected.
void expectUpdated(ExecProgram &program, ExecProgram &before, const std::vector<Part> &parts,
                   const std::string &narrow, const std::vector<Layout> &layouts) {
  for (size_t i = 0; i < parts.size(); ++i)
    for (int64_t j = 0; j < parts[i].size; ++j) {
      bool isNarrow = narrow != "f32";
      double g = isNarrow ? fromBf16(before.at<uint16_t>(layouts[i].gradient)[j])
                          : -before.at<float>(layouts[i].gradient)[j];
      double m = 0.9 * before.at<float>(layouts[i].moment)[j] + 0.1 * g * 0.75;
      double step = m / (std::fabs(m) + 0.001) * double(j + 2 * int64_t(i)) * 0.001;
      double p = before.at<float>(layouts[i].parameter)[j] - step;
      ASSERT_NEAR(program.at<float>(layouts[i].moment)[j], m, 1e-6) << i << ", " << j;
      float actual = program.at<float>(layouts[i].parameter)[j];
      ASSERT_NEAR(actual, p, 1e-4) << i << ", " << j;
      if (isNarrow)
        ASSERT_EQ(program.at<uint16_t>(layouts[i].stored)[j], toBf16(actual)) << i << ", " << j;
      else
        ASSERT_EQ(program.at<float>(layouts[i].stored)[j], -actual) << i << ", " << j;
    }
}

/// One launch gives the bits that launches of each tensor give, and nothing beside them.
void compareWithSingles(const std::vector<Part> &parts, const std::string &narrow) {
  std::vector<Layout> layouts;
  std::string apart = updateProgram(parts, narrow, false, layouts);
  std::string together = updateProgram(parts, narrow, true, layouts);
  ExecProgram singles(apart, kArena), group(together, kArena), before(together, kArena);
  ASSERT_TRUE(singles.isValid() && group.isValid());
  for (ExecProgram *program : {&singles, &group, &before})
    fillParts(*program, parts, narrow, layouts);
  singles.run();
  group.run();
  EXPECT_EQ(singles.countLaunches(), int64_t(parts.size()));
  EXPECT_EQ(group.countLaunches(), 1);
  EXPECT_EQ(std::memcmp(singles.at<char>(0), group.at<char>(0), kArena), 0);
  expectUpdated(group, before, parts, narrow, layouts);
}

const std::vector<Part> kAligned = {{1000, 0}, {1, 0}, {4096, 0}, {3, 0}, {7, 0}, {1000, 0}};
const std::vector<Part> kShifted = {{7, 3},    {4096, 1}, {1, 1},   {1000, 2},
                                    {4096, 0}, {3, 4},    {1025, 1}};

} // namespace

TEST(Group, ComputesWhatSingleLaunchesDo) { compareWithSingles(kAligned, "f32"); }

TEST(Group, OfStoredBf16) { compareWithSingles(kAligned, "bf16"); }

TEST(Group, OfUnalignedBuffers) {
  compareWithSingles(kShifted, "f32");
  compareWithSingles(kShifted, "bf16");
}

/// All differ in their places alone, and the search ends at a full and at a padded table.
TEST(Group, OfAnyNumberOfMembers) {
  for (size_t count : {2, 3, 4, 5, 8, 9})
    compareWithSingles(std::vector<Part>(count, {300, 0}), "f32");
}

TEST(Group, OfSingleElements) { compareWithSingles({{1, 0}, {1, 1}, {1, 0}}, "bf16"); }

// Which elements of a tensor a rank holds and where, in memory, in files and in initial values.
#include "checkpoint/rank_file.h"
#include "checkpoint/weights.h"
#include "core/error.h"
#include "core/initial_values.h"
#include "core/numeric.h"
#include "core/slice.h"
#include "split_tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace ulsc::runtime;
using namespace ulsc::test;
namespace fs = std::filesystem;

namespace {

/// Calls `visit` with many tensors and, for each, every rank's coordinates.
template <typename Visit>
void forRandomTensors(int count, Visit &&visit) {
  std::mt19937 random(7);
  for (int i = 0; i < count; ++i) {
    SplitTensor split = randomSplit(randomShape(random), random);
    SCOPED_TRACE(split.text());
    visit(split);
    if (testing::Test::HasFailure())
      return;
  }
}

template <typename Visit>
void forEachRank(const SplitTensor &split, Visit &&visit) {
  for (int64_t rank = 0; rank < split.mesh.ranks(); ++rank)
    visit(rank, split.mesh.coordinates(rank));
}

class SliceFiles : public testing::Test {
protected:
  void SetUp() override {
    fs::path parent = fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
    std::string name = parent / "ulsc-slices-XXXXXX";
    directory = mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(directory); }
  std::string path(int64_t rank) const { return directory + "/" + std::to_string(rank); }

  /// One file per rank in which each element's value is its logical index; padding is NaN in
  /// memory.
  void writeRankFiles(const SplitTensor &split) const {
    forEachRank(split, [&](int64_t rank, const Shape &coordinates) {
      std::vector<float> memory;
      for (int64_t index : expectedPart(split, coordinates))
        memory.push_back(index < 0 ? NAN : float(index));
      FileWriter writer(path(rank));
      DirectArenaView view(reinterpret_cast<char *>(memory.data()));
      writeRankFile(writer, split.manifest(), coordinates, view,
                    [](const StateTensor &) { return true; });
      writer.finish();
    });
  }

  /// Reads the files of `from` as the ranks of `to` do.
  void expectReadable(const SplitTensor &from, const SplitTensor &to) const {
    SCOPED_TRACE(from.text() + " to " + to.text());
    std::vector<std::vector<float>> memories;
    forEachRank(to, [&](int64_t, const Shape &coordinates) {
      Part part = partOf(to.tensor, to.mesh, coordinates);
      std::vector<int64_t> expected = expectedPart(to, coordinates);
      std::vector<float> memory(expected.size());
      int64_t copied = 0;
      for (int64_t rank = 0; rank < from.mesh.ranks(); ++rank) {
        SafetensorsFile file(path(rank));
        for (const auto &[key, slices] :
             readSlices(file, {{from.tensor.key(), from.tensor.logicalShape}}))
          for (const SavedSlice &saved : slices)
            copied += copySlice(saved, part, reinterpret_cast<char *>(memory.data()), 4);
      }
      EXPECT_EQ(copied, part.elements());
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(memory[i], std::max<float>(0, float(expected[i]))) << i;
    });
  }

  std::string directory;
};

/// As files were before tensors had several slices in one.
void removeTensorNotes(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  uint64_t length;
  std::memcpy(&length, text.data(), 8);
  nlohmann::json header = nlohmann::json::parse(text.substr(8, length));
  for (auto &note : header["__metadata__"]) {
    nlohmann::json object = nlohmann::json::parse(note.get<std::string>());
    object.erase("tensor");
    note = object.dump();
  }
  std::string values = text.substr(8 + length), changed = header.dump();
  length = changed.size();
  std::ofstream(path, std::ios::binary)
      << std::string(reinterpret_cast<const char *>(&length), 8) << changed << values;
}

} // namespace

TEST(Slice, parts_are_where_one_element_at_a_time_finds_them) {
  int severalBoxes = 0;
  forRandomTensors(3000, [&](const SplitTensor &split) {
    std::vector<int> speakers(elementCount(split.tensor.logicalShape));
    size_t most = split.tensor.flat.empty() || split.tensor.shape.empty()
                      ? 1
                      : 2 * split.tensor.shape.size() - 1;
    forEachRank(split, [&](int64_t, const Shape &coordinates) {
      Part part = partOf(split.tensor, split.mesh, coordinates);
      EXPECT_LE(part.boxes.size(), most);
      severalBoxes += part.boxes.size() > 1;
      std::vector<int64_t> found(localElements(split.tensor, split.mesh), -1);
      int64_t lastIndex = -1, lastLocal = -1, elements = 0;
      bool isFirst = isFirstReplica(split.tensor, split.mesh, coordinates);
      forEachRun(part, [&](int64_t index, int64_t local, int64_t count) {
        EXPECT_GT(index, lastIndex);
        EXPECT_GT(local, lastLocal);
        for (int64_t i = 0; i < count; ++i) {
          found.at(local + i) = index + i;
          speakers.at(index + i) += isFirst;
        }
        lastIndex = index + count - 1;
        lastLocal = local + count - 1;
        elements += count;
      });
      EXPECT_EQ(found, expectedPart(split, coordinates));
      EXPECT_EQ(elements, part.elements());
    });
    EXPECT_EQ(speakers, std::vector<int>(speakers.size(), 1));
  });
  EXPECT_GT(severalBoxes, 1000);
}

TEST(Slice, every_split_draws_the_same_values) {
  forRandomTensors(300, [](const SplitTensor &split) {
    SplitTensor lone{{}, split.tensor};
    lone.tensor.shape = split.tensor.logicalShape;
    lone.tensor.sharding.assign(split.tensor.shape.size(), {});
    lone.tensor.flat = {};
    std::vector<float> whole(elementCount(lone.tensor.shape));
    DirectArenaView wholeView(reinterpret_cast<char *>(whole.data()));
    drawInitialValues(lone.manifest(), {}, 5, wholeView, 1);
    forEachRank(split, [&](int64_t, const Shape &coordinates) {
      std::vector<int64_t> expected = expectedPart(split, coordinates);
      std::vector<float> memory(expected.size());
      DirectArenaView view(reinterpret_cast<char *>(memory.data()));
      drawInitialValues(split.manifest(), coordinates, 5, view, 2);
      for (size_t i = 0; i < memory.size(); ++i)
        EXPECT_EQ(memory[i], expected[i] < 0 ? 0 : whole[expected[i]]);
    });
  });
}

TEST_F(SliceFiles, any_split_reads_the_files_of_any_other) {
  std::mt19937 random(11);
  for (int i = 0; i < 150 && !HasFailure(); ++i) {
    Shape logicalShape = randomShape(random);
    SplitTensor from = randomSplit(logicalShape, random), to = randomSplit(logicalShape, random);
    writeRankFiles(from);
    expectReadable(from, to);
  }
}

TEST_F(SliceFiles, files_that_name_no_tensor_are_read) {
  std::mt19937 random(13);
  for (int i = 0; i < 50 && !HasFailure(); ++i) {
    Shape logicalShape = randomShape(random);
    SplitTensor from = randomSplit(logicalShape, random), to = randomSplit(logicalShape, random);
    from.tensor.flat = {};
    writeRankFiles(from);
    for (int64_t rank = 0; rank < from.mesh.ranks(); ++rank)
      removeTensorNotes(path(rank));
    expectReadable(from, to);
  }
}

TEST_F(SliceFiles, weights_reach_every_split) {
  forRandomTensors(150, [&](const SplitTensor &given) {
    std::vector<float> whole(elementCount(given.tensor.logicalShape));
    for (size_t i = 0; i < whole.size(); ++i)
      whole[i] = float(i + 1) / 7;
    std::string header = safetensorsHeader({{"w", ULSC_F32, given.tensor.externalShape}}, {});
    FileWriter writer(path(0));
    writer.write(header.data(), static_cast<int64_t>(header.size()));
    writer.write(whole.data(), static_cast<int64_t>(whole.size() * 4));
    writer.finish();
    SplitTensor split = given;
    for (int32_t dtype : {ULSC_F32, ULSC_BF16}) {
      split.tensor.dtype = dtype;
      forEachRank(split, [&](int64_t, const Shape &coordinates) {
        std::vector<int64_t> expected = expectedPart(split, coordinates);
        std::vector<char> memory(expected.size() * dtypeSize(dtype));
        DirectArenaView view(memory.data());
        loadWeights(path(0), split.manifest(), coordinates, view);
        std::vector<float> values(expected.size());
        toFloat(memory.data(), dtype, values.data(), static_cast<int64_t>(values.size()));
        for (size_t i = 0; i < values.size(); ++i) {
          float value = expected[i] < 0 ? 0 : whole[expected[i]];
          EXPECT_EQ(values[i], dtype == ULSC_F32 ? value : bf16ToFloat(floatToBf16(value)));
        }
      });
    }
  });
}

TEST(Slice, axes_of_tensors_are_checked) {
  auto problemOf = [](const std::string &keys) -> std::string {
    std::string text =
        R"({"schema": "ulsc.manifest/1", "model": {"vocabulary": 9},
        "mesh": {"axes": [{"name": "dp", "size": 2}, {"name": "tp", "size": 3}]},
        "batch": {"global": 1, "micro": 1, "microbatches": 1, "seq": 1}, "arena": {"bytes": 36},
        "inputs": {"tokens": {"offset": 0, "shape": [1], "dtype": "i32"},
                   "targets": {"offset": 4, "shape": [1], "dtype": "i32"}},
        "tensors": [{"name": "w", "role": "moment1", "dtype": "f32", "offset": 0, "shape": [3, 5],)" +
        keys + "}]}";
    try {
      parseManifest(text.c_str());
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  // 15 elements do not fit the arena's 9; their halves of 8 and the thirds' of 3 do.
  EXPECT_NE(problemOf(R"("flat": [])").find("outside the arena"), std::string::npos);
  EXPECT_EQ(problemOf(R"("flat": ["dp"])"), "");
  EXPECT_EQ(problemOf(R"("sharding": [["tp"], []], "flat": ["dp"])"), "");
  const std::pair<const char *, const char *> cases[] = {
      {R"("flat": ["pp"])", R"('w' has the unknown mesh axis 'pp' in "flat"; the mesh is dp=2)"},
      {R"("flat": ["dp", "dp"])", R"('w' has mesh axis 'dp' in "flat", but is split over it)"},
      {R"("sharding": [["tp"], []], "flat": ["tp"])",
       R"('w' has mesh axis 'tp' in "flat", but is split over it)"},
      {R"("sharding": [["tp"], ["tp"]])", R"('w' has mesh axis 'tp' in "sharding", but)"},
      {R"("flat": "dp")", R"('w' has "dp" in "flat", which is a list of mesh axes)"}};
  for (const auto &[keys, problem] : cases)
    EXPECT_NE(problemOf(keys).find(problem), std::string::npos) << problemOf(keys);
}

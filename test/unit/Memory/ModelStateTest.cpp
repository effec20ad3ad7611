//===- ModelStateTest.cpp - Rows of a rank's memory, padding and axes -------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Memory/ModelState.h"

#include "test/unit/DialectContext.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::memory;

using test::getContext;

namespace {

/// Elements of the last part that are none of `logical`, one by one.
int64_t countByHand(const ModelTensor &tensor, int64_t shards) {
  int64_t elements = tensor.getElements(), part = (elements + shards - 1) / shards, padding = 0;
  for (int64_t i = part * (shards - 1); i < part * shards; ++i) {
    bool isLogical = i < elements;
    int64_t rest = i;
    for (int64_t dim = int64_t(tensor.block.size()) - 1; dim >= 0; --dim) {
      isLogical &= rest % tensor.block[dim] < tensor.logical[dim];
      rest /= tensor.block[dim];
    }
    padding += !isLogical;
  }
  return padding;
}

int64_t getPart(const Row &row, std::vector<std::string> axes) {
  for (const RowPart &part : row.parts)
    if (part.axes == axes)
      return part.bytes;
  return -1;
}

/// 10 of 12 rows over tp; what is stored flat over dp has 16 of a rank's 18 elements, in chunks of
/// 5 whose last one has 1 element of padding behind it.
constexpr const char *kPlan = R"mlir(
dist.mesh @mesh <["dp"=4, "tp"=2]>
uls.param @w : tensor<12x3xf32> axes ["vocab", "embed"] init <ones> logical_shape [10, 3]
  sharding <@mesh, [{"tp"}, {}]>
uls.state @w.moment1 of @w role "moment1" : tensor<12x3xf32> sharding <@mesh, [{"tp"}, {}], flat={"dp"}>
uls.param @norm : tensor<32xf32> axes ["embed"] init <ones> sharding <@mesh, [{}]>
uls.state @norm.moment1 of @norm role "moment1" : tensor<32xf32> sharding <@mesh, [{}]>
exec.function @ulsc_step() attributes {entry, frame_bytes = 4096 : i64, categories = {
    activations = 1000 : i64, communication = 0 : i64, gradients = 192 : i64, optimizer = 192 : i64,
    parameters = 256 : i64, temporaries = 2456 : i64}} {
  %w = exec.buffer parameters "w" offset(0) {exec.persistent} : memref<6x3xf32>
  %n = exec.buffer parameters "norm" offset(128) {exec.persistent} : memref<32xf32>
  %m = exec.buffer optimizer "w.moment1" offset(256) {exec.persistent} : memref<5xf32>
  %k = exec.buffer optimizer "norm.moment1" offset(320) {exec.persistent} : memref<32xf32>
  %g = exec.buffer gradients "w.gradient" offset(448) {exec.persistent} : memref<5xf32>
  %h = exec.buffer gradients "norm.gradient" offset(512) {exec.persistent} : memref<32xf32>
  exec.return
}
)mlir";

} // namespace

TEST(ModelState, padding_of_the_last_part_is_what_counting_finds) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    ModelTensor tensor;
    for (unsigned dim = 0; dim <= random() % 3; ++dim) {
      tensor.block.push_back(1 + random() % 6);
      tensor.logical.push_back(random() % (tensor.block.back() + 1));
    }
    for (int64_t shards : {1, 2, 3, 7, 300})
      ASSERT_EQ(tensor.countPadding(shards), countByHand(tensor, shards)) << "round " << round;
  }
}

TEST(ModelState, a_plan_is_divided_by_axes_and_padding_told) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kPlan, &getContext());
  ASSERT_TRUE(module);
  std::vector<RankMemory> ranks = readPlan(*module);
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].firstRank, 0);
  EXPECT_EQ(ranks[0].lastRank, 7);
  EXPECT_EQ(ranks[0].total, 4096);
  const std::vector<Row> &rows = ranks[0].rows;
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(rows[0].name, "parameters");
  EXPECT_EQ(rows[0].bytes, 256);
  EXPECT_EQ(getPart(rows[0], {"tp"}), 128);
  EXPECT_EQ(getPart(rows[0], {}), 128);
  EXPECT_EQ(rows[1].name, "gradients");
  EXPECT_EQ(getPart(rows[1], {"dp", "tp"}), 64) << "a gradient may lie as the state does";
  EXPECT_EQ(getPart(rows[1], {}), 128);
  EXPECT_EQ(rows[2].name, "optimizer");
  EXPECT_EQ(getPart(rows[2], {"dp", "tp"}), 64);
  EXPECT_EQ(getPart(rows[2], {}), 128);
  EXPECT_EQ(rows[3].bytes, 1000);
  EXPECT_TRUE(rows[3].parts.empty());
  EXPECT_EQ(ranks[0].getLargest().name, "temporaries");
  // On the last rank: 2 of 6 rows of w; of the last chunk's 5 elements, 2 lie beyond the block of
  // 18 and 3 in padded rows.
  EXPECT_EQ(ranks[0].padding, 4 * (6 + 5 + 5));
}

TEST(ModelState, gradients_under_way_are_a_part_of_their_own) {
  std::string text(kPlan);
  text.replace(text.find("gradients = 192"), 15, "gradients = 500");
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &getContext());
  ASSERT_TRUE(module);
  const Row row = readPlan(*module)[0].rows[1];
  EXPECT_EQ(row.bytes, 500);
  EXPECT_EQ(row.getLasting(), 192);
  ASSERT_EQ(row.parts.size(), 3u);
  EXPECT_TRUE(row.parts[2].isTransient);
  EXPECT_EQ(row.parts[2].bytes, 308);
}

TEST(ModelState, state_by_formula_of_the_same_module) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kPlan, &getContext());
  ASSERT_TRUE(module);
  std::vector<ModelTensor> tensors = collectTensors(*module);
  StateDtypes dtypes;
  dtypes.moments = 1;
  RankMemory rank = computeStateMemory(tensors, dtypes, ZeroStage::Gradients, {{"dp", 4}}, 8);
  ASSERT_EQ(rank.rows.size(), 3u) << "no master of its own";
  EXPECT_EQ(getPart(rank.rows[0], {"tp"}), 18 * 4);
  EXPECT_EQ(getPart(rank.rows[0], {}), 32 * 4);
  EXPECT_EQ(getPart(rank.rows[1], {"dp", "tp"}), 5 * 4);
  EXPECT_EQ(getPart(rank.rows[1], {"dp"}), 8 * 4);
  EXPECT_EQ(rank.total, 4 * (50 + 13 + 13));
  EXPECT_EQ(rank.padding, 4 * (6 + 5 + 5));
}

TEST(ModelState, parameters_without_a_model_are_padded_over_tp) {
  ModelTensor tensor = makeTensor(10, 3, {"tp"});
  EXPECT_EQ(tensor.getElements(), 4);
  EXPECT_EQ(tensor.countPadding(1), 2);
  EXPECT_EQ(makeTensor(2, 4, {"tp"}).countPadding(1), 1);
}

//===- TensorTest.cpp - Shards, replicas and rounding of the interpreter's values
//----------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/InitAllDialects.h"
#include "ulsc/Interpreter/Tensor.h"

#include "mlir/AsmParser/AsmParser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

namespace {

class TensorTest : public ::testing::Test {
protected:
  TensorTest() {
    context.loadDialect<dist::DistDialect>();
    mesh = llvm::cast<dist::MeshAttr>(parseAttribute("#dist.mesh<[\"dp\"=2, \"tp\"=3]>", &context));
  }
  dist::ShardingAttr sharding(StringRef text) {
    return llvm::cast<dist::ShardingAttr>(parseAttribute(text, &context));
  }
  Tensor sequence(ArrayRef<int64_t> shape) {
    std::vector<double> elements(getNumElements(shape));
    for (size_t i = 0; i < elements.size(); ++i)
      elements[i] = double(i) + 1;
    return Tensor(shape, std::move(elements));
  }
  std::vector<Tensor> shards(const Tensor &global, dist::ShardingAttr sharding) {
    std::vector<Tensor> blocks;
    for (int64_t rank = 0; rank < mesh.getDeviceCount(); ++rank)
      blocks.push_back(shardOf(global, sharding.withoutPartials(), mesh, rank));
    return blocks;
  }

  MLIRContext context;
  dist::MeshAttr mesh;
  std::string error;
};

TEST_F(TensorTest, ShardsAssembleToTheWhole) {
  Tensor whole = sequence({4, 6});
  for (StringRef text :
       {"#dist.sharding<@mesh, [{}, {}]>", "#dist.sharding<@mesh, [{\"dp\"}, {\"tp\"}]>",
        "#dist.sharding<@mesh, [{}, {\"tp\", \"dp\"}]>", "#dist.sharding<@mesh, [{\"dp\"}, {}]>"}) {
    dist::ShardingAttr s = sharding(text);
    std::optional<Tensor> back = assemble(shards(whole, s), s, mesh, whole.getShape(), 0, error);
    ASSERT_TRUE(back) << error;
    EXPECT_EQ(getRelativeDifference(*back, whole), 0);
  }
}

TEST_F(TensorTest, PartialsAreSummed) {
  Tensor whole = sequence({4, 6});
  dist::ShardingAttr s = sharding("#dist.sharding<@mesh, [{\"dp\"}, {}], partial=[sum:{\"tp\"}]>");
  std::vector<Tensor> blocks = shards(whole, s);
  std::optional<Tensor> back = assemble(blocks, s, mesh, whole.getShape(), 0, error);
  ASSERT_TRUE(back) << error;
  EXPECT_EQ(getRelativeDifference(*back, whole.map([](double x) { return 3 * x; })), 0);
}

TEST_F(TensorTest, DifferingReplicasAreAnError) {
  Tensor whole = sequence({4, 6});
  dist::ShardingAttr s = sharding("#dist.sharding<@mesh, [{}, {\"tp\"}]>");
  std::vector<Tensor> blocks = shards(whole, s);
  blocks[4] = blocks[4].map([](double x) { return x + 1; });
  EXPECT_FALSE(assemble(blocks, s, mesh, whole.getShape(), 1e-9, error));
  EXPECT_EQ(error, "replicas differ between rank 1 and rank 4");
}

TEST_F(TensorTest, RoundsToDeclaredTypes) {
  EXPECT_EQ(roundTo(1.0 + 1.0 / 512, BFloat16Type::get(&context)), 1.0);
  EXPECT_EQ(roundTo(1.0 + 3.0 / 512, BFloat16Type::get(&context)), 1.0 + 1.0 / 128);
  EXPECT_EQ(roundTo(0.1, Float32Type::get(&context)), double(0.1f));
  EXPECT_EQ(roundTo(0.1, Float64Type::get(&context)), 0.1);
  EXPECT_EQ(roundTo(1.0 + 1.0 / 4096, Float16Type::get(&context)), 1.0);
}

} // namespace

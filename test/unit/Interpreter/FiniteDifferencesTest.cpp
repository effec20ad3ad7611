//===- FiniteDifferencesTest.cpp - Every adjoint against finite differences
//----------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "GradientCheck.h"

#include "ulsc/Differentiate/MakeJoint.h"
#include "ulsc/InitAllDialects.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

namespace {

/// A block to differentiate: its signature and body.
struct GradientCase {
  const char *name;
  const char *arguments;
  const char *results;
  const char *body;
};

const GradientCase cases[] = {
    {"neg", "%x: tensor<3x5xf32>", "tensor<3x5xf32>",
     "%y = uls.neg %x : tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"exp", "%x: tensor<3x5xf32>", "tensor<3x5xf32>",
     "%y = uls.exp %x : tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"log", "%x: tensor<3x5xf32> {test.low = 0.5, test.high = 2.0}", "tensor<3x5xf32>",
     "%y = uls.log %x : tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"sqrt", "%x: tensor<3x5xf32> {test.low = 0.5, test.high = 2.0}", "tensor<3x5xf32>",
     "%y = uls.sqrt %x : tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"rsqrt", "%x: tensor<3x5xf32> {test.low = 0.5, test.high = 2.0}", "tensor<3x5xf32>",
     "%y = uls.rsqrt %x : tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"tanh", "%x: tensor<3x5xf32>", "tensor<3x5xf32>",
     "%y = uls.tanh %x : tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"silu", "%x: tensor<3x5xf32> {test.low = -3.0, test.high = 3.0}", "tensor<3x5xf32>",
     "%y = uls.silu %x : tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"gelu", "%x: tensor<3x5xf32> {test.low = -3.0, test.high = 3.0}", "tensor<3x5xf32>",
     "%y = uls.gelu none %x : tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"gelu_tanh", "%x: tensor<3x5xf32> {test.low = -3.0, test.high = 3.0}", "tensor<3x5xf32>",
     "%y = uls.gelu tanh %x : tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"add", "%a: tensor<3x5xf32>, %b: tensor<3x5xf32>", "tensor<3x5xf32>",
     "%y = uls.add %a, %b : tensor<3x5xf32>, tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"add_scalar", "%a: tensor<3x5xf32>, %b: tensor<f32>", "tensor<3x5xf32>",
     "%y = uls.add %a, %b : tensor<3x5xf32>, tensor<f32> uls.yield %y : tensor<3x5xf32>"},
    {"sub", "%a: tensor<3x5xf32>, %b: tensor<3x5xf32>", "tensor<3x5xf32>",
     "%y = uls.sub %a, %b : tensor<3x5xf32>, tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"sub_scalar", "%a: tensor<f32>, %b: tensor<3x5xf32>", "tensor<3x5xf32>",
     "%y = uls.sub %a, %b : tensor<f32>, tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"mul", "%a: tensor<3x5xf32>, %b: tensor<3x5xf32>", "tensor<3x5xf32>",
     "%y = uls.mul %a, %b : tensor<3x5xf32>, tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"mul_scalar", "%a: tensor<3x5xf32>, %b: tensor<f32>", "tensor<3x5xf32>",
     "%y = uls.mul %a, %b : tensor<3x5xf32>, tensor<f32> uls.yield %y : tensor<3x5xf32>"},
    {"square", "%a: tensor<3x5xf32>", "tensor<3x5xf32>",
     "%y = uls.mul %a, %a : tensor<3x5xf32>, tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"div", "%a: tensor<3x5xf32>, %b: tensor<3x5xf32> {test.low = 0.5, test.high = 2.0}",
     "tensor<3x5xf32>",
     "%y = uls.div %a, %b : tensor<3x5xf32>, tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"div_scalar", "%a: tensor<f32>, %b: tensor<3x5xf32> {test.low = 0.5, test.high = 2.0}",
     "tensor<3x5xf32>",
     "%y = uls.div %a, %b : tensor<f32>, tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"maximum", "%a: tensor<3x5xf32>, %b: tensor<3x5xf32>", "tensor<3x5xf32>",
     "%y = uls.maximum %a, %b : tensor<3x5xf32>, tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"maximum_scalar", "%a: tensor<f32>, %b: tensor<3x5xf32>", "tensor<3x5xf32>",
     "%y = uls.maximum %a, %b : tensor<f32>, tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"minimum", "%a: tensor<3x5xf32>, %b: tensor<3x5xf32>", "tensor<3x5xf32>",
     "%y = uls.minimum %a, %b : tensor<3x5xf32>, tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"minimum_scalar", "%a: tensor<3x5xf32>, %b: tensor<f32>", "tensor<3x5xf32>",
     "%y = uls.minimum %a, %b : tensor<3x5xf32>, tensor<f32> uls.yield %y : tensor<3x5xf32>"},
    {"convert", "%x: tensor<3x5xf32>", "tensor<3x5xbf16>",
     "%y = uls.convert %x : tensor<3x5xf32> -> tensor<3x5xbf16> uls.yield %y : tensor<3x5xbf16>"},
    {"dropout", "%x: tensor<3x5x7xf32>, %c: !uls.context", "tensor<3x5x7xf32>",
     "%y = uls.dropout %x, %c key \"k\" rate 0.4 : tensor<3x5x7xf32> uls.yield %y : "
     "tensor<3x5x7xf32>"},
    {"einsum_matmul", "%a: tensor<3x5xf32>, %b: tensor<5x7xf32>", "tensor<3x7xf32>",
     "%y = uls.einsum \"ik,kj->ij\" %a, %b : tensor<3x5xf32>, tensor<5x7xf32> -> tensor<3x7xf32>"
     "uls.yield %y : tensor<3x7xf32>"},
    {"einsum_batch", "%a: tensor<3x2x5xf32>, %b: tensor<5x3x7xf32>", "tensor<7x3x2xf32>",
     "%y = uls.einsum \"bik,kbj->jbi\" %a, %b : tensor<3x2x5xf32>, tensor<5x3x7xf32> -> "
     "tensor<7x3x2xf32>"
     "uls.yield %y : tensor<7x3x2xf32>"},
    {"einsum_outer", "%a: tensor<3xf32>, %b: tensor<5xf32>", "tensor<5x3xf32>",
     "%y = uls.einsum \"i,j->ji\" %a, %b : tensor<3xf32>, tensor<5xf32> -> tensor<5x3xf32>"
     "uls.yield %y : tensor<5x3xf32>"},
    {"einsum_two_sums", "%a: tensor<3x5x2xf32>, %b: tensor<2x5x7xf32>", "tensor<7x3xf32>",
     "%y = uls.einsum \"ikl,lkj->ji\" %a, %b : tensor<3x5x2xf32>, tensor<2x5x7xf32> -> "
     "tensor<7x3xf32>"
     "uls.yield %y : tensor<7x3xf32>"},
    {"einsum_dot", "%a: tensor<5xf32>, %b: tensor<5xf32>", "tensor<f32>",
     "%y = uls.einsum \"i,i->\" %a, %b : tensor<5xf32>, tensor<5xf32> -> tensor<f32> uls.yield %y "
     ": tensor<f32>"},
    {"reduce_sum", "%x: tensor<3x5x7xf32>", "tensor<5xf32>",
     "%y = uls.reduce sum %x dims [0, 2] : tensor<3x5x7xf32> -> tensor<5xf32> uls.yield %y : "
     "tensor<5xf32>"},
    {"reduce_max", "%x: tensor<3x5x2xf32>", "tensor<3x2xf32>",
     "%y = uls.reduce max %x dims [1] : tensor<3x5x2xf32> -> tensor<3x2xf32> uls.yield %y : "
     "tensor<3x2xf32>"},
    {"broadcast", "%x: tensor<3x5xf32>", "tensor<3x2x5x3xf32>",
     "%y = uls.broadcast %x dims [0, 2] : tensor<3x5xf32> -> tensor<3x2x5x3xf32> uls.yield %y : "
     "tensor<3x2x5x3xf32>"},
    {"reshape", "%x: tensor<3x10xf32>", "tensor<6x5xf32>",
     "%y = uls.reshape %x : tensor<3x10xf32> -> tensor<6x5xf32> uls.yield %y : tensor<6x5xf32>"},
    {"transpose", "%x: tensor<3x5x2xf32>", "tensor<2x3x5xf32>",
     "%y = uls.transpose %x [2, 0, 1] : tensor<3x5x2xf32> -> tensor<2x3x5xf32> uls.yield %y : "
     "tensor<2x3x5xf32>"},
    {"slice", "%x: tensor<3x7xf32>", "tensor<3x3xf32>",
     "%y = uls.slice %x dim 1 offset 2 : tensor<3x7xf32> -> tensor<3x3xf32> uls.yield %y : "
     "tensor<3x3xf32>"},
    {"concat", "%a: tensor<3x2xf32>, %b: tensor<3x1xf32>, %c: tensor<3x3xf32>", "tensor<3x6xf32>",
     "%y = uls.concat %a, %b, %c dim 1 : tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x3xf32> -> "
     "tensor<3x6xf32>"
     "uls.yield %y : tensor<3x6xf32>"},
    {"pad", "%x: tensor<3x2xf32>", "tensor<3x5xf32>",
     "%y = uls.pad %x dim 1 low 2 : tensor<3x2xf32> -> tensor<3x5xf32> uls.yield %y : "
     "tensor<3x5xf32>"},
    {"embedding", "%i: tensor<2x5xi32> {test.high = 7 : i64}, %t: tensor<7x3xf32>",
     "tensor<2x5x3xf32>",
     "%y = uls.embedding %i, %t : tensor<2x5xi32>, tensor<7x3xf32> -> tensor<2x5x3xf32>"
     "uls.yield %y : tensor<2x5x3xf32>"},
    {"rms_norm", "%x: tensor<2x3x5xf32>, %w: tensor<5xf32>", "tensor<2x3x5xf32>",
     "%y, %r = uls.rms_norm %x, %w epsilon 0.01 : tensor<2x3x5xf32>, tensor<5xf32> -> "
     "tensor<2x3xf32>"
     "uls.yield %y : tensor<2x3x5xf32>"},
    {"layer_norm", "%x: tensor<2x3x5xf32>, %w: tensor<5xf32>, %b: tensor<5xf32>",
     "tensor<2x3x5xf32>",
     "%y, %m, %r = uls.layer_norm %x, %w, %b epsilon 0.01 : tensor<2x3x5xf32>, tensor<5xf32> -> "
     "tensor<2x3xf32>"
     "uls.yield %y : tensor<2x3x5xf32>"},
    {"softmax", "%x: tensor<3x5xf32> {test.low = -2.0, test.high = 2.0}", "tensor<3x5xf32>",
     "%y = uls.softmax %x : tensor<3x5xf32> uls.yield %y : tensor<3x5xf32>"},
    {"rope", "%x: tensor<2x3x5x4xf32>, %p: tensor<2x3xi32> {test.high = 9 : i64}",
     "tensor<2x3x5x4xf32>",
     "%y = uls.rope %x, %p frequencies [1.0, 0.3] : tensor<2x3x5x4xf32>, tensor<2x3xi32>"
     "uls.yield %y : tensor<2x3x5x4xf32>"},
    {"attention",
     "%q: tensor<2x3x2x3x4xf32>, %k: tensor<2x5x2x4xf32>, %v: tensor<2x5x2x4xf32>, %p: "
     "tensor<2x3xi32>, %t: tensor<2x5xi32>",
     "tensor<2x3x2x3x4xf32>",
     "%y, %l = uls.attention %q, %k, %v positions %p, %t {scale = 0.7 : f64} : "
     "tensor<2x3x2x3x4xf32>, tensor<2x5x2x4xf32>,"
     "tensor<2x3xi32>, tensor<2x5xi32> -> tensor<2x3x2x3xf32> uls.yield %y : "
     "tensor<2x3x2x3x4xf32>"},
    {"attention_causal_segments_dropout",
     "%q: tensor<2x3x2x1x4xf32>, %k: tensor<2x5x2x4xf32>, %v: tensor<2x5x2x4xf32>, %p: "
     "tensor<2x3xi32>, %t: tensor<2x5xi32>,"
     "%s: tensor<2x3xi32> {test.high = 2 : i64}, %u: tensor<2x5xi32> {test.high = 2 : i64}, %c: "
     "!uls.context",
     "tensor<2x3x2x1x4xf32>",
     "%y, %l = uls.attention %q, %k, %v positions %p, %t segments %s, %u : tensor<2x3xi32>, "
     "tensor<2x5xi32> context %c"
     "{scale = 0.7 : f64, causal, dropoutKey = \"a\", dropoutRate = 0.3 : f64} : "
     "tensor<2x3x2x1x4xf32>, tensor<2x5x2x4xf32>,"
     "tensor<2x3xi32>, tensor<2x5xi32> -> tensor<2x3x2x1xf32> uls.yield %y : "
     "tensor<2x3x2x1x4xf32>"},
    {"cross_entropy",
     "%x: tensor<3x5x7xf32>, %t: tensor<3x5xi32> {test.low = -1 : i64, test.high = 6 : i64}",
     "tensor<3x5xf32>",
     "%y, %l = uls.cross_entropy %x, %t vocabulary 6 : tensor<3x5x7xf32>, tensor<3x5xi32> -> "
     "tensor<3x5xf32>"
     "uls.yield %y : tensor<3x5xf32>"},
    // Several uses, several results, an argument without use.
    {"fan_out", "%x: tensor<3x5xf32>, %w: tensor<5x5xf32>, %unused: tensor<3xf32>",
     "tensor<3x5xf32>, tensor<3x5xf32>",
     "%h = uls.einsum \"ik,kj->ij\" %x, %w : tensor<3x5xf32>, tensor<5x5xf32> -> tensor<3x5xf32>"
     "%g = uls.gelu none %h : tensor<3x5xf32> %r = uls.add %x, %g : tensor<3x5xf32>, "
     "tensor<3x5xf32>"
     "%m = uls.mul %r, %h : tensor<3x5xf32>, tensor<3x5xf32> uls.yield %m, %g : tensor<3x5xf32>, "
     "tensor<3x5xf32>"},
};

std::string getText(const GradientCase &c) {
  return std::string("uls.block @b(") + c.arguments + ") -> (" + c.results + ") {" + c.body + "}";
}

class FiniteDifferences : public ::testing::Test {
protected:
  FiniteDifferences() : context(makeRegistry()) { context.loadDialect<uls::UlsDialect>(); }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  struct Pair {
    OwningOpRef<ModuleOp> plain, joint;
    uls::BlockOp getBlock(bool isJoint) {
      return *(isJoint ? *joint : *plain).getOps<uls::BlockOp>().begin();
    }
  };

  Pair make(const GradientCase &c) {
    Pair pair{parseSourceString<ModuleOp>(getText(c), &context),
              parseSourceString<ModuleOp>(getText(c), &context)};
    if (!pair.plain)
      return pair;
    uls::BlockOp block = pair.getBlock(true);
    if (failed(uls::makeJoint(block, uls::requestAll(block), Float32Type::get(&context))))
      pair.joint = nullptr;
    return pair;
  }

  MLIRContext context;
};

TEST_F(FiniteDifferences, EveryAdjoint) {
  for (const GradientCase &c : cases) {
    SCOPED_TRACE(c.name);
    Pair pair = make(c);
    ASSERT_TRUE(pair.plain && pair.joint);
    EXPECT_FALSE(pair.getBlock(true).getGradients()->empty());
    for (uint64_t seed : {1, 2})
      for (const std::string &failure :
           checkGradients(pair.getBlock(false), pair.getBlock(true), seed))
        ADD_FAILURE() << c.name << ", seed " << seed << ": " << failure;
  }
}

/// An op that gains an adjoint, or a floating-point operand, must gain a case above.
TEST_F(FiniteDifferences, CoverEveryDifferentiableOperand) {
  std::map<std::string, std::set<unsigned>> covered;
  for (const GradientCase &c : cases) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(getText(c), &context);
    ASSERT_TRUE(module) << c.name;
    module->walk([&](uls::DifferentiableOpInterface op) {
      for (OpOperand &operand : op->getOpOperands())
        if (uls::isDifferentiable(operand.get().getType()))
          covered[op->getName().getStringRef().str()].insert(operand.getOperandNumber());
    });
  }
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("uls")) {
    if (!name.hasInterface<uls::DifferentiableOpInterface>())
      continue;
    EXPECT_TRUE(covered.count(name.getStringRef().str()))
        << name.getStringRef().str() << " has no case";
  }
  std::map<std::string, std::set<unsigned>> expected = {
      {"uls.embedding", {1}},        {"uls.einsum", {0, 1}},       {"uls.rms_norm", {0, 1}},
      {"uls.layer_norm", {0, 1, 2}}, {"uls.attention", {0, 1, 2}}, {"uls.cross_entropy", {0}},
      {"uls.div", {0, 1}},           {"uls.mul", {0, 1}}};
  for (const auto &[name, operands] : expected)
    EXPECT_EQ(covered[name], operands) << name;
}

/// Replaces something in a joint block and expects the check to notice.
TEST_F(FiniteDifferences, NoticeAWrongAdjoint) {
  auto isCaught = [&](StringRef name, function_ref<void(Operation *)> mutate) {
    const GradientCase *c =
        llvm::find_if(cases, [&](const GradientCase &c) { return name == c.name; });
    Pair pair = make(*c);
    std::vector<Operation *> ops;
    bool isBackward = false;
    for (Operation &op : pair.getBlock(true).getEntry()) {
      if (isBackward)
        ops.push_back(&op);
      isBackward |= llvm::isa<uls::ResultOp>(op);
    }
    for (Operation *op : ops)
      mutate(op);
    return !checkGradients(pair.getBlock(false), pair.getBlock(true), 1).empty();
  };
  EXPECT_TRUE(isCaught("gelu", [](Operation *op) {
    if (auto grad = llvm::dyn_cast<uls::GeluGradOp>(op))
      grad.setApproximation(uls::Approximation::Tanh);
  }));
  EXPECT_TRUE(isCaught("rope", [](Operation *op) {
    if (auto rope = llvm::dyn_cast<uls::RopeOp>(op))
      rope.setInverse(!rope.getInverse());
  }));
  EXPECT_TRUE(isCaught("dropout", [](Operation *op) {
    if (auto dropout = llvm::dyn_cast<uls::DropoutOp>(op))
      dropout.setKey("another");
  }));
  EXPECT_TRUE(isCaught("einsum_matmul", [](Operation *op) {
    if (auto yield = llvm::dyn_cast<uls::YieldOp>(op)) {
      OpBuilder builder(op);
      Value wrong = uls::NegOp::create(builder, op->getLoc(), yield.getOperand(1).getType(),
                                       yield.getOperand(1));
      op->setOperand(1, wrong);
    }
  }));
  EXPECT_FALSE(isCaught("gelu", [](Operation *) {}));
}

} // namespace

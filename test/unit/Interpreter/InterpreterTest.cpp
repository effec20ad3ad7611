//===- InterpreterTest.cpp - The machine: registry, poison, rounding, storage
//--------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/InitAllDialects.h"
#include "ulsc/Interpreter/Compare.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

namespace {

class InterpreterTest : public ::testing::Test {
protected:
  InterpreterTest()
      : context(makeRegistry()), handler(&context, [this](Diagnostic &diag) {
          message = diag.str();
          return success();
        }) {
    context.loadDialect<uls::UlsDialect>();
    context.allowUnregisteredDialects();
  }
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }
  OwningOpRef<ModuleOp> parse(StringRef text) {
    return parseSourceString<ModuleOp>(text, &context);
  }

  FailureOr<SmallVector<RuntimeValue>> call(Interpreter &machine,
                                            ArrayRef<RuntimeValue> arguments) {
    return machine.call(llvm::cast<FunctionOpInterface>(
                            (*machine.getModule().getOps<uls::BlockOp>().begin()).getOperation()),
                        arguments);
  }

  MLIRContext context;
  std::string message;
  ScopedDiagnosticHandler handler;
};

RuntimeValue vector(std::vector<double> elements) {
  Shape shape{int64_t(elements.size())};
  return RuntimeValue::get(Tensor(shape, std::move(elements)));
}

TEST_F(InterpreterTest, AnUnknownOpIsNamedAndCanBeTaught) {
  auto module = parse(
      "uls.block @b(%x: tensor<2xf32>) -> (tensor<2xf32>) {"
      "%y = \"test.twice\"(%x) : (tensor<2xf32>) -> tensor<2xf32> uls.yield %y : tensor<2xf32> }");
  auto machine = Interpreter::create(*module);
  EXPECT_TRUE(failed(call(*machine, {vector({1, 2})})));
  EXPECT_EQ(message, "'test.twice' op has no evaluator in the interpreter");
  getRegistry().addEvaluator("test.twice", [](Operation *op, Evaluation &e) {
    e.set(op->getResult(0), 0, e.get(op->getOperand(0), 0).map([](double x) { return 2 * x; }));
    return success();
  });
  auto results = call(*machine, {vector({1, 2})});
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((*results)[0].getTensor(0).getFloats()[1], 4);
}

TEST_F(InterpreterTest, PoisonThatIsReadIsDetected) {
  auto module = parse("uls.block @b(%x: tensor<2xf32>) -> (tensor<1xf32>) {"
                      "%y = uls.slice %x dim 0 offset 0 : tensor<2xf32> -> tensor<1xf32> uls.yield "
                      "%y : tensor<1xf32> }");
  auto machine = Interpreter::create(*module);
  EXPECT_TRUE(succeeded(call(*machine, {vector({1, NAN})})));
  EXPECT_TRUE(failed(call(*machine, {vector({NAN, 1})})));
  EXPECT_EQ(message, "'uls.slice' op gives a NaN in result 0 on rank 0");
}

TEST_F(InterpreterTest, RoundsOnlyWhenAsked) {
  auto module =
      parse("uls.block @b(%x: tensor<1xbf16>) -> (tensor<1xbf16>) {"
            "%y = uls.add %x, %x : tensor<1xbf16>, tensor<1xbf16> uls.yield %y : tensor<1xbf16> }");
  Options options;
  auto exact = call(*Interpreter::create(*module, options), {vector({0.3})});
  options.round = true;
  auto rounded = call(*Interpreter::create(*module, options), {vector({0.3})});
  EXPECT_EQ((*exact)[0].getTensor(0).getFloats()[0], 0.6);
  EXPECT_EQ((*rounded)[0].getTensor(0).getFloats()[0], 0.6015625);
}

TEST_F(InterpreterTest, ParametersAreShardedAndAssembled) {
  auto module =
      parse("module attributes {dist.partitioned} { dist.mesh @mesh <[\"dp\"=2, \"tp\"=3]>"
            "uls.param @w : tensor<4x6xf32> axes [\"vocab\", \"mlp\"] init <normal, 0.5> "
            "logical_shape [3, 6]"
            " sharding <@mesh, [{}, {\"tp\"}]> }");
  ASSERT_TRUE(module) << message;
  auto machine = Interpreter::create(*module);
  ASSERT_EQ(machine->getNumRanks(), 6);
  SmallVector<Tensor> *stored = machine->findStored("w");
  EXPECT_EQ((*stored)[5].getShape(), ArrayRef<int64_t>({4, 2}));
  FailureOr<Tensor> whole = machine->getStored("w");
  ASSERT_TRUE(succeeded(whole));
  // Elements are drawn by their index without padding, and the last row is padding.
  uls::ParamOp param = *module->getOps<uls::ParamOp>().begin();
  EXPECT_EQ(getRelativeDifference(*whole, drawInitialValue(param, 0)), 0);
  EXPECT_NE(whole->getFloats()[17], 0);
  EXPECT_EQ(whole->getFloats()[18], 0);
  (*stored)[4] = (*stored)[4].map([](double x) { return x + 1; });
  EXPECT_TRUE(failed(machine->getStored("w")));
  EXPECT_EQ(message,
            "'uls.param' op leaves \"w\" inconsistent: replicas differ between rank 1 and rank 4");
}

TEST_F(InterpreterTest, UpdateReadsTheControlBlockAndWritesMasterAndStoredValue) {
  auto module = parse(R"mlir(
    uls.param @w : tensor<2xbf16> axes ["embed"] init <ones>
    uls.state @w.master of @w role "master" : tensor<2xf32>
    uls.update_rule @sgd(%p: tensor<?xf32>, %g: tensor<?xf32>, %clip: tensor<f32>) -> (tensor<?xf32>)
        attributes {roles = ["parameter", "gradient"], updates = ["parameter"]} {
      %lr = uls.control "learning_rate" : tensor<f32>
      %own = uls.control "parameter_lr_scale" : tensor<f32>
      %rate = uls.mul %lr, %own : tensor<f32>, tensor<f32>
      %0 = uls.mul %g, %clip : tensor<?xf32>, tensor<f32>
      %1 = uls.mul %0, %rate : tensor<?xf32>, tensor<f32>
      %2 = uls.sub %p, %1 : tensor<?xf32>, tensor<?xf32>
      uls.yield %2 : tensor<?xf32>
    }
    uls.step @step(%tokens: tensor<1x1x2xi32>, %targets: tensor<1x1x2xi32>) {
      %count = uls.count_valid %targets : tensor<1x1x2xi32> -> tensor<f32>
      uls.report "valid_count" %count : tensor<f32>
      %g = uls.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %half = uls.constant dense<0.5> : tensor<f32>
      uls.update @sgd(%g) scalars (%half) parameters ["w"] : (tensor<2xf32>), (tensor<f32>)
      uls.yield
    })mlir");
  ASSERT_TRUE(module) << message;
  Options options;
  options.round = true;
  options.control.learningRate = 0.01;
  options.control.parameterLrScale["w"] = 3.0;
  Tensor tokens(Shape{1, 1, 2}, std::vector<int64_t>{0, 1}),
      targets(Shape{1, 1, 2}, std::vector<int64_t>{-1, 1});
  FailureOr<StepResult> result = runStep(*module, {tokens, targets}, options);
  ASSERT_TRUE(succeeded(result)) << message;
  EXPECT_EQ(result->validCount, 1);
  EXPECT_NEAR(result->states["w.master"].getFloats()[1], 1.0 - 0.03, 1e-7);
  EXPECT_EQ(result->parameters["w"].getFloats()[1], 0.96875);
  EXPECT_EQ(result->gradients["w"].getFloats()[1], 2.0);
}

} // namespace

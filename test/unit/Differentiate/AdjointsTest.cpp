//===- AdjointsTest.cpp - Finite differences of every op's adjoint
//--------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// Every block of test/Dialects/Uls/adjoints is differentiated in all its arguments and compared
/// with central differences in double precision, element by element, under random cotangents. An op
/// that is differentiable but in no block there fails the last test.
///
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Differentiate/MakeJoint.h"
#include "test/unit/DialectContext.h"
#include "ulsc/Interpreter.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

using test::getContext;

namespace {

constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-6;

OwningOpRef<ModuleOp> load(const std::string &file) {
  return parseSourceFile<ModuleOp>(std::string(ULSC_TEST_DIR "/Dialects/Uls/adjoints/") + file,
                                   &getContext());
}

/// One block, plain and joint, with a point to differentiate at.
class Check {
public:
  Check(ModuleOp source, uls::BlockOp block)
      : name(block.getSymName().str()), plainModule(source.clone()) {
    plain = SymbolTable(*plainModule).lookup<uls::BlockOp>(name);
    request = uls::requestAll(plain);
    jointModule = source.clone();
    joint = SymbolTable(*jointModule).lookup<uls::BlockOp>(name);
  }

  void run() {
    ASSERT_TRUE(succeeded(uls::makeJoint(joint, request, Float32Type::get(&getContext()))));
    ASSERT_TRUE(succeeded(verify(*jointModule)));
    drawPoint();
    findGradients();
  }

  /// Largest difference between adjoint and finite difference, relative to the largest element of
  /// each gradient.
  double getLargestError() {
    double largest = 0;
    for (auto [k, argument] : llvm::enumerate(request.gradients)) {
      const Tensor &point = arguments[argument].getTensor(0);
      double scale = 1;
      for (double element : gradients[k].getFloats())
        scale = std::max(scale, std::abs(element));
      for (int64_t i = 0; i < point.getNumElements(); ++i) {
        double slope =
            (evaluateMoved(argument, i, kStep) - evaluateMoved(argument, i, -kStep)) / (2 * kStep);
        largest = std::max(largest, std::abs(slope - gradients[k].getFloats()[i]) / scale);
      }
    }
    return largest;
  }

  /// As if the adjoint were wrong by a factor in this gradient.
  void spoil(size_t gradient) {
    gradients[gradient] = gradients[gradient].map([](double x) { return x * 1.01 + 1e-4; });
  }
  size_t getNumGradients() const { return gradients.size(); }

private:
  Tensor drawTensor(RankedTensorType type, int64_t range) {
    int64_t count = type.getNumElements();
    if (type.getElementType().isInteger()) {
      std::vector<int64_t> elements(count);
      for (int64_t &element : elements)
        element = std::uniform_int_distribution<int64_t>(0, range - 1)(random);
      return Tensor(type.getShape(), std::move(elements));
    }
    std::vector<double> elements(count);
    for (double &element : elements)
      element = std::normal_distribution<double>()(random);
    return Tensor(type.getShape(), std::move(elements));
  }

  void drawPoint() {
    for (auto [i, type] : llvm::enumerate(plain.getArgumentTypes())) {
      auto range = plain.getArgAttrOfType<IntegerAttr>(i, "uls.range");
      auto tensor = llvm::dyn_cast<RankedTensorType>(type);
      arguments.push_back(tensor ? RuntimeValue::get(drawTensor(tensor, range ? range.getInt() : 4))
                                 : RuntimeValue::getContext(1, CallContext{3, 2}));
    }
    for (int64_t result : request.cotangents)
      cotangents.push_back(
          drawTensor(llvm::cast<RankedTensorType>(plain.getResultTypes()[result]), 0));
  }

  void findGradients() {
    SmallVector<RuntimeValue> all(arguments);
    for (const Tensor &cotangent : cotangents)
      all.push_back(RuntimeValue::get(cotangent));
    FailureOr<SmallVector<RuntimeValue>> results =
        Interpreter::create(*jointModule)->call(joint, all);
    ASSERT_TRUE(succeeded(results));
    for (const RuntimeValue &value : ArrayRef(*results).take_back(request.gradients.size()))
      gradients.push_back(value.getTensor(0));
    machine = Interpreter::create(*plainModule);
  }

  /// The results weighted by the cotangents, with one element of an argument moved.
  double evaluateMoved(int64_t argument, int64_t element, double move) {
    SmallVector<RuntimeValue> moved(arguments);
    const Tensor &point = arguments[argument].getTensor(0);
    std::vector<double> elements(point.getFloats().begin(), point.getFloats().end());
    elements[element] += move;
    moved[argument] = RuntimeValue::get(Tensor(point.getShape(), std::move(elements)));
    FailureOr<SmallVector<RuntimeValue>> results = machine->call(plain, moved);
    if (failed(results))
      return std::nan("");
    double sum = 0;
    for (auto [cotangent, index] : llvm::zip_equal(cotangents, request.cotangents)) {
      ArrayRef<double> values = (*results)[index].getTensor(0).getFloats();
      for (auto [weight, value] : llvm::zip_equal(cotangent.getFloats(), values))
        sum += weight * value;
    }
    return sum;
  }

  std::string name;
  OwningOpRef<ModuleOp> plainModule, jointModule;
  uls::BlockOp plain, joint;
  uls::JointRequest request;
  std::unique_ptr<Interpreter> machine;
  std::mt19937_64 random{7};
  SmallVector<RuntimeValue> arguments;
  SmallVector<Tensor> cotangents, gradients;
};

class AdjointsTest : public testing::TestWithParam<const char *> {};

TEST_P(AdjointsTest, AgreeWithFiniteDifferences) {
  OwningOpRef<ModuleOp> module = load(GetParam());
  ASSERT_TRUE(module);
  for (auto block : module->getOps<uls::BlockOp>()) {
    SCOPED_TRACE(block.getSymName().str());
    Check check(*module, block);
    check.run();
    if (testing::Test::HasFatalFailure())
      return;
    // Not "at most": a NaN must fail, too.
    double error = check.getLargestError();
    EXPECT_TRUE(error < kTolerance) << "differs by " << error;
  }
}

TEST_P(AdjointsTest, WrongGradientsAreCaught) {
  OwningOpRef<ModuleOp> module = load(GetParam());
  ASSERT_TRUE(module);
  for (auto block : module->getOps<uls::BlockOp>()) {
    SCOPED_TRACE(block.getSymName().str());
    size_t count = uls::requestAll(block).gradients.size();
    for (size_t gradient = 0; gradient < count; ++gradient) {
      Check check(*module, block);
      check.run();
      if (testing::Test::HasFatalFailure())
        return;
      check.spoil(gradient);
      EXPECT_FALSE(check.getLargestError() < kTolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, AdjointsTest,
                         testing::Values("elementwise.mlir", "shape.mlir", "model.mlir"),
                         [](const auto &info) {
                           return StringRef(info.param).split('.').first.str();
                         });

TEST(AdjointsCoverage, EveryDifferentiableOpIsChecked) {
  llvm::StringSet<> seen;
  for (const char *file : {"elementwise.mlir", "shape.mlir", "model.mlir"}) {
    OwningOpRef<ModuleOp> module = load(file);
    ASSERT_TRUE(module);
    module->walk([&](Operation *op) { seen.insert(op->getName().getStringRef()); });
  }
  getContext().loadDialect<uls::UlsDialect>();
  for (RegisteredOperationName name : getContext().getRegisteredOperations())
    if (name.hasInterface<uls::DifferentiableOpInterface>())
      EXPECT_TRUE(seen.contains(name.getStringRef()))
          << name.getStringRef().str() << " has an adjoint but no block";
}

} // namespace

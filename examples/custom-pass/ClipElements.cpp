//===- ClipElements.cpp - A pass of one's own, as a plugin
//----------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// Clips each element of every gradient to [-limit, limit] before the optimizer sees it. The
// optimizer's update is an ordinary function of the module, so this is a rewrite of one function;
// sharding, lowering and both tools follow.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"

#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;
using namespace ulsc;

namespace {

class ClipElements : public PassWrapper<ClipElements, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ClipElements)
  ClipElements() = default;
  ClipElements(const ClipElements &other) : PassWrapper(other) { limit = other.limit; }

  StringRef getArgument() const final { return "example-clip-elements"; }
  StringRef getDescription() const final {
    return "clip each element of every gradient before the optimizer's update";
  }

  void runOnOperation() override {
    for (auto rule : getOperation().getOps<uls::UpdateRuleOp>())
      for (auto [i, role] : llvm::enumerate(rule.getRoles().getAsValueRange<StringAttr>()))
        if (role == "gradient")
          clip(rule, rule.getArgument(i));
  }

private:
  void clip(uls::UpdateRuleOp rule, BlockArgument gradient) {
    OpBuilder builder = OpBuilder::atBlockBegin(&rule.getEntry());
    Location loc = rule.getLoc();
    auto scalar =
        RankedTensorType::get({}, cast<RankedTensorType>(gradient.getType()).getElementType());
    auto bound = [&](double value) -> Value {
      return uls::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(scalar, builder.getFloatAttr(scalar.getElementType(), value)));
    };
    Value low = bound(-limit), high = bound(limit);
    Value clipped = uls::MaximumOp::create(builder, loc, gradient, low);
    clipped = uls::MinimumOp::create(builder, loc, clipped, high);
    gradient.replaceUsesWithIf(clipped, [&](OpOperand &use) {
      return use.getOwner() != clipped.getDefiningOp()->getPrevNode();
    });
  }

  Option<double> limit{*this, "limit", llvm::cl::desc("largest absolute value of an element"),
                       llvm::cl::init(1.0)};
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "custom-pass", LLVM_VERSION_STRING,
          [] { PassRegistration<ClipElements>(); }};
}

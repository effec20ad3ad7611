//===- WriteUpdateRule.cpp - Writes down the optimizer's update of one parameter
//-----------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Train/Optimizers.h"
#include "passes/Train/Passes.h"
#include "ulsc/Differentiate/MakeJoint.h"

#include "llvm/ADT/StringExtras.h"

namespace ulsc {
#define GEN_PASS_DEF_WRITEUPDATERULEPASS
#include "passes/Train/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

namespace {
struct WriteUpdateRulePass : ulsc::impl::WriteUpdateRulePassBase<WriteUpdateRulePass> {
  using WriteUpdateRulePassBase::WriteUpdateRulePassBase;

  void runOnOperation() override;
  LogicalResult refuseUnknownOptimizer();
  void writeRule(const Optimizer &chosen);
};
} // namespace

LogicalResult WriteUpdateRulePass::refuseUnknownOptimizer() {
  SmallVector<StringRef> names(getOptimizers().keys());
  llvm::sort(names);
  return getOperation().emitError()
         << "unknown optimizer \"" << optimizer << "\"; known: " << llvm::join(names, ", ");
}

void WriteUpdateRulePass::writeRule(const Optimizer &chosen) {
  OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
  // Not the location of any model op: the rule belongs to none.
  Location loc = NameLoc::get(builder.getStringAttr("optimizer"));
  auto tensorOf = [](Type element) {
    return RankedTensorType::get({ShapedType::kDynamic}, element);
  };
  Type f32 = builder.getF32Type(), gradientDtype = getGradientDtype(getOperation());

  SmallVector<StringRef> roles{"parameter", "gradient"}, updates{"parameter"};
  SmallVector<Type> arguments{tensorOf(f32), tensorOf(gradientDtype)}, results{tensorOf(f32)};
  for (StringRef role : chosen.roles) {
    roles.push_back(role);
    updates.push_back(role);
    arguments.push_back(tensorOf(f32));
    results.push_back(tensorOf(f32));
  }
  arguments.push_back(RankedTensorType::get({}, f32));

  auto rule = UpdateRuleOp::create(
      builder, loc, optimizer, builder.getFunctionType(arguments, results), ArrayAttr(),
      ArrayAttr(), builder.getStrArrayAttr(roles), builder.getStrArrayAttr(updates));
  Block *body = builder.createBlock(&rule.getBody(), {}, arguments,
                                    SmallVector<Location>(arguments.size(), loc));
  Value gradient = body->getArgument(1);
  if (gradientDtype != f32)
    gradient = ConvertOp::create(builder, loc, tensorOf(f32), gradient);
  Value clip = body->getArguments().back();
  gradient = MulOp::create(builder, loc, gradient, clip);
  RuleBuilder ruleBuilder{builder, loc, body->getArgument(0), gradient,
                          SmallVector<Value>(body->getArguments().drop_front(2).drop_back())};
  YieldOp::create(builder, loc, chosen.write(ruleBuilder));
}

void WriteUpdateRulePass::runOnOperation() {
  if (!getOperation().getOps<UpdateRuleOp>().empty())
    return;
  auto chosen = getOptimizers().find(optimizer);
  if (chosen == getOptimizers().end()) {
    (void)refuseUnknownOptimizer();
    return signalPassFailure();
  }
  writeRule(chosen->second);
}

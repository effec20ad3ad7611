//===- LowerState.cpp - Reads and writes of parameters and optimizer state --------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/DecomposePatterns.h"
#include "passes/Lower/GenericOps.h"
#include "passes/Lower/Passes.h"
#include "passes/Lower/UpdateKernels.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ulsc {
#define GEN_PASS_DEF_LOWERSTATEPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

namespace {

struct LowerState : ulsc::impl::LowerStatePassBase<LowerState> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    noteDropout();
    for (auto step : getOperation().getOps<uls::StepOp>())
      lowerStep(step, symbols);
    for (auto rule : llvm::make_early_inc_range(getOperation().getOps<uls::UpdateRuleOp>()))
      rule.erase();
  }

  /// The compiled rates by key, for the manifest: kernels know only the keys' hashes.
  void noteDropout() {
    NamedAttrList rates;
    Builder builder(&getContext());
    getOperation().walk([&](Operation *op) {
      if (auto dropout = dyn_cast<uls::DropoutOp>(op))
        rates.set(dropout.getKey(), dropout.getRateAttr());
      if (auto attention = dyn_cast<uls::AttentionOp>(op); attention && attention.getDropoutKey())
        rates.set(*attention.getDropoutKey(), attention.getDropoutRateAttr());
    });
    if (!rates.empty())
      getOperation()->setAttr("exec.dropout_rates", rates.getDictionary(&getContext()));
  }

  void lowerStep(uls::StepOp step, SymbolTable &symbols) {
    lowerArguments(step);
    SmallVector<uls::MaterializeOp> materializations;
    SmallVector<uls::UpdateOp> updates;
    step.walk([&](uls::MaterializeOp op) { materializations.push_back(op); });
    step.walk([&](uls::UpdateOp op) { updates.push_back(op); });
    SmallVector<uls::AssignOp> assignments;
    step.walk([&](uls::AssignOp op) { assignments.push_back(op); });
    for (uls::MaterializeOp op : materializations)
      lowerMaterialize(op, symbols);
    UpdateKernels kernels(symbols, dist::getStage(step));
    for (uls::UpdateOp op : updates)
      if (failed(lowerUpdate(op, kernels, symbols)))
        return signalPassFailure();
    for (uls::AssignOp op : assignments) {
      OpBuilder builder(op);
      exec::PutOp::create(builder, op.getLoc(), op.getValue(), op.getParameter());
      op.erase();
    }
  }

  /// The step reads its inputs where the runtime puts them.
  static void lowerArguments(uls::StepOp step) {
    Block &entry = step.getEntry();
    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    static constexpr StringLiteral names[] = {"tokens", "targets"};
    for (BlockArgument argument : entry.getArguments()) {
      StringRef name = names[std::min<size_t>(argument.getArgNumber(), 1)];
      argument.replaceAllUsesWith(
          exec::GetOp::create(builder, step.getLoc(), argument.getType(), name));
    }
    entry.eraseArguments(0, entry.getNumArguments());
    step.setFunctionType(FunctionType::get(step.getContext(), {}, {}));
    step.removeArgAttrsAttr();
  }

  static void lowerMaterialize(uls::MaterializeOp op, SymbolTable &symbols) {
    OpBuilder builder(op);
    auto param = symbols.lookup<uls::ParamOp>(op.getParameter());
    auto type = cast<RankedTensorType>(op.getType());
    // Shapes agree after partitioning; gathers are explicit by then.
    Type stored = type.clone(param.getTensorType().getElementType());
    Value value = exec::GetOp::create(builder, op.getLoc(), stored, op.getParameter());
    if (stored != type)
      value = uls::ConvertOp::create(builder, op.getLoc(), type, value);
    op.replaceAllUsesWith(value);
    op.erase();
  }

  static LogicalResult lowerUpdate(uls::UpdateOp op, UpdateKernels &kernels, SymbolTable &symbols) {
    OpBuilder builder(op);
    auto rule = symbols.lookup<uls::UpdateRuleOp>(op.getRule());
    for (unsigned i = 0; i < op.getParameters().size(); ++i)
      if (failed(kernels.apply(builder, rule, op, i)))
        return failure();
    op.erase();
    return success();
  }
};

} // namespace

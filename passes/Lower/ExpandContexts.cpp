//===- ExpandContexts.cpp - Passes a call's context as two numbers ----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/DecomposePatterns.h"
#include "passes/Lower/GenericOps.h"
#include "passes/Lower/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ulsc {
#define GEN_PASS_DEF_EXPANDCONTEXTSPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

static Value buildContext(OpBuilder &builder, Location location, Value layer, Value row) {
  return UnrealizedConversionCastOp::create(
             builder, location, uls::ContextType::get(builder.getContext()), ValueRange{layer, row})
      .getResult(0);
}

/// Replaces the context arguments of a block by two numbers each.
static void expandArguments(uls::BlockOp block) {
  Block &entry = block.getEntry();
  OpBuilder builder = OpBuilder::atBlockBegin(&entry);
  for (unsigned i = 0; i < block.getNumArguments(); ++i) {
    BlockArgument context = entry.getArgument(i);
    if (!isa<uls::ContextType>(context.getType()))
      continue;
    Type type = builder.getI64Type();
    Location location = context.getLoc();
    (void)block.insertArgument(i + 1, type, {}, location);
    (void)block.insertArgument(i + 2, type, {}, location);
    Value whole =
        buildContext(builder, location, entry.getArgument(i + 1), entry.getArgument(i + 2));
    entry.getArgument(i).replaceAllUsesWith(whole);
    (void)block.eraseArgument(i);
    ++i;
  }
}

static void expandMakeContext(uls::MakeContextOp op) {
  OpBuilder builder(op);
  Value rows = i64Constant(builder, op.getLoc(), op.getRows());
  Value row = arith::MulIOp::create(builder, op.getLoc(), op.getIndex(), rows);
  op.replaceAllUsesWith(
      buildContext(builder, op.getLoc(), i64Constant(builder, op.getLoc(), 0), row));
  op.erase();
}

/// Passes layer and row of the context; the call's own layer index wins over the caller's.
static LogicalResult expandCall(uls::CallOp call) {
  SmallVector<Value> arguments;
  OpBuilder builder(call);
  for (Value argument : call.getArguments()) {
    if (!isa<uls::ContextType>(argument.getType())) {
      arguments.push_back(argument);
      continue;
    }
    auto [layer, row] = getContextParts(argument);
    if (!layer)
      return call.emitOpError("passes a context of unknown origin");
    if (auto index = call.getLayer())
      layer = i64Constant(builder, call.getLoc(), *index);
    arguments.append({layer, row});
  }
  call.getArgumentsMutable().assign(arguments);
  return success();
}

namespace {
struct ExpandContexts : ulsc::impl::ExpandContextsPassBase<ExpandContexts> {
  void runOnOperation() override {
    for (auto block : getOperation().getOps<uls::BlockOp>())
      expandArguments(block);
    getOperation().walk(expandMakeContext);
    SmallVector<uls::CallOp> calls;
    for (Operation &op : getOperation().getOps())
      if (isa<uls::BlockOp, uls::StepOp>(op))
        op.walk([&](uls::CallOp call) { calls.push_back(call); });
    for (uls::CallOp call : calls)
      if (failed(expandCall(call)))
        return signalPassFailure();
    // The forward function is of the stages before; nothing of it is left in the program.
    for (auto forward : llvm::make_early_inc_range(getOperation().getOps<uls::ForwardOp>()))
      forward.erase();
  }
};
} // namespace

//===- VerifyShardings.cpp - Checks what propagation must leave
//----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Shard/Layout.h"
#include "passes/Shard/Passes.h"

#include "dialects/Uls/Uls.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"

namespace ulsc {
#define GEN_PASS_DEF_VERIFYSHARDINGSPASS
#include "passes/Shard/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

namespace {
struct VerifyShardings : ulsc::impl::VerifyShardingsPassBase<VerifyShardings> {
  void runOnOperation() override {
    mesh = shard::Mesh::of(getOperation());
    if (!mesh.attr)
      return;
    bool valid = true;
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (llvm::isa<uls::BlockOp, uls::ForwardOp, uls::StepOp>(function))
        valid &= check(function);
    for (auto param : getOperation().getOps<uls::ParamOp>())
      valid &= checkStored(param, param.getType(), param.getSharding());
    for (auto state : getOperation().getOps<uls::StateOp>())
      valid &= checkStored(state, state.getType(), state.getSharding());
    if (!valid)
      signalPassFailure();
  }

private:
  /// What is stored is whole everywhere without a sharding.
  bool checkStored(Operation *op, Type type, std::optional<dist::ShardingAttr> sharding) {
    return !sharding || check(op, type, *sharding, "sharding", /*mayBePartial=*/false);
  }

  bool check(FunctionOpInterface function) {
    bool valid = true;
    for (BlockArgument argument : function.getArguments())
      valid &=
          check(function, argument.getType(),
                function.getArgAttr(argument.getArgNumber(), dist::DistDialect::kShardingAttrName),
                "argument " + Twine(argument.getArgNumber()), /*mayBePartial=*/false);
    bool isBlock = llvm::isa<uls::BlockOp>(function);
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      valid &=
          check(function, type, function.getResultAttr(i, dist::DistDialect::kShardingAttrName),
                "result " + Twine(i), isBlock);
    function.getFunctionBody().walk([&](Operation *op) { valid &= check(op); });
    return valid;
  }

  bool check(Operation *op) {
    auto list = op->getAttrOfType<ArrayAttr>(dist::DistDialect::kShardingsAttrName);
    bool needed = llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
    if (!needed)
      return true;
    if (!list || list.size() != op->getNumResults()) {
      op->emitOpError() << "needs " << dist::DistDialect::kShardingsAttrName << " with "
                        << op->getNumResults() << " entries; run ulsc-propagate-shardings";
      return false;
    }
    bool valid = true;
    for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
      valid &= check(op, type, list[i], "result " + Twine(i), /*mayBePartial=*/true);
    return valid;
  }

  bool check(Operation *op, Type type, Attribute attr, const Twine &what, bool mayBePartial) {
    auto tensor = llvm::dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return true;
    auto sharding = llvm::dyn_cast_or_null<dist::ShardingAttr>(attr);
    auto report = [&] { return op->emitOpError() << what << ": "; };
    if (!sharding) {
      report() << "has no sharding";
      return false;
    }
    if (failed(sharding.verify(report, mesh.attr, tensor.getShape())))
      return false;
    if (!mayBePartial && !sharding.getPartials().empty()) {
      report() << "is left partial, " << sharding << "; reduce it first";
      return false;
    }
    return true;
  }

  shard::Mesh mesh{{}, {}};
};
} // namespace

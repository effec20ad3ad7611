//===- FormKernels.cpp - Groups generics into fused kernels -----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/GenericOps.h"
#include "passes/Lower/KernelGroups.h"
#include "passes/Lower/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

namespace ulsc {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

namespace {

/// Makes a kernel of one group of generics, and its application.
class Outliner {
public:
  Outliner(ModuleOp module, SymbolTable &symbols, KernelGroup &group)
      : module(module), symbols(symbols), group(group) {
    members.insert(group.ops.begin(), group.ops.end());
  }

  void run(Operation *insertionPoint) {
    collectOperands();
    collectResults();
    exec::KernelOp kernel = build();
    OpBuilder builder(insertionPoint);
    auto apply =
        exec::ApplyOp::create(builder, kernel.getLoc(), ValueRange(results).getTypes(),
                              kernel.getSymName(), tensors.getArrayRef(), scalars.getArrayRef());
    for (auto [value, result] : llvm::zip_equal(results, apply.getResults()))
      value.replaceUsesWithIf(result, [&](OpOperand &use) { return !isMember(use.getOwner()); });
    for (Operation *op : llvm::reverse(group.ops))
      op->erase();
  }

private:
  bool isMember(Operation *op) {
    while (op && !members.contains(op))
      op = op->getParentOp();
    return op;
  }

  /// Whether `value` is made in the kernel again rather than passed: inits and constants.
  static bool isRebuilt(Value value) {
    Operation *op = value.getDefiningOp();
    return op && isa<tensor::EmptyOp, linalg::FillOp, arith::ConstantOp>(op);
  }

  void collectOperands() {
    auto visit = [&](Value value) {
      if (isRebuilt(value) || (value.getDefiningOp() && isMember(value.getDefiningOp())))
        return;
      if (auto argument = dyn_cast<BlockArgument>(value);
          argument && isMember(argument.getOwner()->getParentOp()))
        return;
      if (isa<RankedTensorType>(value.getType()))
        tensors.insert(value);
      else
        scalars.insert(value);
    };
    for (Operation *op : group.ops)
      op->walk([&](Operation *nested) { llvm::for_each(nested->getOperands(), visit); });
  }

  void collectResults() {
    for (Operation *op : group.ops)
      for (Value value : op->getResults())
        if (llvm::any_of(value.getUsers(), [&](Operation *user) { return !isMember(user); }))
          results.push_back(value);
  }

  std::string getName() {
    std::string name;
    llvm::StringSet<> seen;
    for (Operation *op : group.ops)
      if (auto source = op->getAttrOfType<StringAttr>(kSourceAttrName))
        if (seen.size() < 4 && seen.insert(source.getValue()).second)
          name += (name.empty() ? "" : "_") + source.str();
    return name.empty() ? "kernel" : name;
  }

  exec::KernelOp build() {
    SmallVector<Type> types(ValueRange(tensors.getArrayRef()).getTypes());
    llvm::append_range(types, ValueRange(scalars.getArrayRef()).getTypes());
    // The last op gives the kernel its place in messages; the others are named beside it.
    SmallVector<Location> locations;
    for (Operation *op : llvm::reverse(group.ops))
      locations.push_back(op->getLoc());
    Location location = FusedLoc::get(module.getContext(), locations);
    OpBuilder builder(module.getContext());
    builder.setInsertionPointToEnd(module.getBody());
    auto kernel = exec::KernelOp::create(
        builder, location, builder.getStringAttr(getName()),
        TypeAttr::get(builder.getFunctionType(types, ValueRange(results).getTypes())),
        builder.getStringAttr("private"), ArrayAttr(), ArrayAttr(),
        exec::KernelKindAttr::get(module.getContext(), group.isColumns ? exec::KernelKind::Columns
                                                                       : exec::KernelKind::Rows),
        builder.getI64IntegerAttr(group.rowDims), StringAttr());
    symbols.insert(kernel);
    Block *body = builder.createBlock(&kernel.getBody(), {}, types,
                                      SmallVector<Location>(types.size(), location));
    IRMapping mapping;
    mapping.map(tensors.getArrayRef(), body->getArguments().take_front(tensors.size()));
    mapping.map(scalars.getArrayRef(), body->getArguments().drop_front(tensors.size()));
    for (Operation *op : group.ops) {
      rebuild(builder, op, mapping);
      builder.clone(*op, mapping)->removeAttr(kSourceAttrName);
    }
    SmallVector<Value> yielded;
    for (Value value : results)
      yielded.push_back(mapping.lookup(value));
    exec::YieldOp::create(builder, location, yielded);
    return kernel;
  }

  /// Clones what `op` needs of inits and constants.
  static void rebuild(OpBuilder &builder, Operation *op, IRMapping &mapping) {
    op->walk([&](Operation *nested) {
      for (Value value : nested->getOperands()) {
        if (!isRebuilt(value) || mapping.contains(value) || op->isAncestor(value.getDefiningOp()))
          continue;
        rebuild(builder, value.getDefiningOp(), mapping);
        builder.clone(*value.getDefiningOp(), mapping);
      }
    });
  }

  ModuleOp module;
  SymbolTable &symbols;
  KernelGroup &group;
  DenseSet<Operation *> members;
  SetVector<Value> tensors, scalars;
  SmallVector<Value> results;
};

struct FormKernels : ulsc::impl::FormKernelsPassBase<FormKernels> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<Block *> blocks;
    getOperation().walk([&](Operation *op) {
      if (isa<uls::BlockOp, uls::StepOp, uls::MicrobatchesOp>(op))
        blocks.push_back(&op->getRegion(0).front());
    });
    for (Block *block : blocks)
      runOnBlock(*block, symbols);
  }

  void runOnBlock(Block &block, SymbolTable &symbols) {
    duplicateCheapProducers(block);
    for (KernelGroup &group : formGroups(block))
      Outliner(getOperation(), symbols, group).run(group.ops.back());
    // Inits that kernels made again.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};

} // namespace

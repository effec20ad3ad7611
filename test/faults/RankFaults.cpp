//===- RankFaults.cpp - Programs of which one rank does another thing -------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Faults.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::test;

/// Whether this is the rank of the fault, as a value at the builder's place.
static Value isRank(OpBuilder &builder, Location loc, const RankFault &fault) {
  Value coordinate =
      exec::CoordinateOp::create(builder, loc, builder.getI64Type(), /*axis=*/uint64_t(0));
  Value rank = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(fault.rank));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, coordinate, rank);
}

/// Puts `broken` in the place of `op` on the rank; null leaves it out there.
static void replaceOnRank(Operation *op, const RankFault &fault,
                          llvm::function_ref<void(OpBuilder &)> broken) {
  OpBuilder builder(op);
  auto branch =
      scf::IfOp::create(builder, op->getLoc(), isRank(builder, op->getLoc(), fault), true);
  op->moveBefore(branch.elseYield());
  builder.setInsertionPoint(branch.thenYield());
  if (broken)
    broken(builder);
}

/// `start` again, in another slot; what it takes is seen from here.
static void startAgain(OpBuilder &builder, exec::CollectiveStartOp start, int64_t slot) {
  IRMapping mapping;
  std::function<void(Value)> copyViews = [&](Value value) {
    Operation *made = value.getDefiningOp();
    if (!made || !isa<ViewLikeOpInterface>(made) || mapping.contains(value))
      return;
    for (Value operand : made->getOperands())
      copyViews(operand);
    builder.clone(*made, mapping);
  };
  for (Value operand : start->getOperands())
    copyViews(operand);
  auto copy = cast<exec::CollectiveStartOp>(builder.clone(*start, mapping));
  copy.setSlot(slot);
}

static int64_t getElements(exec::CollectiveStartOp start) {
  Value first = start.getInputs().empty() ? start.getOutputs().front() : start.getInputs().front();
  return cast<MemRefType>(first.getType()).getNumElements();
}

bool test::swapOnRank(const RankFault &fault) {
  SmallVector<Collective> all = findCollectives(fault.module, ""),
                          found = findCollectives(fault.module, fault.at);
  for (Collective first : found)
    for (Collective second : all) {
      bool fits = first.start->getBlock() == second.start->getBlock() &&
                  first.start->isBeforeInBlock(second.start) &&
                  first.start.getGroup() == second.start.getGroup() &&
                  getElements(first.start) != getElements(second.start);
      if (!fits)
        continue;
      // Each takes the other's slot, so that waits stay where they are.
      auto kept = cast<exec::CollectiveStartOp>(first.start->clone());
      auto other = second.start;
      replaceOnRank(first.start, fault,
                    [&](OpBuilder &builder) { startAgain(builder, other, first.start.getSlot()); });
      replaceOnRank(second.start, fault,
                    [&](OpBuilder &builder) { startAgain(builder, kept, other.getSlot()); });
      kept->erase();
      return true;
    }
  return false;
}

bool test::halveOnRank(const RankFault &fault) {
  SmallVector<Collective> found = findCollectives(fault.module, fault.at);
  for (Collective collective : found) {
    if (getElements(collective.start) % 2 || collective.start.getOutputs().empty())
      continue;
    replaceOnRank(collective.start, fault, [&](OpBuilder &builder) {
      auto copy = cast<exec::CollectiveStartOp>(builder.clone(*collective.start));
      builder.setInsertionPoint(copy);
      for (OpOperand &operand : copy->getOpOperands()) {
        auto type = cast<MemRefType>(operand.get().getType());
        auto half = MemRefType::get({type.getNumElements() / 2}, type.getElementType());
        operand.set(exec::ViewOp::create(builder, copy.getLoc(), half, operand.get(), int64_t(0)));
      }
    });
    return true;
  }
  return false;
}

bool test::skipOnRank(const RankFault &fault) {
  SmallVector<Collective> found = findCollectives(fault.module, fault.at);
  if (found.empty())
    return false;
  replaceOnRank(found.front().start, fault, nullptr);
  replaceOnRank(found.front().wait, fault, nullptr);
  return true;
}

bool test::callOnRank(const RankFault &fault, StringRef name) {
  SmallVector<Collective> found = findCollectives(fault.module, fault.at);
  if (found.empty())
    return false;
  ModuleOp module = fault.module;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Location loc = found.front().start.getLoc();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                          builder.getI32Type());
  auto function = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  builder.setInsertionPoint(found.front().start);
  auto branch = scf::IfOp::create(builder, loc, isRank(builder, loc, fault), false);
  builder.setInsertionPoint(branch.thenYield());
  Value zero =
      LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(0));
  LLVM::CallOp::create(builder, loc, function, zero);
  return true;
}

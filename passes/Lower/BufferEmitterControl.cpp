//===- BufferEmitterControl.cpp - Loops, calls and collectives on buffers ---------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/BufferEmitter.h"
#include "passes/Lower/GenericOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

//===---------------------------------------------------------------------------------------===//
// The loop
//===---------------------------------------------------------------------------------------===//

LogicalResult BufferEmitter::emitMicrobatch(Operation *op) {
  auto microbatch = cast<uls::MicrobatchOp>(op);
  Location location = op->getLoc();
  Value source = getBuffer(microbatch.getInput());
  Value index = arith::IndexCastOp::create(builder, location, builder.getIndexType(),
                                           scalars.lookup(microbatch.getIndex()));
  auto type = cast<RankedTensorType>(microbatch.getType());
  roots[assignment.classes.getPlace(microbatch.getOutput()).classId] = exec::SlotOp::create(
      builder, location, MemRefType::get(type.getShape(), type.getElementType()), source, index);
  return success();
}

LogicalResult BufferEmitter::emitLoop(Operation *op) {
  auto loop = cast<uls::MicrobatchesOp>(op);
  Location location = op->getLoc();
  Block &inner = loop.getBody().front();
  for (auto [init, argument] : llvm::zip_equal(loop.getInits(), inner.getArguments().drop_front()))
    if (!haveSamePlace(init, argument))
      exec::CopyOp::create(builder, location, getBuffer(init), getBuffer(argument));
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, location, builder.getIndexAttr(value));
  };
  auto repeated =
      scf::ForOp::create(builder, location, constant(0), constant(loop.getCount()), constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(repeated.getBody());
  scalars.map(inner.getArgument(0),
              arith::IndexCastOp::create(builder, location, builder.getI64Type(),
                                         repeated.getInductionVar()));
  return emitOps(inner);
}

LogicalResult BufferEmitter::emitLoopCopies(Operation *yield, uls::MicrobatchesOp loop) {
  SmallVector<std::pair<Value, Value>> copies;
  llvm::SmallDenseSet<unsigned> written;
  for (auto [value, result] : llvm::zip_equal(yield->getOperands(), loop.getResults()))
    if (!haveSamePlace(value, result)) {
      copies.push_back({value, result});
      written.insert(assignment.classes.getPlace(result).classId);
    }
  // A value that lies in a buffer which another copy writes goes by way of a buffer of its own.
  SmallVector<Value> sources;
  for (auto [value, result] : copies) {
    Value source = getBuffer(value);
    if (written.contains(assignment.classes.getPlace(value).classId)) {
      Value temporary = createBuffer(exec::Category::Temporaries, source.getType(), StringAttr(),
                                     yield->getLoc());
      exec::CopyOp::create(builder, yield->getLoc(), source, temporary);
      source = temporary;
    }
    sources.push_back(source);
  }
  for (auto [source, copy] : llvm::zip_equal(sources, copies))
    exec::CopyOp::create(builder, yield->getLoc(), source, getBuffer(copy.second));
  return success();
}

LogicalResult BufferEmitter::emitYield(Operation *op) {
  if (auto loop = dyn_cast<uls::MicrobatchesOp>(op->getParentOp()))
    return emitLoopCopies(op, loop);
  for (auto [value, id] : llvm::zip_equal(op->getOperands(), assignment.resultClasses)) {
    Place place = assignment.classes.getPlace(value);
    if (place.classId != id)
      exec::CopyOp::create(builder, op->getLoc(), getBuffer(value), getRoot(id));
  }
  exec::ReturnOp::create(builder, op->getLoc());
  return success();
}

//===---------------------------------------------------------------------------------------===//
// Calls
//===---------------------------------------------------------------------------------------===//

LogicalResult BufferEmitter::emitCall(Operation *op) {
  auto call = cast<uls::CallOp>(op);
  const Signature &callee = state.signatures.find(call.getCallee())->second;
  SmallVector<Value> arguments;
  for (auto [i, value] : llvm::enumerate(call.getArguments())) {
    if (!isa<RankedTensorType>(value.getType())) {
      arguments.push_back(scalars.lookup(value));
      continue;
    }
    auto *result = llvm::find(callee.accumulatorOf, std::optional<unsigned>(i));
    if (result == callee.accumulatorOf.end()) {
      arguments.push_back(getBuffer(value));
      continue;
    }
    // The sum takes the accumulator's place; where it could not, the accumulator is copied there
    // first.
    Value sum = call.getResult(result - callee.accumulatorOf.begin());
    if (!haveSamePlace(value, sum))
      exec::CopyOp::create(builder, op->getLoc(), getBuffer(value), getBuffer(sum));
    arguments.push_back(getBuffer(sum));
  }
  for (auto [value, accumulator] : llvm::zip_equal(call.getResults(), callee.accumulatorOf))
    if (!accumulator)
      arguments.push_back(getBuffer(value));
  auto made = exec::CallOp::create(builder, op->getLoc(), call.getCallee(), arguments, Value());
  // Whose values it makes.
  for (StringRef name : {dist::DistDialect::kChunkAttrName, dist::DistDialect::kMicrobatchAttrName})
    if (Attribute attr = op->getAttr(name))
      made->setAttr(name, attr);
  return success();
}

//===---------------------------------------------------------------------------------------===//
// Collectives
//===---------------------------------------------------------------------------------------===//

int64_t BufferEmitter::takeSlot() {
  auto *it = llvm::find(slotsInUse, false);
  if (it == slotsInUse.end()) {
    slotsInUse.push_back(false);
    it = std::prev(slotsInUse.end());
  }
  *it = true;
  int64_t slot = firstSlot + (it - slotsInUse.begin());
  slotCount = std::max(slotCount, slot + 1);
  return slot;
}

/// For each position the one it sends to.
static DenseI64ArrayAttr getDestinations(dist::PermuteOp permute, Builder &builder) {
  ArrayRef<int64_t> pairs = permute.getPairs();
  SmallVector<int64_t> destinations(pairs.size() / 2);
  for (size_t i = 0; i < pairs.size(); i += 2)
    destinations[pairs[i]] = pairs[i + 1];
  return builder.getDenseI64ArrayAttr(destinations);
}

LogicalResult BufferEmitter::emitCollectiveStart(Operation *op, ValueRange results, int64_t slot) {
  auto collective = cast<dist::CollectiveOpInterface>(op);
  auto kind = exec::symbolizeCollectiveKind(collective.getKind());
  if (!kind)
    return op->emitOpError("is a '")
           << collective.getKind() << "', which this target's runtime does not have";
  std::optional<dist::Reduction> reduction;
  if (auto reduce = dyn_cast<dist::AllReduceOp>(op))
    reduction = reduce.getReduction();
  if (auto scatter = dyn_cast<dist::ReduceScatterOp>(op))
    reduction = scatter.getReduction();
  exec::ReductionAttr combiner;
  if (reduction)
    combiner = exec::ReductionAttr::get(op->getContext(), *reduction == dist::Reduction::Max
                                                              ? exec::Reduction::Max
                                                              : exec::Reduction::Sum);
  DenseI64ArrayAttr destinations;
  if (auto permute = dyn_cast<dist::PermuteOp>(op))
    destinations = getDestinations(permute, builder);
  IntegerAttr peer;
  if (auto send = dyn_cast<dist::SendOp>(op))
    peer = send.getPeerAttr();
  if (auto receive = dyn_cast<dist::ReceiveOp>(op))
    peer = receive.getPeerAttr();
  int64_t identifier = state.collectives.addCollective(collective);
  auto start = exec::CollectiveStartOp::create(
      builder, op->getLoc(), exec::CollectiveKindAttr::get(op->getContext(), *kind), combiner,
      destinations, peer,
      builder.getI64IntegerAttr(state.collectives.getGroup(collective.getAxes())),
      builder.getI64IntegerAttr(identifier), builder.getI64IntegerAttr(slot),
      getBuffers(collective.getInputs()), getBuffers(results));
  // Whose value a transfer moves.
  if (peer)
    start->setDiscardableAttrs(op->getParentOp()->getDiscardableAttrDictionary());
  return success();
}

LogicalResult BufferEmitter::emitCollective(Operation *op) {
  int64_t slot = takeSlot();
  if (failed(emitCollectiveStart(op, op->getResults(), slot)))
    return failure();
  exec::CollectiveWaitOp::create(builder, op->getLoc(), slot);
  slotsInUse[slot - firstSlot] = false;
  return success();
}

LogicalResult BufferEmitter::emitStart(Operation *op) {
  auto start = cast<dist::StartOp>(op);
  int64_t slot = takeSlot();
  slotOfHandle[start.getHandle()] = slot;
  auto wait = dyn_cast<dist::WaitOp>(*start.getHandle().user_begin());
  if (!wait || wait->getBlock() != op->getBlock())
    return op->emitOpError("is not awaited in its own block");
  return emitCollectiveStart(start.getCollective(), wait.getResults(), slot);
}

LogicalResult BufferEmitter::emitWait(Operation *op) {
  int64_t slot = slotOfHandle.lookup(cast<dist::WaitOp>(op).getHandle());
  exec::CollectiveWaitOp::create(builder, op->getLoc(), slot);
  slotsInUse[slot - firstSlot] = false;
  return success();
}

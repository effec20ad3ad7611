//===- BuffersInFlight.cpp - That nobody touches what travels ---------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/BuffersInFlight.h"

#include "dialects/Dist/Dist.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// What an op does to an operand, by its effects. Of a call, which says both, the callee tells.
static std::pair<bool, bool> getEffects(OpOperand &operand) {
  auto interface = dyn_cast<MemoryEffectOpInterface>(operand.getOwner());
  if (!interface)
    return {true, true};
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  bool reads = false, writes = false;
  for (MemoryEffects::EffectInstance &effect : effects)
    if (effect.getEffectValue<OpOperand *>() == &operand) {
      reads |= isa<MemoryEffects::Read>(effect.getEffect());
      writes |= isa<MemoryEffects::Write>(effect.getEffect());
    }
  return {reads, writes};
}

static std::optional<int64_t> getConstant(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return constant.getSExtValue();
}

//===---------------------------------------------------------------------------------------===//
// Where buffers lie, and who touches them
//===---------------------------------------------------------------------------------------===//

BuffersInFlight::Bytes BuffersInFlight::getBytes(Value value, const Scope &scope) {
  int64_t size = exec::getBytes(cast<ShapedType>(value.getType()));
  if (auto it = scope.arguments.find(value); it != scope.arguments.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  if (auto buffer = dyn_cast_or_null<exec::BufferOp>(op)) {
    if (!buffer.getOffset() || !scope.frame.space)
      return {buffer.getOperation(), 0, size};
    int64_t begin = scope.frame.begin + int64_t(*buffer.getOffset());
    return {scope.frame.space, begin, begin + size};
  }
  if (auto view = dyn_cast_or_null<exec::ViewOp>(op)) {
    Bytes bytes = getBytes(view.getSource(), scope);
    auto source = cast<MemRefType>(view.getSource().getType());
    bytes.begin += view.getOffset() * exec::getElementBytes(source.getElementType());
    bytes.end = bytes.begin + size;
    return bytes;
  }
  if (auto slot = dyn_cast_or_null<exec::SlotOp>(op)) {
    Bytes bytes = getBytes(slot.getSource(), scope);
    // In a loop, whichever entry it is.
    if (std::optional<int64_t> index = getConstant(slot.getIndex())) {
      bytes.begin += *index * size;
      bytes.end = bytes.begin + size;
    }
    return bytes;
  }
  return {};
}

SmallVector<BuffersInFlight::Access> BuffersInFlight::getAccesses(Operation *op,
                                                                  const Scope &scope) {
  auto call = dyn_cast<exec::CallOp>(op);
  auto callee = call ? symbols.lookup<exec::FunctionOp>(call.getCallee()) : exec::FunctionOp();
  SmallVector<Access> written, read;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    auto [reads, writes] = getEffects(operand);
    if (callee && operand.get() != call.getFrame())
      std::tie(reads, writes) = getSummary(callee).readsAndWrites[operand.getOperandNumber()];
    if (reads || writes)
      (writes ? written : read).push_back({getBytes(operand.get(), scope), writes});
  }
  // Of what is read and written in place, messages tell the latter.
  written.append(read);
  return written;
}

const BuffersInFlight::Summary &BuffersInFlight::getSummary(exec::FunctionOp function) {
  if (auto it = summaries.find(function); it != summaries.end())
    return it->second;
  Summary summary;
  summary.readsAndWrites.assign(function.getNumArguments(), {false, false});
  // Unknown code does anything, except that it does not communicate.
  if (function.isExternal())
    summary.readsAndWrites.assign(function.getNumArguments(), {true, true});
  function.walk([&](Operation *op) {
    summary.communicates |= isa<exec::CollectiveStartOp, exec::CollectiveWaitOp>(op);
    auto call = dyn_cast<exec::CallOp>(op);
    auto callee = call ? symbols.lookup<exec::FunctionOp>(call.getCallee()) : exec::FunctionOp();
    if (callee)
      summary.communicates |= getSummary(callee).communicates;
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
        value = view.getViewSource();
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument || !isa<MemRefType>(argument.getType()) || isa<ViewLikeOpInterface>(op) ||
          argument.getOwner() != &function.getBody().front())
        continue;
      auto [reads, writes] = getEffects(operand);
      if (callee && operand.get() != call.getFrame())
        std::tie(reads, writes) = getSummary(callee).readsAndWrites[operand.getOperandNumber()];
      auto &[everReads, everWrites] = summary.readsAndWrites[argument.getArgNumber()];
      everReads |= reads;
      everWrites |= writes;
    }
  });
  return summaries[function] = std::move(summary);
}

//===---------------------------------------------------------------------------------------===//
// Following the program
//===---------------------------------------------------------------------------------------===//

LogicalResult BuffersInFlight::check(exec::FunctionOp entry) {
  stage = std::max<int64_t>(0, dist::getStage(entry));
  calls.clear();
  inFlight.clear();
  Scope scope;
  scope.frame = {entry.getOperation(), 0, int64_t(entry.getFrameBytes().value_or(0))};
  for (BlockArgument argument : entry.getBody().front().getArguments())
    if (auto type = dyn_cast<MemRefType>(argument.getType()))
      scope.arguments[argument] = {argument.getAsOpaquePointer(), 0, exec::getBytes(type)};
  return checkBlock(entry.getBody().front(), scope);
}

LogicalResult BuffersInFlight::checkBlock(Block &block, const Scope &scope) {
  size_t outer = inFlight.size();
  for (Operation &op : block)
    if (failed(checkOp(op, scope, outer)))
      return failure();
  if (inFlight.size() == outer)
    return success();
  exec::CollectiveStartOp start = inFlight.back().op;
  return start.emitError() << "stage " << stage << " does not wait for its " << describe(start)
                           << " in the block that starts it";
}

LogicalResult BuffersInFlight::checkOp(Operation &op, const Scope &scope, size_t outer) {
  if (auto wait = dyn_cast<exec::CollectiveWaitOp>(op))
    return finish(wait, outer);
  if (auto call = dyn_cast<exec::CallOp>(op))
    return checkCall(call, scope);
  if (isa<exec::BufferOp, ViewLikeOpInterface>(op))
    return success();
  for (Region &region : op.getRegions())
    for (Block &block : region)
      if (failed(checkBlock(block, scope)))
        return failure();
  auto start = dyn_cast<exec::CollectiveStartOp>(op);
  if (!start && inFlight.empty())
    return success();
  SmallVector<Access> accesses = getAccesses(&op, scope);
  if (failed(checkAccesses(&op, accesses)))
    return failure();
  if (start)
    inFlight.push_back({start, calls, std::move(accesses)});
  return success();
}

/// A callee that communicates is followed with its arguments where they lie now; of another it is
/// enough what it does to them.
LogicalResult BuffersInFlight::checkCall(exec::CallOp call, const Scope &scope) {
  auto callee = symbols.lookup<exec::FunctionOp>(call.getCallee());
  if (!callee || !getSummary(callee).communicates)
    return inFlight.empty() ? success() : checkAccesses(call, getAccesses(call, scope));
  Scope inner;
  if (call.getFrame())
    inner.frame = getBytes(call.getFrame(), scope);
  for (auto [argument, value] :
       llvm::zip_equal(callee.getBody().front().getArguments(), call.getArgs()))
    if (isa<MemRefType>(value.getType()))
      inner.arguments[argument] = getBytes(value, scope);
  calls.push_back(call);
  LogicalResult result = checkBlock(callee.getBody().front(), inner);
  calls.pop_back();
  return result;
}

LogicalResult BuffersInFlight::finish(exec::CollectiveWaitOp wait, size_t outer) {
  for (size_t i = outer; i < inFlight.size(); ++i)
    if (inFlight[i].op.getSlot() == wait.getSlot()) {
      inFlight.erase(inFlight.begin() + i);
      return success();
    }
  return wait.emitError() << "stage " << stage << " waits for slot " << wait.getSlot()
                          << " in another block than the one that starts its communication";
}

LogicalResult BuffersInFlight::checkAccesses(Operation *op, ArrayRef<Access> accesses) {
  for (Started &started : inFlight)
    for (const Access &own : started.accesses)
      for (const Access &access : accesses) {
        if ((!own.writes && !access.writes) || !own.bytes.meets(access.bytes))
          continue;
        auto what = proof::describe(reader.describe(started.op, started.calls));
        auto diag = op->emitError()
                    << "stage " << stage << ": " << describe(op)
                    << (access.writes ? " writes" : " reads") << " memory that " << what
                    << (own.writes ? " writes" : " reads") << " until its wait, which comes later";
        diag.attachNote(started.op.getLoc()) << "started here";
        return diag;
      }
  return success();
}

/// "launch @gelu at model.layers.0.mlp, chunk 0, microbatch 1".
std::string BuffersInFlight::describe(Operation *op) {
  if (auto start = dyn_cast<exec::CollectiveStartOp>(op))
    return proof::describe(reader.describe(start, calls));
  std::string text = op->getName().stripDialect().str();
  if (auto call = dyn_cast<exec::CallOp>(op))
    text += " @" + call.getCallee().str();
  if (auto launch = dyn_cast<exec::LaunchOp>(op))
    text += " @" + launch.getKernel().str();
  if (std::string place = dist::describeLocation(op->getLoc()); place != "here")
    text += " at " + place;
  int64_t chunk = -1, microbatch = -1;
  noteOwner(op, calls, chunk, microbatch);
  if (chunk >= 0)
    text += ", chunk " + std::to_string(chunk);
  if (microbatch >= 0)
    text += ", microbatch " + std::to_string(microbatch);
  return text;
}

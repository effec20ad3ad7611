//===- CheckPlan.cpp - The second analysis of a memory plan -----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// The plan is made from intervals of buffers. This looks from the other side: it walks the program
// backwards, op by op, and keeps the set of live buffers, as a compiler does for registers: a
// buffer is live before an op that reads it, and no longer before one that overwrites all of it. In
// a loop it goes round until nothing changes. At each op all live buffers, and those the op writes,
// must lie apart.
//
//===---------------------------------------------------------------------------------------===//

#include "LiveBuffers.h"
#include "dialects/Exec/ExecOps.h"
#include "ulsc/Memory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>
#include <set>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::memory;

namespace {

/// Part of a buffer that an op reads or overwrites.
struct Access {
  unsigned buffer;
  ByteRange range;
  bool
      isExact; ///< false where the part depends on an index: then it overwrites nothing for certain
};

/// One function's walk.
class FunctionCheck {
public:
  FunctionCheck(exec::FunctionOp function, std::map<std::string, int64_t> &peaks,
                SymbolTable &symbols)
      : function(function), peaks(peaks), symbols(symbols) {}

  LogicalResult run() {
    Block &body = function.getBody().front();
    LiveBytes live;
    for (auto buffer : body.getOps<exec::BufferOp>()) {
      if (!buffer.getOffset())
        return buffer.emitOpError("has no offset");
      // Persistent buffers are read by the next step.
      unsigned index = getIndex(buffer);
      if (buffer->hasAttr("exec.persistent"))
        live.add(index, {0, getBytes(index)});
    }
    if (failed(occupyAll(live, function)))
      return failure();
    return walkBlock(body, live);
  }

  int64_t getPeak() const { return peak; }

private:
  unsigned getIndex(exec::BufferOp buffer) {
    auto [it, isNew] = indices.try_emplace(buffer, buffers.size());
    if (isNew)
      buffers.push_back(buffer);
    return it->second;
  }

  /// The part of a buffer that `value` is, or nothing for arguments.
  std::optional<Access> getAccess(Value value) {
    int64_t begin = 0, bytes = exec::getBytes(cast<ShapedType>(value.getType()));
    bool isExact = true;
    while (Operation *op = value.getDefiningOp()) {
      if (isa<exec::BufferOp>(op)) {
        unsigned index = getIndex(cast<exec::BufferOp>(op));
        return isExact ? Access{index, {begin, begin + bytes}, true}
                       : Access{index, {0, getBytes(index)}, false};
      }
      if (auto view = dyn_cast<exec::ViewOp>(op)) {
        auto source = cast<MemRefType>(view.getSource().getType());
        begin += view.getOffset() * exec::getElementBytes(source.getElementType());
        value = view.getSource();
      } else if (auto slot = dyn_cast<exec::SlotOp>(op)) {
        isExact = false;
        value = slot.getSource();
      } else {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  /// What `op` reads, and what it overwrites.
  void getAccesses(Operation *op, SmallVectorImpl<Access> &read, SmallVectorImpl<Access> &written) {
    SmallVector<MemoryEffects::EffectInstance> list;
    if (auto effects = dyn_cast<MemoryEffectOpInterface>(op))
      effects.getEffects(list);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()))
        continue;
      auto access = getAccess(operand.get());
      if (!access)
        continue;
      bool reads = false, writes = false;
      for (MemoryEffects::EffectInstance &effect : list)
        if (effect.getEffectValue<OpOperand *>() == &operand) {
          reads |= isa<MemoryEffects::Read>(effect.getEffect());
          writes |= isa<MemoryEffects::Write>(effect.getEffect());
        }
      if (auto gemm = dyn_cast<exec::GemmOp>(op);
          gemm && operand.get() == gemm.getC() && !gemm.getAccumulate())
        reads = false;
      if (auto call = dyn_cast<exec::CallOp>(op))
        std::tie(reads, writes) = getCallEffects(call, operand);
      if (reads)
        read.push_back(*access);
      if (writes)
        written.push_back(*access);
    }
  }

  /// What a callee does first to an argument; its frame is only written.
  std::pair<bool, bool> getCallEffects(exec::CallOp call, OpOperand &operand) {
    if (call.getFrame() == operand.get())
      return {false, true};
    auto callee = symbols.lookup<exec::FunctionOp>(call.getCallee());
    BlockArgument argument = callee.getBody().front().getArgument(operand.getOperandNumber());
    return {isReadFirst(argument, callee), true};
  }

  /// Whether the first access of `argument` in program order reads it.
  bool isReadFirst(BlockArgument argument, exec::FunctionOp callee) {
    for (Operation &op : callee.getBody().front()) {
      for (OpOperand &operand : op.getOpOperands()) {
        Value value = operand.get();
        while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
          value = view.getViewSource();
        if (value != argument || isa<ViewLikeOpInterface>(op))
          continue;
        // A view of all bytes is the argument in another shape.
        bool isPart = exec::getBytes(cast<ShapedType>(operand.get().getType())) !=
                      exec::getBytes(cast<ShapedType>(argument.getType()));
        if (isPart || isa<exec::CallOp, exec::GemmOp>(op))
          if (!isa<exec::GemmOp>(op) || cast<exec::GemmOp>(op).getAccumulate() ||
              cast<exec::GemmOp>(op).getC() != operand.get())
            return true;
        SmallVector<MemoryEffects::EffectInstance> list;
        if (auto effects = dyn_cast<MemoryEffectOpInterface>(op))
          effects.getEffects(list);
        bool reads = llvm::any_of(list, [&](MemoryEffects::EffectInstance &effect) {
          return effect.getEffectValue<OpOperand *>() == &operand &&
                 isa<MemoryEffects::Read>(effect.getEffect());
        });
        auto gemm = dyn_cast<exec::GemmOp>(op);
        return reads && !(gemm && gemm.getC() == operand.get() && !gemm.getAccumulate());
      }
      if (isa<scf::ForOp>(op))
        return true;
    }
    return true;
  }

  LogicalResult walkBlock(Block &block, LiveBytes &live) {
    for (Operation &op : llvm::reverse(block)) {
      if (isa<exec::BufferOp>(op) || isa<ViewLikeOpInterface>(op))
        continue;
      auto loop = dyn_cast<scf::ForOp>(op);
      if (failed(loop ? walkLoop(loop, live) : visit(&op, live)))
        return failure();
    }
    return success();
  }

  LogicalResult walkLoop(scf::ForOp loop, LiveBytes &live) {
    // What is live at the top of the body is live at its bottom, too.
    while (true) {
      LiveBytes round = live;
      if (failed(walkBlock(*loop.getBody(), round)))
        return failure();
      int64_t before = live.count();
      live.add(round);
      if (failed(occupyAll(live, loop)))
        return failure();
      if (live.count() == before)
        return success();
    }
  }

  LogicalResult visit(Operation *op, LiveBytes &live) {
    SmallVector<Access> read, written;
    getAccesses(op, read, written);
    if (failed(noteCollective(op)))
      return failure();
    SmallVector<unsigned> touched;
    for (const SmallVector<Access> *list : {&read, &written})
      for (const Access &access : *list)
        touched.push_back(access.buffer);
    for (unsigned index : touched)
      if (failed(occupy(index, op)))
        return failure();
    countPeak(op);
    for (unsigned index : touched)
      occupancy.remove(index);
    for (const Access &access : written)
      if (access.isExact && !buffers[access.buffer]->hasAttr("exec.persistent"))
        change(live, access.buffer, op, [&] { live.remove(access.buffer, access.range); });
    for (const Access &access : read)
      change(live, access.buffer, op, [&] { live.add(access.buffer, access.range); });
    return success();
  }

  /// Changes the live bytes of a buffer, and its place among those present with them.
  void change(LiveBytes &live, unsigned index, Operation *op, llvm::function_ref<void()> apply) {
    bool before = live.contains(index);
    apply();
    bool after = live.contains(index);
    if (before && !after)
      occupancy.remove(index);
    // It was present as an operand a moment ago, and apart from all others.
    if (!before && after)
      (void)occupy(index, op);
  }

  LogicalResult occupyAll(const LiveBytes &live, Operation *op) {
    occupancy.clear();
    for (auto &[index, ranges] : live.getRanges())
      if (failed(occupy(index, op)))
        return failure();
    for (auto &[slot, list] : held)
      for (unsigned index : list)
        if (failed(occupy(index, op)))
          return failure();
    return success();
  }

  LogicalResult occupy(unsigned index, Operation *op) {
    int64_t bytes = getBytes(index), offset = buffers[index].getOffset().value_or(-1);
    int64_t counted = buffers[index]->hasAttr("exec.persistent") ? 0 : align(bytes);
    std::optional<unsigned> other = occupancy.add(index, offset, bytes, counted);
    if (!other)
      return success();
    auto diagnostic = op->emitOpError("is at a point where two live buffers share bytes: one of ")
                      << getBytes(*other) << " bytes at offset "
                      << buffers[*other].getOffset().value_or(-1) << " and one at " << offset;
    diagnostic.attachNote(buffers[*other].getLoc()) << "the one";
    diagnostic.attachNote(buffers[index].getLoc()) << "the other";
    return diagnostic;
  }

  /// A started collective holds its buffers from the start to the wait, which comes first on the
  /// way back.
  LogicalResult noteCollective(Operation *op) {
    if (auto start = dyn_cast<exec::CollectiveStartOp>(op)) {
      for (unsigned index : held[start.getSlot()])
        occupancy.remove(index);
      held.erase(start.getSlot());
    }
    auto wait = dyn_cast<exec::CollectiveWaitOp>(op);
    exec::CollectiveStartOp start = wait ? findStart(wait) : exec::CollectiveStartOp();
    if (!start)
      return success();
    SmallVector<Access> read, written;
    getAccesses(start, read, written);
    for (const SmallVector<Access> *list : {&read, &written})
      for (const Access &access : *list)
        if (held[wait.getSlot()].insert(access.buffer).second && failed(occupy(access.buffer, op)))
          return failure();
    return success();
  }

  void countPeak(Operation *op) {
    int64_t bytes = occupancy.getCounted();
    // A frame counts by what the callee needs at most.
    if (auto call = dyn_cast<exec::CallOp>(op)) {
      if (auto access = call.getFrame() ? getAccess(call.getFrame()) : std::nullopt)
        bytes -= align(getBytes(access->buffer));
      bytes += peaks[call.getCallee().str()];
    }
    peak = std::max(peak, bytes);
  }

  exec::CollectiveStartOp findStart(exec::CollectiveWaitOp wait) {
    for (Operation *op = wait->getPrevNode(); op; op = op->getPrevNode())
      if (auto start = dyn_cast<exec::CollectiveStartOp>(op))
        if (start.getSlot() == wait.getSlot())
          return start;
    return {};
  }

  int64_t getBytes(unsigned index) { return exec::getBytes(buffers[index].getResult().getType()); }

  exec::FunctionOp function;
  std::map<std::string, int64_t> &peaks;
  SymbolTable &symbols;
  DenseMap<Operation *, unsigned> indices;
  std::vector<exec::BufferOp> buffers;
  std::map<int64_t, std::set<unsigned>>
      held;            ///< by slot, walking backwards from the wait to the start
  Occupancy occupancy; ///< live buffers, those that collectives hold, and an op's own
  int64_t peak = 0;
};

} // namespace

FailureOr<PlanCheck> memory::checkPlan(ModuleOp module) {
  SymbolTable symbols(module);
  std::map<std::string, int64_t> peaks;
  PlanCheck result;
  std::function<LogicalResult(exec::FunctionOp)> check =
      [&](exec::FunctionOp function) -> LogicalResult {
    std::string name = function.getSymName().str();
    if (peaks.count(name))
      return success();
    peaks[name] = 0;
    WalkResult callees = function.walk([&](exec::CallOp call) {
      return failed(check(symbols.lookup<exec::FunctionOp>(call.getCallee())))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (callees.wasInterrupted())
      return failure();
    FunctionCheck single(function, peaks, symbols);
    if (failed(single.run()))
      return failure();
    peaks[name] = single.getPeak();
    if (function.getEntry()) {
      int64_t persistent = 0;
      for (auto buffer : function.getBody().front().getOps<exec::BufferOp>())
        if (buffer->hasAttr("exec.persistent"))
          persistent += align(exec::getBytes(buffer.getResult().getType()));
      result.largestLiveBytes = single.getPeak();
      result.transientBytes = function.getFrameBytes().value_or(0) - persistent;
    }
    return success();
  };
  for (auto function : module.getOps<exec::FunctionOp>())
    if (failed(check(function)))
      return failure();
  return result;
}

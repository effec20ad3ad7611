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

/// Bytes [begin, end) of a buffer.
struct ByteRange {
  int64_t begin, end;
};

/// Which bytes of which buffers hold something that is still read.
class LiveBytes {
public:
  void add(unsigned buffer, ByteRange range) {
    remove(buffer, range);
    ranges[buffer].push_back(range);
  }
  void remove(unsigned buffer, ByteRange range) {
    auto it = ranges.find(buffer);
    if (it == ranges.end())
      return;
    SmallVector<ByteRange> rest;
    for (ByteRange old : it->second) {
      if (old.begin < std::min(old.end, range.begin))
        rest.push_back({old.begin, std::min(old.end, range.begin)});
      if (std::max(old.begin, range.end) < old.end)
        rest.push_back({std::max(old.begin, range.end), old.end});
    }
    if (rest.empty())
      ranges.erase(it);
    else
      it->second = std::move(rest);
  }
  void add(const LiveBytes &other) {
    for (auto &[buffer, list] : other.ranges)
      for (ByteRange range : list)
        add(buffer, range);
  }
  std::set<unsigned> getBuffers() const {
    std::set<unsigned> buffers;
    for (auto &[buffer, list] : ranges)
      buffers.insert(buffer);
    return buffers;
  }
  int64_t count() const {
    int64_t bytes = 0;
    for (auto &[buffer, list] : ranges)
      for (ByteRange range : list)
        bytes += range.end - range.begin;
    return bytes;
  }

private:
  std::map<unsigned, SmallVector<ByteRange>> ranges;
};

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
      if (live.count() == before)
        return success();
    }
  }

  LogicalResult visit(Operation *op, LiveBytes &live) {
    SmallVector<Access> read, written;
    getAccesses(op, read, written);
    noteCollective(op);
    std::set<unsigned> present = live.getBuffers();
    for (const SmallVector<Access> *list : {&read, &written})
      for (const Access &access : *list)
        present.insert(access.buffer);
    for (auto &[slot, buffers] : held)
      present.insert(buffers.begin(), buffers.end());
    if (failed(checkApart(op, present)))
      return failure();
    countPeak(op, present);
    for (const Access &access : written)
      if (access.isExact && !buffers[access.buffer]->hasAttr("exec.persistent"))
        live.remove(access.buffer, access.range);
    for (const Access &access : read)
      live.add(access.buffer, access.range);
    return success();
  }

  /// A started collective holds its buffers from the start to the wait, which comes first on the
  /// way back.
  void noteCollective(Operation *op) {
    if (auto start = dyn_cast<exec::CollectiveStartOp>(op))
      held.erase(start.getSlot());
    auto wait = dyn_cast<exec::CollectiveWaitOp>(op);
    exec::CollectiveStartOp start = wait ? findStart(wait) : exec::CollectiveStartOp();
    if (!start)
      return;
    SmallVector<Access> read, written;
    getAccesses(start, read, written);
    for (const SmallVector<Access> *list : {&read, &written})
      for (const Access &access : *list)
        held[wait.getSlot()].insert(access.buffer);
  }

  void countPeak(Operation *op, const std::set<unsigned> &present) {
    int64_t bytes = 0;
    for (unsigned index : present)
      if (!buffers[index]->hasAttr("exec.persistent") && !isFrame(op, index))
        bytes += align(getBytes(index));
    // A frame counts by what the callee needs at most.
    if (auto call = dyn_cast<exec::CallOp>(op))
      bytes += peaks[call.getCallee().str()];
    peak = std::max(peak, bytes);
  }

  exec::CollectiveStartOp findStart(exec::CollectiveWaitOp wait) {
    for (Operation *op = wait->getPrevNode(); op; op = op->getPrevNode())
      if (auto start = dyn_cast<exec::CollectiveStartOp>(op))
        if (start.getSlot() == wait.getSlot())
          return start;
    return {};
  }

  bool isFrame(Operation *op, unsigned index) {
    auto call = dyn_cast<exec::CallOp>(op);
    auto access = call && call.getFrame() ? getAccess(call.getFrame()) : std::nullopt;
    return access && access->buffer == index;
  }

  int64_t getBytes(unsigned index) { return exec::getBytes(buffers[index].getResult().getType()); }

  LogicalResult checkApart(Operation *op, const std::set<unsigned> &present) {
    if (present == lastPresent)
      return success();
    lastPresent = present;
    std::vector<std::pair<int64_t, unsigned>> order;
    for (unsigned index : present)
      order.push_back({buffers[index].getOffset().value_or(-1), index});
    std::sort(order.begin(), order.end());
    for (size_t i = 1; i < order.size(); ++i) {
      auto [offset, index] = order[i];
      auto [before, other] = order[i - 1];
      if (before + getBytes(other) <= offset)
        continue;
      auto diagnostic = op->emitOpError("is at a point where two live buffers share bytes: one of ")
                        << getBytes(other) << " bytes at offset " << before << " and one at "
                        << offset;
      diagnostic.attachNote(buffers[other].getLoc()) << "the one";
      diagnostic.attachNote(buffers[index].getLoc()) << "the other";
      return diagnostic;
    }
    return success();
  }

  exec::FunctionOp function;
  std::map<std::string, int64_t> &peaks;
  SymbolTable &symbols;
  DenseMap<Operation *, unsigned> indices;
  std::vector<exec::BufferOp> buffers;
  std::map<int64_t, std::set<unsigned>>
      held; ///< by slot, walking backwards from the wait to the start
  std::set<unsigned> lastPresent;
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

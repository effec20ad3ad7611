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
#include "lib/Memory/LiveBytes.h"
#include "ulsc/Memory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>

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
    if (failed(collectBuffers()))
      return failure();
    LiveBytes live;
    for (auto [index, buffer] : llvm::enumerate(buffers))
      if (buffer.isPersistent)
        live.add(index, {0, buffer.bytes});
    persistentBytes = live.getTotal();
    if (failed(checkAllApart(function, live)))
      return failure();
    return walkBlock(function.getBody().front(), live);
  }

  int64_t getPeak() const { return peak; }

private:
  struct Buffer {
    exec::BufferOp op;
    int64_t offset, bytes;
    bool isPersistent; ///< read by the next step
  };

  /// Numbers buffers by offset: of two that share bytes, and of no others between, one follows on
  /// the other.
  LogicalResult collectBuffers() {
    WalkResult result = function.walk([&](exec::BufferOp op) -> WalkResult {
      if (!op.getOffset())
        return op.emitOpError("has no offset");
      buffers.push_back({op, static_cast<int64_t>(*op.getOffset()),
                         exec::getBytes(op.getResult().getType()), op->hasAttr("exec.persistent")});
      return WalkResult::advance();
    });
    llvm::stable_sort(buffers,
                      [](const Buffer &a, const Buffer &b) { return a.offset < b.offset; });
    for (auto [index, buffer] : llvm::enumerate(buffers))
      indices[buffer.op] = index;
    return failure(result.wasInterrupted());
  }

  /// The part of a buffer that `value` is, or nothing for arguments.
  std::optional<Access> getAccess(Value value) {
    int64_t begin = 0, bytes = exec::getBytes(cast<ShapedType>(value.getType()));
    bool isExact = true;
    while (Operation *op = value.getDefiningOp()) {
      if (isa<exec::BufferOp>(op)) {
        unsigned index = indices.lookup(op);
        return isExact ? Access{index, {begin, begin + bytes}, true}
                       : Access{index, {0, buffers[index].bytes}, false};
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

  /// Whether a product gives `value` and takes nothing of it.
  static bool overwrites(exec::GemmOp gemm, Value value) {
    return (value == gemm.getC() && !gemm.getAccumulate()) || value == gemm.getEpilogueOutput();
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
      if (auto gemm = dyn_cast<exec::GemmOp>(op); gemm && overwrites(gemm, operand.get()))
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
        auto gemm = dyn_cast<exec::GemmOp>(op);
        bool isOverwritten = gemm && overwrites(gemm, operand.get());
        if ((isPart || isa<exec::CallOp, exec::GemmOp>(op)) && !isOverwritten)
          return true;
        SmallVector<MemoryEffects::EffectInstance> list;
        if (auto effects = dyn_cast<MemoryEffectOpInterface>(op))
          effects.getEffects(list);
        bool reads = llvm::any_of(list, [&](MemoryEffects::EffectInstance &effect) {
          return effect.getEffectValue<OpOperand *>() == &operand &&
                 isa<MemoryEffects::Read>(effect.getEffect());
        });
        return reads && !isOverwritten;
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
      int64_t before = live.getTotal();
      live.add(round);
      if (live.getTotal() == before)
        return success();
      if (failed(checkAllApart(loop, live)))
        return failure();
    }
  }

  LogicalResult visit(Operation *op, LiveBytes &live) {
    SmallVector<Access> read, written;
    getAccesses(op, read, written);
    noteCollective(op);
    // Beside what is live, all that it touches has to be somewhere while the op runs.
    LiveBytes touched;
    for (const SmallVector<Access> *list : {&read, &written})
      for (const Access &access : *list)
        touched.add(access.buffer, access.range);
    for (auto &[slot, list] : held)
      for (const Access &access : list)
        touched.add(access.buffer, access.range);
    if (failed(checkApart(op, live, touched)))
      return failure();
    countPeak(op, live, touched);
    for (const Access &access : written)
      if (access.isExact && !buffers[access.buffer].isPersistent)
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
    SmallVector<Access> &accesses = held[wait.getSlot()];
    accesses = std::move(read);
    accesses.append(written);
  }

  /// Bytes, not buffers: what is dead of a live buffer, and what alignment adds, is the plan's
  /// loss.
  void countPeak(Operation *op, const LiveBytes &live, const LiveBytes &touched) {
    int64_t bytes = live.getTotal() - persistentBytes;
    for (auto &[index, ranges] : touched.getRanges())
      if (!buffers[index].isPersistent && !isFrame(op, index))
        bytes += live.countMissing(index, ranges);
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

  /// What is live lies apart already: each touched buffer is compared with its neighbours there,
  /// and with the others that are touched.
  LogicalResult checkApart(Operation *op, const LiveBytes &live, const LiveBytes &touched) {
    const LiveBytes::Ranges &others = live.getRanges();
    for (auto it = touched.getRanges().begin(); it != touched.getRanges().end(); ++it) {
      unsigned index = it->first;
      auto next = others.lower_bound(index);
      if (next != others.end() && next->first == index)
        continue;
      if (next != others.end() && failed(checkPair(op, index, next->first)))
        return failure();
      if (next != others.begin() && failed(checkPair(op, std::prev(next)->first, index)))
        return failure();
      for (auto &[other, ranges] : touched.getRanges())
        if (other != index && failed(checkPair(op, std::min(index, other), std::max(index, other))))
          return failure();
    }
    return success();
  }

  LogicalResult checkAllApart(Operation *op, const LiveBytes &live) {
    const LiveBytes::Ranges &all = live.getRanges();
    for (auto it = all.begin(); it != all.end(); ++it)
      if (it != all.begin() && failed(checkPair(op, std::prev(it)->first, it->first)))
        return failure();
    return success();
  }

  /// `first` has the smaller number, thus no greater offset.
  LogicalResult checkPair(Operation *op, unsigned first, unsigned second) {
    Buffer &one = buffers[first], &other = buffers[second];
    if (one.offset + one.bytes <= other.offset)
      return success();
    auto diagnostic = op->emitOpError("is at a point where two live buffers share bytes: one of ")
                      << one.bytes << " bytes at offset " << one.offset << " and one at "
                      << other.offset;
    diagnostic.attachNote(one.op.getLoc()) << "the one";
    diagnostic.attachNote(other.op.getLoc()) << "the other";
    return diagnostic;
  }

  exec::FunctionOp function;
  std::map<std::string, int64_t> &peaks;
  SymbolTable &symbols;
  DenseMap<Operation *, unsigned> indices;
  std::vector<Buffer> buffers;
  std::map<int64_t, SmallVector<Access>>
      held; ///< by slot, walking backwards from the wait to the start
  int64_t persistentBytes = 0, peak = 0;
};

} // namespace

FailureOr<std::vector<PlanCheck>> memory::checkPlan(ModuleOp module) {
  SymbolTable symbols(module);
  std::map<std::string, int64_t> peaks;
  std::vector<PlanCheck> result;
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
      result.push_back(
          {function, single.getPeak(), int64_t(function.getFrameBytes().value_or(0)) - persistent});
    }
    return success();
  };
  for (auto function : module.getOps<exec::FunctionOp>())
    if (failed(check(function)))
      return failure();
  return result;
}

//===- PlanMemory.cpp - Gives every buffer its offset -----------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "passes/Lower/Passes.h"
#include "passes/Lower/RuntimeCalls.h"
#include "ulsc/Memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

namespace ulsc {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

static int64_t getBufferBytes(exec::BufferOp buffer) {
  return exec::getBytes(buffer.getResult().getType());
}

namespace {

/// The lifetimes of one function's buffers, by number of op in pre-order. What is filled before a
/// loop and used in it is needed for all of the loop.
class Lifetimes {
public:
  explicit Lifetimes(exec::FunctionOp function) {
    function.walk<WalkOrder::PreOrder>([&](Operation *op) { points[op] = ++last; });
    function.walk([&](exec::CollectiveWaitOp wait) { waits.push_back(wait); });
    function.walk<WalkOrder::PostOrder>([&](scf::ForOp loop) { loops.push_back(loop); });
  }

  memory::Lifetime get(exec::BufferOp buffer) {
    memory::Lifetime lifetime;
    lifetime.bytes = getBufferBytes(buffer);
    lifetime.first = std::numeric_limits<int64_t>::max();
    lifetime.last = -1;
    addUses(buffer.getResult(), buffer->getBlock(), lifetime);
    if (lifetime.last < 0)
      lifetime.first = lifetime.last = points.lookup(buffer);
    addLoops(lifetime);
    return lifetime;
  }

  int64_t getPoint(Operation *op) { return points.lookup(op); }

private:
  void addUses(Value value, Block *block, memory::Lifetime &lifetime) {
    for (Operation *user : value.getUsers()) {
      include(user, lifetime);
      if (auto start = dyn_cast<exec::CollectiveStartOp>(user))
        include(getWait(start), lifetime);
      if (isa<ViewLikeOpInterface>(user))
        addUses(user->getResult(0), block, lifetime);
    }
  }

  void include(Operation *op, memory::Lifetime &lifetime) {
    int64_t point = points.lookup(op);
    lifetime.first = std::min(lifetime.first, point);
    lifetime.last = std::max(lifetime.last, point);
  }

  /// The next wait for the slot.
  Operation *getWait(exec::CollectiveStartOp start) {
    int64_t from = points.lookup(start);
    for (exec::CollectiveWaitOp wait : waits)
      if (wait.getSlot() == start.getSlot() && points.lookup(wait) > from)
        return wait;
    return start;
  }

  /// Loops that the lifetime reaches into from outside.
  void addLoops(memory::Lifetime &lifetime) {
    for (scf::ForOp loop : loops) {
      int64_t begin = points.lookup(loop), end = points.lookup(loop.getBody()->getTerminator());
      bool isInside = lifetime.first > begin && lifetime.last <= end;
      bool meets = lifetime.first <= end && lifetime.last >= begin;
      if (!meets || isInside)
        continue;
      lifetime.first = std::min(lifetime.first, begin);
      lifetime.last = std::max(lifetime.last, end);
    }
  }

  DenseMap<Operation *, int64_t> points;
  SmallVector<exec::CollectiveWaitOp> waits; ///< in order
  SmallVector<scf::ForOp> loops;             ///< inner ones first
  int64_t last = 0;
};

struct PlanMemory : ulsc::impl::PlanMemoryPassBase<PlanMemory> {
  using PlanMemoryPassBase::PlanMemoryPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::StringSet<> done;
    workspaceOf.clear();
    for (auto function : getOperation().getOps<exec::FunctionOp>())
      plan(function, symbols, done);
  }

  void plan(exec::FunctionOp function, SymbolTable &symbols, llvm::StringSet<> &done) {
    if (!done.insert(function.getSymName()).second)
      return;
    function.walk([&](exec::CallOp call) {
      auto callee = symbols.lookup<exec::FunctionOp>(call.getCallee());
      plan(callee, symbols, done);
      addFrame(call, callee, function);
    });
    // What persists comes first; it has no lifetime.
    SmallVector<exec::BufferOp> transients;
    int64_t base = 0;
    function.walk([&](exec::BufferOp buffer) {
      if (!buffer->hasAttr("exec.persistent"))
        return transients.push_back(buffer);
      setOffset(buffer, base);
      base += memory::align(getBufferBytes(buffer));
    });
    Lifetimes points(function);
    SmallVector<memory::Lifetime> lifetimes;
    for (exec::BufferOp buffer : transients)
      lifetimes.push_back(points.get(buffer));
    memory::Placement placement = memory::place(lifetimes);
    for (auto [buffer, offset] : llvm::zip_equal(transients, placement.offsets))
      setOffset(buffer, base + offset);
    Builder builder(&getContext());
    int64_t frame = base + placement.bytes;
    int64_t workspaces = measureWorkspaces(transients, lifetimes);
    workspaceOf[function.getSymName()] = workspaces;
    if (function.getEntry()) {
      frame = llvm::alignTo(frame, memory::kPageBytes);
      addCategories(function, base, frame - base, memory::getLargestLiveBytes(lifetimes),
                    workspaces);
    }
    function.setFrameBytesAttr(builder.getI64IntegerAttr(frame));
    if (poison)
      poisonDead(function, transients, lifetimes, points);
  }

  static void setOffset(exec::BufferOp buffer, int64_t offset) {
    buffer.setOffsetAttr(Builder(buffer.getContext()).getI64IntegerAttr(offset));
  }

  static void addFrame(exec::CallOp call, exec::FunctionOp callee, exec::FunctionOp function) {
    int64_t bytes = callee.getFrameBytes().value_or(0);
    // A plan made again replaces the one before.
    if (auto old = call.getFrame() ? call.getFrame().getDefiningOp<exec::BufferOp>() : nullptr) {
      call.getFrameMutable().clear();
      if (old->use_empty())
        old.erase();
    }
    if (bytes == 0)
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    auto frame = exec::BufferOp::create(
        builder, call.getLoc(), MemRefType::get({bytes}, builder.getI8Type()),
        exec::CategoryAttr::get(builder.getContext(), exec::Category::Temporaries), StringAttr(),
        IntegerAttr());
    call.getFrameMutable().assign(frame.getResult());
  }

  /// How many of the live bytes are there only because the function, or what it calls, lends
  /// workspaces: what targets differ in.
  int64_t measureWorkspaces(ArrayRef<exec::BufferOp> buffers,
                            ArrayRef<memory::Lifetime> lifetimes) {
    SmallVector<memory::Lifetime> others(lifetimes);
    for (auto [index, lifetime] : llvm::enumerate(others)) {
      exec::BufferOp buffer = buffers[index];
      if (buffer.getCategory() == exec::Category::Workspaces)
        lifetime.bytes = 0;
      for (Operation *user : buffer->getUsers())
        if (auto call = dyn_cast<exec::CallOp>(user); call && call.getFrame() == buffer.getResult())
          lifetime.bytes -= workspaceOf.lookup(call.getCallee());
    }
    return memory::getLargestLiveBytes(lifetimes) - memory::getLargestLiveBytes(others);
  }

  /// Bytes by category: each persistent buffer in its own; of the transient part, which buffers
  /// share, what workspaces add, of the other live bytes the gradients, the activations and what
  /// communication alone uses at most, and the rest as temporaries.
  void addCategories(exec::FunctionOp function, int64_t persistentBytes, int64_t transientBytes,
                     int64_t liveBytes, int64_t workspaces) {
    std::map<exec::Category, int64_t> bytes;
    std::map<exec::Category, SmallVector<memory::Lifetime>> shared;
    Lifetimes points(function);
    function.walk([&](exec::BufferOp buffer) {
      if (buffer->hasAttr("exec.persistent"))
        bytes[buffer.getCategory()] += memory::align(getBufferBytes(buffer));
      else
        shared[buffer.getCategory()].push_back(points.get(buffer));
    });
    bytes[exec::Category::Workspaces] = workspaces;
    int64_t rest = liveBytes - workspaces;
    for (exec::Category category :
         {exec::Category::Gradients, exec::Category::Activations, exec::Category::Communication}) {
      int64_t share = std::min(rest, memory::getLargestLiveBytes(shared[category]));
      bytes[category] += share;
      rest -= share;
    }
    bytes[exec::Category::Temporaries] += rest + transientBytes - liveBytes;
    Builder builder(&getContext());
    SmallVector<NamedAttribute> entries;
    for (int64_t i = 0; i <= static_cast<int64_t>(exec::getMaxEnumValForCategory()); ++i) {
      auto category = static_cast<exec::Category>(i);
      entries.push_back(builder.getNamedAttr(exec::stringifyCategory(category),
                                             builder.getI64IntegerAttr(bytes[category])));
    }
    function.setCategoriesAttr(builder.getDictionaryAttr(entries));
    function->setAttr("exec.persistent_bytes", builder.getI64IntegerAttr(persistentBytes));
  }

  /// Fills buffers of floats with NaN right after their last use: a later read of a dead value
  /// shows in the loss. For a device these fills, of buffers of all types, become declarations that
  /// the values have ended, which the simulated device heeds.
  void poisonDead(exec::FunctionOp function, ArrayRef<exec::BufferOp> buffers,
                  ArrayRef<memory::Lifetime> lifetimes, Lifetimes &points) {
    auto target = getOperation()->getAttrOfType<StringAttr>("exec.target");
    bool isForDevice = target && target.getValue() != "cpu";
    DenseMap<int64_t, Operation *> opAt;
    function.walk([&](Operation *op) { opAt[points.getPoint(op)] = op; });
    for (auto [index, lifetime] : llvm::enumerate(lifetimes)) {
      exec::BufferOp buffer = buffers[index];
      Type type = buffer.getResult().getType().getElementType();
      auto element = dyn_cast<FloatType>(type);
      Operation *last = opAt.lookup(lifetime.last);
      if ((!element && !isForDevice) || !last || isa<exec::BufferOp>(last))
        continue;
      OpBuilder builder(last);
      if (auto loop = dyn_cast<scf::ForOp>(last->getParentOp());
          loop && last->hasTrait<OpTrait::IsTerminator>())
        builder.setInsertionPointAfter(loop);
      else
        builder.setInsertionPointAfter(last);
      TypedAttr value = element ? TypedAttr(builder.getFloatAttr(
                                      element, APFloat::getNaN(element.getFloatSemantics())))
                                : TypedAttr(builder.getIntegerAttr(type, 0));
      exec::FillOp::create(builder, last->getLoc(), buffer.getResult(), value)
          ->setAttr(lower::kPoisonAttrName, builder.getUnitAttr());
    }
  }

  /// By function; see `measureWorkspaces`.
  llvm::StringMap<int64_t> workspaceOf;
};

} // namespace

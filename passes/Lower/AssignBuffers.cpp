//===- AssignBuffers.cpp - Turns values into buffers ------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/BufferEmitter.h"
#include "passes/Lower/Passes.h"
#include "ulsc/Memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

namespace ulsc {
#define GEN_PASS_DEF_ASSIGNBUFFERSPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// The runtime's name for the entry.
static constexpr StringLiteral kEntryName = "ulsc_step";

/// Gives each use of a splat constant its own: it costs a fill, and accumulators that start as
/// zeros must not share.
static void splitConstants(Operation *function) {
  SmallVector<uls::ConstantOp> constants;
  function->walk([&](uls::ConstantOp op) { constants.push_back(op); });
  for (uls::ConstantOp op : constants) {
    if (!isa<SplatElementsAttr>(op.getValue()))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      if (op->hasOneUse())
        break;
      // At the old place: a kernel before the user may be moved past, a loop must not be.
      OpBuilder builder(op);
      use.set(builder.clone(*op)->getResult(0));
    }
  }
}

/// Bytes of the largest buffer that a collective of `module` reduces; 0 if none does.
static int64_t getLargestReduction(ModuleOp module) {
  int64_t largest = 0;
  module.walk([&](exec::CollectiveStartOp start) {
    if (!start.getReduction())
      return;
    for (Value input : start.getInputs())
      largest = std::max(largest, exec::getBytes(cast<ShapedType>(input.getType())));
  });
  return largest;
}

/// The buffer in which the runtime receives what it reduces. For each slot two pieces, which are
/// exchanged at a time, each as large as the largest reduction or as what is worth sending at once.
static void createStaging(exec::FunctionOp entry, int64_t slots) {
  auto module = entry->getParentOfType<ModuleOp>();
  int64_t largest = getLargestReduction(module), ranks = 1;
  for (auto mesh : module.getOps<dist::MeshOp>())
    for (dist::MeshAxisAttr axis : mesh.getMesh().getAxes())
      ranks *= axis.getSize();
  if (largest == 0 || ranks == 1)
    return;
  constexpr int64_t piecesInFlight = 2, largestPiece = int64_t(1) << 20, alignment = 64;
  // Parts of ranks are rounded up to whole elements, of at most 8 bytes.
  int64_t piece = std::min(llvm::alignTo(largest + 8 * ranks, alignment), uint64_t(largestPiece));
  OpBuilder builder = OpBuilder::atBlockBegin(&entry.getBody().front());
  // After what else persists.
  for (auto other : entry.getBody().front().getOps<exec::BufferOp>())
    if (other->hasAttr("exec.persistent"))
      builder.setInsertionPointAfter(other);
  auto buffer = exec::BufferOp::create(
      builder, entry.getLoc(),
      MemRefType::get({slots * piecesInFlight * piece}, builder.getI8Type()),
      exec::CategoryAttr::get(builder.getContext(), exec::Category::Communication),
      builder.getStringAttr(memory::kStagingName), IntegerAttr());
  buffer->setAttr("exec.persistent", builder.getUnitAttr());
}

namespace {
struct AssignBuffers : ulsc::impl::AssignBuffersPassBase<AssignBuffers> {
  using AssignBuffersPassBase::AssignBuffersPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkLowered(module)))
      return signalPassFailure();
    module.walk([](Operation *op) {
      if (isa<uls::BlockOp, uls::StepOp>(op))
        splitConstants(op);
    });
    ModuleState state(module);
    state.threads = threads;
    state.isForDevice = target != "cpu";
    module->setAttr("exec.target", StringAttr::get(&getContext(), target));
    collectSignatures(state);
    // Callees first: a call needs to know how many slots they use.
    SmallVector<uls::BlockOp> order;
    llvm::StringSet<> visited;
    for (auto block : module.getOps<uls::BlockOp>())
      visit(block, state, visited, order);
    SmallVector<Operation *> done;
    for (uls::BlockOp block : order) {
      BufferEmitter emitter(state, block.getEntry(), block.getSymName(),
                            state.signatures.find(block.getSymName())->second);
      if (failed(emitter.emitBlock(block)))
        return signalPassFailure();
      done.push_back(block);
    }
    for (auto step : module.getOps<uls::StepOp>()) {
      Signature none;
      int64_t stage = dist::getStage(step);
      std::string name = kEntryName.str() + (stage < 0 ? "" : "." + std::to_string(stage));
      BufferEmitter emitter(state, step.getEntry(), name, none);
      auto function = emitter.emitStep(step);
      if (failed(function))
        return signalPassFailure();
      Builder builder(module.getContext());
      (*function)->setAttr("exec.collective_slots", builder.getI64IntegerAttr(state.slots[name]));
      createStaging(*function, state.slots[name]);
      (*function)->setAttr("exec.threads", builder.getI64IntegerAttr(threads));
      done.push_back(step);
    }
    for (Operation *op : done)
      op->erase();
    state.collectives.attach();
  }

  /// What earlier passes of the stage take away must be gone.
  static LogicalResult checkLowered(ModuleOp module) {
    WalkResult result = module.walk([](Operation *op) -> WalkResult {
      if (isa<uls::MaterializeOp, uls::BackwardOp, uls::UpdateOp, uls::AssignOp, uls::UpdateRuleOp>(
              op))
        return op->emitOpError("is left where values become buffers; run ulsc-lower-pipeline on a "
                               "module of stage scheduled");
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  static void collectSignatures(ModuleState &state) {
    llvm::StringMap<SmallVector<uls::CallOp>> calls;
    state.module.walk([&](uls::CallOp call) { calls[call.getCallee()].push_back(call); });
    for (auto block : state.module.getOps<uls::BlockOp>())
      state.signatures[block.getSymName()] = getSignature(block, calls[block.getSymName()]);
  }

  static void visit(uls::BlockOp block, ModuleState &state, llvm::StringSet<> &visited,
                    SmallVectorImpl<uls::BlockOp> &order) {
    if (!visited.insert(block.getSymName()).second)
      return;
    block.walk([&](uls::CallOp call) {
      if (auto callee = state.symbols.lookup<uls::BlockOp>(call.getCallee()))
        visit(callee, state, visited, order);
    });
    order.push_back(block);
  }
};
} // namespace

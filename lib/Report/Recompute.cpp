//===- Recompute.cpp - What is kept for the backward and what computed again ------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Recompute.h"
#include "ulsc/Report.h"

#include "lib/Report/Parts.h"

#include "dialects/Uls/Uls.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace ulsc;

namespace {
/// What calls of one joint block's parts keep in one microbatch, and repeat in all that were looked
/// at.
struct BlockRow {
  int64_t calls = 0, savedBytes = 0;
  double flops = 0, us = 0;
};

/// The joint block of which a called block is the backward part or the repeated forward part.
StringRef getJointName(uls::CallOp call) {
  StringRef name = call.getCallee();
  return name.take_front(name.find(call->hasAttr(kRepeatedAttr) ? ".again" : ".bwd"));
}

bool isBackward(uls::CallOp call) { return report::isBackwardPart(call.getCallee()); }

/// Of a step that lists all of them; 0 of one that has each microbatch alike.
int64_t getMicrobatch(uls::CallOp call) {
  auto number = call->getAttrOfType<IntegerAttr>(dist::DistDialect::kMicrobatchAttrName);
  return number ? number.getInt() : 0;
}

int64_t getBytes(Value value) {
  auto tensor = llvm::dyn_cast<RankedTensorType>(value.getType());
  return tensor ? tensor.getNumElements() * ((tensor.getElementTypeBitWidth() + 7) / 8) : 0;
}

double getNumber(Operation *op, StringRef name) {
  auto number = op->getAttrOfType<FloatAttr>(name);
  return number ? number.getValueAsDouble() : 0;
}

/// The calls of one microbatch, or of all of a pipeline stage.
class MicrobatchWalker {
public:
  MicrobatchWalker(ModuleOp module, Block &block) : symbols(module) {
    for (auto call : block.getOps<uls::CallOp>())
      if (isBackward(call) || call->hasAttr(kRepeatedAttr))
        visit(call);
  }

  llvm::MapVector<StringRef, BlockRow> rows;

private:
  void visit(uls::CallOp call) {
    BlockRow &row = rows[getJointName(call)];
    if (auto block = symbols.lookup<uls::BlockOp>(call.getCallee())) {
      row.flops += getNumber(block, kRecomputedFlopsAttr);
      row.us += getNumber(block, kRecomputedUsAttr);
    }
    if (getMicrobatch(call) != 0)
      return;
    // The second half of a backward is no call more of the block.
    row.calls += isBackward(call) && !report::isWeightHalf(call.getCallee());
    for (Value operand : call.getArguments()) {
      auto source = operand.getDefiningOp<uls::CallOp>();
      bool isKept = source && !isBackward(source) && !source->hasAttr(kRepeatedAttr);
      if (isKept && seen.insert(operand).second)
        row.savedBytes += getBytes(operand);
    }
  }

  SymbolTable symbols;
  llvm::DenseSet<Value> seen;
};

/// What one rank keeps of a microbatch and repeats in its step.
struct StageRecompute {
  StageRecompute(ModuleOp module, uls::StepOp step) {
    // Microbatches are alike: those of a loop, and the last one behind it.
    auto add = [&](Block &block, int64_t times) {
      MicrobatchWalker walker(module, block);
      if (walker.rows.empty())
        return;
      for (auto &[name, row] : walker.rows) {
        flops += row.flops * double(times);
        us += row.us * double(times);
      }
      rows = std::move(walker.rows);
    };
    add(step.getEntry(), 1);
    for (auto loop : step.getEntry().getOps<uls::MicrobatchesOp>())
      add(loop.getBody().front(), loop.getCount());
  }

  double flops = 0, us = 0;
  llvm::MapVector<StringRef, BlockRow> rows;
};
} // namespace

llvm::json::Object ulsc::report::makeRecompute(ModuleOp module) {
  auto policy = module->getAttrOfType<StringAttr>(kRecomputeAttr);
  if (!policy)
    return {};
  int64_t devices = 1, savedBytes = 0;
  for (auto mesh : module.getOps<dist::MeshOp>())
    devices = mesh.getMesh().getDeviceCount();
  auto steps = llvm::to_vector(module.getOps<uls::StepOp>());
  int64_t ranks = devices / std::max<int64_t>(steps.size(), 1);
  double flops = 0, mostUs = 0;
  llvm::MapVector<StringRef, BlockRow> all;
  for (uls::StepOp step : steps) {
    StageRecompute stage(module, step);
    flops += stage.flops * double(ranks);
    mostUs = std::max(mostUs, stage.us);
    for (auto &[name, row] : stage.rows) {
      all[name].calls += row.calls;
      all[name].savedBytes += row.savedBytes;
      savedBytes += row.savedBytes;
    }
  }
  llvm::json::Array blocks;
  for (auto &[name, row] : all)
    blocks.push_back(
        llvm::json::Object{{"block", name}, {"calls", row.calls}, {"saved_bytes", row.savedBytes}});
  return llvm::json::Object{{"policy", policy.getValue()},
                            {"saved_bytes", savedBytes},
                            {"flops_per_step", flops},
                            {"predicted_us", mostUs},
                            {"blocks", std::move(blocks)}};
}

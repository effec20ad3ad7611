//===- MakeJointBlocks.cpp - Differentiates the blocks that the loss depends on
//------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Train/ForwardActivity.h"
#include "passes/Train/Passes.h"

namespace ulsc {
#define GEN_PASS_DEF_MAKEJOINTBLOCKSPASS
#include "passes/Train/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

namespace {

/// One way in which a block is asked for derivatives, and who asks.
struct Variant {
  JointRequest request;
  SmallVector<CallOp> calls;
};

struct MakeJointBlocksPass : ulsc::impl::MakeJointBlocksPassBase<MakeJointBlocksPass> {
  using MakeJointBlocksPassBase::MakeJointBlocksPassBase;

  void runOnOperation() override;
  LogicalResult makeEveryBlock();
  LogicalResult makeRequested();
  LogicalResult makeVariants(BlockOp block, ArrayRef<Variant> variants, SymbolTable &symbols);
};

} // namespace

/// The first variant is the block itself, the others clones of its plain form.
LogicalResult MakeJointBlocksPass::makeVariants(BlockOp block, ArrayRef<Variant> variants,
                                                SymbolTable &symbols) {
  Type gradientDtype = getGradientDtype(block);
  std::string name = block.getSymName().str();
  SmallVector<BlockOp> blocks{block};
  for (size_t i = 1; i < variants.size(); ++i) {
    BlockOp clone = block.clone();
    clone.setSymName(name + ".variant" + std::to_string(i));
    symbols.insert(clone, std::next(Block::iterator(blocks.back())));
    blocks.push_back(clone);
  }
  for (auto [variantBlock, variant] : llvm::zip_equal(blocks, variants)) {
    if (failed(makeJoint(variantBlock, variant.request, gradientDtype)))
      return failure();
    for (CallOp call : variant.calls)
      call.setCallee(variantBlock.getSymName());
  }
  return success();
}

LogicalResult MakeJointBlocksPass::makeEveryBlock() {
  for (auto block : getOperation().getOps<BlockOp>())
    if (failed(makeJoint(block, requestAll(block), getGradientDtype(block))))
      return failure();
  return success();
}

LogicalResult MakeJointBlocksPass::makeRequested() {
  ForwardOp forward = getForward(getOperation());
  if (!forward)
    return failure();
  SymbolTable symbols(getOperation());
  llvm::MapVector<BlockOp, SmallVector<Variant>> blocks;
  for (auto &entry : findJointRequests(forward, symbols)) {
    CallOp call = entry.first;
    const JointRequest &request = entry.second;
    SmallVector<Variant> &variants = blocks[symbols.lookup<BlockOp>(call.getCallee())];
    auto *known =
        llvm::find_if(variants, [&](const Variant &variant) { return variant.request == request; });
    if (known == variants.end()) {
      variants.push_back({request, {}});
      known = &variants.back();
    }
    known->calls.push_back(call);
  }
  for (auto &[block, variants] : blocks)
    if (failed(makeVariants(block, variants, symbols)))
      return failure();
  return success();
}

void MakeJointBlocksPass::runOnOperation() {
  if (failed(everyBlock ? makeEveryBlock() : makeRequested()))
    signalPassFailure();
}

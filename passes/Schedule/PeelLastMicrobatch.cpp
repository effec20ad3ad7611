//===- PeelLastMicrobatch.cpp - The last microbatch behind its loop
//-----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Uls/Uls.h"
#include "passes/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

#define DEBUG_TYPE "ulsc-peel-last-microbatch"

namespace ulsc {
#define GEN_PASS_DEF_PEELLASTMICROBATCHPASS
#include "passes/Schedule/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

namespace {
class PeelLastMicrobatch : public ulsc::impl::PeelLastMicrobatchPassBase<PeelLastMicrobatch> {
public:
  void runOnOperation() override;
};
} // namespace

/// Whether a collective reduces what these ops give, maybe flattened.
static bool feedsCollective(Operation *op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    return isa<dist::CollectiveOpInterface>(user) ||
           (isa<ReshapeOp, PadOp, ConvertOp>(user) && feedsCollective(user));
  });
}

static void peel(MicrobatchesOp loop) {
  OpBuilder builder(loop);
  int64_t count = loop.getCount();
  SmallVector<Value> carried(loop.getInits());
  if (count > 1) {
    IRMapping none;
    auto shorter = cast<MicrobatchesOp>(builder.clone(*loop, none));
    shorter.setCount(count - 1);
    carried.assign(shorter.result_begin(), shorter.result_end());
  }
  Block &body = loop.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArgument(0), arith::ConstantOp::create(builder, loop.getLoc(),
                                                             builder.getI64IntegerAttr(count - 1)));
  mapping.map(body.getArguments().drop_front(), carried);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (auto [result, yielded] :
       llvm::zip_equal(loop.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(yielded));
  loop.erase();
}

void PeelLastMicrobatch::runOnOperation() {
  for (auto step : getOperation().getOps<StepOp>())
    for (auto loop : llvm::make_early_inc_range(step.getEntry().getOps<MicrobatchesOp>()))
      if (feedsCollective(loop))
        peel(loop);
}

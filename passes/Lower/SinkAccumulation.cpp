//===- SinkAccumulation.cpp - Moves accumulation into the blocks ------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/GenericOps.h"
#include "passes/Lower/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

namespace ulsc {
#define GEN_PASS_DEF_SINKACCUMULATIONPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// Replaces a loop over one microbatch by its body.
static void inlineSingleMicrobatch(uls::MicrobatchesOp loop) {
  if (loop.getCount() != 1)
    return;
  OpBuilder builder(loop);
  Block &body = loop.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArgument(0), i64Constant(builder, loop.getLoc(), 0));
  mapping.map(body.getArguments().drop_front(), loop.getInits());
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(value));
  loop.replaceAllUsesWith(results);
  loop.erase();
}

static bool isZero(Value value) {
  auto constant = value.getDefiningOp<uls::ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  auto number = splat ? dyn_cast<FloatAttr>(splat.getSplatValue<Attribute>()) : FloatAttr();
  return number && number.getValue().isZero();
}

/// What is added to zeros is the sum.
static void foldFirstAccumulation(uls::AccumulateOp op) {
  if (!isZero(op.getAccumulator()))
    return;
  Value value = op.getValue();
  if (value.getType() != op.getType()) {
    OpBuilder builder(op);
    value = uls::ConvertOp::create(builder, op.getLoc(), op.getType(), value);
  }
  op.replaceAllUsesWith(value);
  op.erase();
}

namespace {
/// Variants of blocks that accumulate some results, by block and results.
class Variants {
public:
  explicit Variants(ModuleOp module) : symbols(module) {}

  /// For each result, the accumulation that is its only use and that the call could do itself, or
  /// null.
  static SmallVector<uls::AccumulateOp> getAccumulations(uls::CallOp call,
                                                         DominanceInfo &dominance) {
    SmallVector<uls::AccumulateOp> accumulations;
    for (Value result : call.getResults()) {
      auto accumulate = result.hasOneUse() ? dyn_cast<uls::AccumulateOp>(*result.user_begin())
                                           : uls::AccumulateOp();
      bool fits = accumulate && accumulate.getValue() == result &&
                  accumulate->getBlock() == call->getBlock() &&
                  accumulate.getAccumulator() != result &&
                  accumulate.getAccumulator().hasOneUse() &&
                  dominance.properlyDominates(accumulate.getAccumulator(), call);
      accumulations.push_back(fits ? accumulate : uls::AccumulateOp());
    }
    return accumulations;
  }

  /// The variant of `call`'s block that accumulates those results, made at first use.
  uls::BlockOp get(uls::CallOp call, ArrayRef<uls::AccumulateOp> accumulations) {
    std::string mask;
    for (uls::AccumulateOp accumulate : accumulations)
      mask += accumulate ? '1' : '0';
    uls::BlockOp &variant = variants[{call.getCallee().str(), mask}];
    if (!variant)
      variant = build(symbols.lookup<uls::BlockOp>(call.getCallee()), accumulations);
    return variant;
  }

private:
  uls::BlockOp build(uls::BlockOp block, ArrayRef<uls::AccumulateOp> accumulations) {
    auto variant = cast<uls::BlockOp>(block->clone());
    variant.setSymName((block.getSymName() + ".acc").str());
    symbols.insert(variant, std::next(Block::iterator(block)));
    Operation *yield = variant.getEntry().getTerminator();
    OpBuilder builder(yield);
    for (unsigned i = 0; i < accumulations.size(); ++i) {
      uls::AccumulateOp accumulate = accumulations[i];
      if (!accumulate)
        continue;
      NamedAttribute marks(builder.getStringAttr("exec.accumulates"), builder.getI64IntegerAttr(i));
      unsigned index = variant.getNumArguments();
      (void)variant.insertArgument(index, accumulate.getType(), builder.getDictionaryAttr(marks),
                                   accumulate.getLoc());
      // Right where the gradient is made: its operands need not wait for the end of the block.
      Value value = yield->getOperand(i);
      if (Operation *producer = value.getDefiningOp())
        builder.setInsertionPointAfter(producer);
      else
        builder.setInsertionPoint(yield);
      Value sum = uls::AccumulateOp::create(builder, accumulate.getLoc(), accumulate.getType(),
                                            variant.getArgument(index), value);
      yield->setOperand(i, sum);
    }
    SmallVector<Type> results(yield->getOperandTypes());
    variant.setFunctionType(
        FunctionType::get(block.getContext(), variant.getArgumentTypes(), results));
    return variant;
  }

  SymbolTable symbols;
  std::map<std::pair<std::string, std::string>, uls::BlockOp> variants;
};

struct SinkAccumulation : ulsc::impl::SinkAccumulationPassBase<SinkAccumulation> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto step : module.getOps<uls::StepOp>()) {
      step.walk(inlineSingleMicrobatch);
      step.walk(foldFirstAccumulation);
    }
    Variants variants(module);
    for (auto step : module.getOps<uls::StepOp>()) {
      DominanceInfo dominance(step);
      // Sinking erases accumulations that a walk would come to next.
      SmallVector<uls::CallOp> calls;
      step.walk([&](uls::CallOp call) { calls.push_back(call); });
      for (uls::CallOp call : calls)
        sink(call, variants, dominance);
    }
    eraseUncalled(module);
  }

  static void sink(uls::CallOp call, Variants &variants, DominanceInfo &dominance) {
    SmallVector<uls::AccumulateOp> accumulations = Variants::getAccumulations(call, dominance);
    if (llvm::none_of(accumulations, [](uls::AccumulateOp op) { return op; }))
      return;
    uls::BlockOp variant = variants.get(call, accumulations);
    OpBuilder builder(call);
    SmallVector<Value> arguments(call.getArguments());
    for (uls::AccumulateOp accumulate : accumulations)
      if (accumulate)
        arguments.push_back(accumulate.getAccumulator());
    auto replacement = uls::CallOp::create(builder, call.getLoc(), variant.getResultTypes(),
                                           variant.getSymName(), arguments, call.getLayerAttr());
    replacement->setDiscardableAttrs(call->getDiscardableAttrDictionary());
    for (auto [i, accumulate] : llvm::enumerate(accumulations)) {
      if (accumulate) {
        accumulate.replaceAllUsesWith(replacement.getResult(i));
        accumulate.erase();
      } else {
        call.getResult(i).replaceAllUsesWith(replacement.getResult(i));
      }
    }
    call.erase();
  }

  static void eraseUncalled(ModuleOp module) {
    llvm::StringSet<> called;
    module.walk([&](uls::CallOp call) { called.insert(call.getCallee()); });
    for (auto block : llvm::make_early_inc_range(module.getOps<uls::BlockOp>()))
      if (!called.contains(block.getSymName()))
        block.erase();
  }
};
} // namespace

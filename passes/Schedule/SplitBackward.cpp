//===- SplitBackward.cpp - A backward block in two --------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/SplitBackward.h"

#include "ulsc/Cost/OpCost.h"
#include "ulsc/Recompute.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

BlockOp uls::createBlock(BlockOp source, Operation *place, const Twine &name, ValueRange arguments,
                         TypeRange results) {
  OpBuilder builder(place);
  SmallVector<Type> argumentTypes(arguments.getTypes());
  OperationState state(source.getLoc(), BlockOp::getOperationName());
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  state.addAttribute(BlockOp::getFunctionTypeAttrName(state.name),
                     TypeAttr::get(builder.getFunctionType(argumentTypes, results)));
  Region *region = state.addRegion();
  Block *body = new Block;
  region->push_back(body);
  for (Value argument : arguments)
    body->addArgument(argument.getType(), argument.getLoc());
  auto block = cast<BlockOp>(builder.create(state));
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    auto blockArgument = dyn_cast<BlockArgument>(argument);
    if (!blockArgument || blockArgument.getOwner() != &source.getEntry())
      continue;
    if (DictionaryAttr attrs = source.getArgAttrDict(blockArgument.getArgNumber()))
      block.setArgAttrs(i, attrs);
  }
  return block;
}

void uls::setRecomputed(BlockOp block, ArrayRef<Operation *> ops) {
  cost::Cluster cluster = cost::Cluster::getDefault();
  double flops = 0, us = 0;
  for (Operation *op : ops) {
    flops += cost::countFlops(op);
    us += cost::predictUs(op, cluster);
  }
  Builder builder(block.getContext());
  if (flops > 0)
    block->setAttr(kRecomputedFlopsAttr, builder.getF64FloatAttr(flops));
  if (us > 0)
    block->setAttr(kRecomputedUsAttr, builder.getF64FloatAttr(us));
}

namespace {
class Splitter {
public:
  Splitter(BlockOp whole, ArrayRef<int64_t> gives, const llvm::DenseSet<Operation *> &again)
      : whole(whole), body(whole.getEntry()), gives(gives), again(again) {}

  SplitBackward run(unsigned number) {
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      if (isGiven(i))
        mark(value);
    findSecond();
    return build(number ? "." + std::to_string(number) : "");
  }

private:
  bool isGiven(int64_t number) const { return llvm::is_contained(gives, number); }

  /// All that a gradient of the first part needs.
  void mark(Value value) {
    Operation *op = value.getDefiningOp();
    if (op && first.insert(op).second)
      llvm::for_each(op->getOperands(), [&](Value operand) { mark(operand); });
  }

  /// Whether a value is cheap to compute again from arguments alone.
  bool canRepeat(Value value) const {
    Operation *op = value.getDefiningOp();
    return !op || (again.contains(op) &&
                   llvm::all_of(op->getOperands(), [&](Value v) { return canRepeat(v); }));
  }

  /// Has the second part have a value.
  void need(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op) {
      arguments.insert(value);
    } else if (!first.contains(op) || canRepeat(value)) {
      if (second.insert(op))
        llvm::for_each(op->getOperands(), [&](Value operand) { need(operand); });
    } else {
      passedOn.insert(value);
    }
  }

  void findSecond() {
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      if (!isGiven(i))
        need(value);
  }

  SplitBackward build(const std::string &suffix) {
    SplitBackward split;
    SmallVector<Value> firstResults, secondResults, secondArguments;
    for (int64_t number : gives)
      firstResults.push_back(body.getTerminator()->getOperand(number));
    llvm::append_range(firstResults, passedOn);
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      if (!isGiven(i)) {
        secondResults.push_back(value);
        split.secondGives.push_back(i);
      }
    for (BlockArgument argument : body.getArguments())
      if (arguments.contains(argument)) {
        secondArguments.push_back(argument);
        split.arguments.push_back(argument.getArgNumber());
      }
    llvm::append_range(secondArguments, passedOn);
    split.numPassedOn = passedOn.size();
    split.first = fill(whole.getSymName() + ".input" + suffix, body.getArguments(), firstResults,
                       [&](Operation *op) { return first.contains(op); });
    split.second = fill(whole.getSymName() + ".weight" + suffix, secondArguments, secondResults,
                        [&](Operation *op) { return second.contains(op); });
    for (StringRef name : {kRecomputedFlopsAttr, kRecomputedUsAttr})
      if (Attribute noted = whole->getAttr(name))
        split.first->setAttr(name, noted);
    setRecomputed(split.second, llvm::filter_to_vector(
                                    second, [&](Operation *op) { return first.contains(op); }));
    return split;
  }

  BlockOp fill(const Twine &name, ValueRange arguments, ValueRange results,
               function_ref<bool(Operation *)> has) {
    BlockOp block = createBlock(whole, whole, name, arguments, results.getTypes());
    IRMapping mapping;
    mapping.map(arguments, block.getEntry().getArguments());
    OpBuilder builder = OpBuilder::atBlockEnd(&block.getEntry());
    for (Operation &op : body.without_terminator())
      if (has(&op))
        builder.clone(op, mapping);
    SmallVector<Value> yielded;
    for (Value value : results)
      yielded.push_back(mapping.lookup(value));
    YieldOp::create(builder, whole.getLoc(), yielded);
    return block;
  }

  BlockOp whole;
  Block &body;
  ArrayRef<int64_t> gives;
  const llvm::DenseSet<Operation *> &again;
  llvm::SmallPtrSet<Operation *, 16> first;
  llvm::SetVector<Operation *> second;
  llvm::SetVector<Value> passedOn, arguments;
};
} // namespace

SplitBackward uls::splitBackward(BlockOp backward, ArrayRef<int64_t> gives,
                                 const llvm::DenseSet<Operation *> &again, unsigned number) {
  return Splitter(backward, gives, again).run(number);
}

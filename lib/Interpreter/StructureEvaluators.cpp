//===- StructureEvaluators.cpp - Parameters, calls and function ends in the interpreter ===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Evaluators.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

static LogicalResult evaluateMaterialize(uls::MaterializeOp op, Evaluation &e) {
  SmallVector<Tensor> *stored = e.interpreter.findStored(op.getParameter());
  if (!stored)
    return op.emitOpError() << "names " << op.getParameterAttr() << ", which has no stored value";
  auto type = llvm::cast<RankedTensorType>(op.getOutput().getType());
  for (auto [rank, tensor] : llvm::enumerate(*stored)) {
    // Gathering is written as a collective: a stored block never grows by itself.
    if (tensor.getShape() != type.getShape())
      return op.emitOpError() << "gives " << type << " of a stored block of another shape on rank "
                              << rank;
    e.set(op.getOutput(), rank, tensor);
  }
  return success();
}

/// The callee's arguments: contexts take the call's layer index.
static SmallVector<RuntimeValue> getArguments(uls::CallOp op, Evaluation &e) {
  SmallVector<RuntimeValue> arguments;
  for (Value operand : op.getArguments()) {
    RuntimeValue value = e.getValue(operand);
    if (op.getLayer())
      for (RankValue &rank : value.ranks)
        if (auto *context = std::get_if<CallContext>(&rank))
          context->layer = *op.getLayer();
    arguments.push_back(std::move(value));
  }
  return arguments;
}

static LogicalResult evaluateCall(uls::CallOp op, Evaluation &e) {
  auto block = e.interpreter.getSymbols().lookup<uls::BlockOp>(op.getCallee());
  if (!block)
    return op.emitOpError() << "names " << op.getCalleeAttr() << ", which is not a uls.block";
  auto frame = std::make_shared<Frame>();
  SmallVector<RuntimeValue> arguments = getArguments(op, e), results;
  Block &body = block.getEntry();
  for (auto [argument, value] : llvm::zip(body.getArguments(), arguments))
    frame->values[argument] = value;
  Operation *end = block.isJoint() ? block.getResultOp().getOperation() : body.getTerminator();
  if (failed(e.interpreter.runOps(body, body.begin(), end->getIterator(), *frame)))
    return failure();
  for (auto [result, value] : llvm::zip(op.getResults(), end->getOperands()))
    e.frame.values[result] = frame->values.lookup(value);
  if (op.getNumResults() > end->getNumOperands())
    e.frame.values[op.getResults().back()].residuals = frame;
  return success();
}

static LogicalResult evaluateBackward(uls::BackwardOp op, Evaluation &e) {
  auto block = e.interpreter.getSymbols().lookup<uls::BlockOp>(op.getCallee());
  std::shared_ptr<Frame> forward = e.getValue(op.getResiduals()).residuals;
  if (!block || !block.isJoint() || !forward)
    return op.emitOpError() << "has no forward call of " << op.getCalleeAttr()
                            << " to go back from";
  auto shared = std::make_shared<Frame>(*forward);
  Frame &frame = *shared;
  Block &body = block.getEntry();
  for (auto [argument, value] :
       llvm::zip(body.getArguments().drop_front(block.getNumPrimalArguments()), op.getCotangents()))
    frame.values[argument] = e.getValue(value);
  if (!frame.values.count(body.getArgument(0)))
    return op.emitOpError() << "was given residuals of another block than " << op.getCalleeAttr();
  // The second half finds all that the first computed.
  Block::iterator begin = std::next(block.getResultOp()->getIterator());
  if (!op.isSecondHalf() &&
      failed(e.interpreter.runOps(body, begin, body.getTerminator()->getIterator(), frame)))
    return failure();
  unsigned count = op.getNumResults() - (op.getLeft() ? 1 : 0);
  for (unsigned i = 0; i < count; ++i)
    e.frame.values[op.getResult(i)] =
        frame.values.lookup(body.getTerminator()->getOperand(op.getGradientNumber(i)));
  if (op.getLeft())
    e.frame.values[op.getLeft()].residuals = shared;
  return success();
}

void interpreter::registerStructureEvaluators(Registry &registry) {
  registry.addGlobal<uls::MaterializeOp>(evaluateMaterialize);
  registry.addGlobal<uls::CallOp>(evaluateCall);
  registry.addGlobal<uls::BackwardOp>(evaluateBackward);
  // Read by those who run the function.
  registry.addGlobal<uls::ResultOp>([](uls::ResultOp, Evaluation &) { return success(); });
  registry.addGlobal<uls::YieldOp>([](uls::YieldOp, Evaluation &) { return success(); });
}

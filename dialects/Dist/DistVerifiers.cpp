//===- DistVerifiers.cpp - Invariants of the dist ops
//-------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ulsc::dist;

/// How a collective changes the size of one dimension.
enum class SizeChange { None, Grows, Shrinks };

static RankedTensorType tensorType(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}

/// Axes are named once. Whether the mesh has them is checked where the mesh is at hand
/// (`verifyMeshUses`).
static LogicalResult verifyAxes(CollectiveOpInterface op) {
  llvm::StringSet<> seen;
  for (StringRef axis : op.getAxes().getAsValueRange<StringAttr>())
    if (!seen.insert(getWholeAxis(axis)).second)
      return op->emitOpError() << "names axis \"" << getWholeAxis(axis) << "\" twice";
  return success();
}

/// One result per operand, of the same rank and element type.
static LogicalResult verifyOperandsAndAxes(CollectiveOpInterface op) {
  if (op.getInputs().empty())
    return op->emitOpError("has no operands");
  if (op.getInputs().size() != op.getOutputs().size())
    return op->emitOpError() << "has " << op.getInputs().size() << " operands and "
                             << op.getOutputs().size() << " results";
  if (failed(verifyAxes(op)))
    return failure();
  for (auto [input, output] : llvm::zip_equal(op.getInputs(), op.getOutputs()))
    if (tensorType(input).getRank() != tensorType(output).getRank() ||
        tensorType(input).getElementType() != tensorType(output).getElementType())
      return op->emitOpError() << "turns " << input.getType() << " into " << output.getType()
                               << "; rank and element type must stay";
  return success();
}

/// The factor by which dimension `dim` of operand i changes must be the group's size; every other
/// dimension stays. `factor` is 0 while unknown and is set by the first operand.
static LogicalResult verifySizes(CollectiveOpInterface op, unsigned i, int64_t dim,
                                 SizeChange change, int64_t &factor) {
  RankedTensorType input = tensorType(op.getInputs()[i]);
  RankedTensorType output = tensorType(op.getOutputs()[i]);
  if (change != SizeChange::None && (dim < 0 || dim >= input.getRank()))
    return op->emitOpError() << "dimension " << dim << " is outside rank " << input.getRank();
  for (int64_t d = 0; d < input.getRank(); ++d) {
    int64_t from = input.getDimSize(d), to = output.getDimSize(d);
    if (d != dim || change == SizeChange::None) {
      if (from != to)
        return op->emitOpError() << "changes dimension " << d << " from " << from << " to " << to;
      continue;
    }
    int64_t small = change == SizeChange::Grows ? from : to;
    int64_t large = change == SizeChange::Grows ? to : from;
    if (small == 0 || large % small != 0)
      return op->emitOpError() << "dimension " << d << " of sizes " << from << " and " << to
                               << " is not a whole number of blocks";
    if (factor == 0)
      factor = large / small;
    if (large / small != factor)
      return op->emitOpError() << "operands disagree on the number of ranks: " << factor << " and "
                               << large / small;
  }
  return success();
}

static LogicalResult verifyResized(CollectiveOpInterface op, ArrayRef<int64_t> dims,
                                   SizeChange change) {
  if (failed(verifyOperandsAndAxes(op)))
    return failure();
  if (change != SizeChange::None && dims.size() != op.getInputs().size())
    return op->emitOpError() << "names " << dims.size() << " dimensions for "
                             << op.getInputs().size() << " operands";
  int64_t factor = 0;
  for (unsigned i = 0; i < op.getInputs().size(); ++i)
    if (failed(verifySizes(op, i, change == SizeChange::None ? -1 : dims[i], change, factor)))
      return failure();
  return success();
}

LogicalResult AllReduceOp::verify() { return verifyResized(*this, {}, SizeChange::None); }
LogicalResult AllGatherOp::verify() { return verifyResized(*this, getDims(), SizeChange::Grows); }
LogicalResult ReduceScatterOp::verify() {
  return verifyResized(*this, getDims(), SizeChange::Shrinks);
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyOperandsAndAxes(*this)))
    return failure();
  if (getSplitDims().size() != getInputs().size() || getConcatDims().size() != getInputs().size())
    return emitOpError() << "needs one split and one concat dimension per operand";
  for (auto [input, output, split, concat] :
       llvm::zip_equal(getInputs(), getOutputs(), getSplitDims(), getConcatDims())) {
    RankedTensorType from = tensorType(input), to = tensorType(output);
    if (split < 0 || split >= from.getRank() || concat < 0 || concat >= from.getRank())
      return emitOpError() << "dimensions " << split << " and " << concat << " are outside rank "
                           << from.getRank();
    if (split == concat)
      return emitOpError() << "splits and concatenates dimension " << split
                           << "; that moves no sharding";
    if (from.getNumElements() != to.getNumElements() ||
        from.getDimSize(split) % std::max<int64_t>(to.getDimSize(split), 1) != 0)
      return emitOpError() << "turns " << from << " into " << to
                           << "; it must move blocks of dimension " << split << " to dimension "
                           << concat;
  }
  return success();
}

LogicalResult PermuteOp::verify() {
  if (failed(verifyResized(*this, {}, SizeChange::None)))
    return failure();
  if (getPairs().size() % 2 != 0)
    return emitOpError() << "has an odd number of positions: " << getPairs().size();
  llvm::SmallDenseSet<int64_t> sources, targets;
  int64_t positions = getPairs().size() / 2;
  for (int64_t position : getPairs())
    if (position < 0 || position >= positions)
      return emitOpError() << "names position " << position << " of " << positions;
  for (unsigned i = 0; i < getPairs().size(); i += 2)
    if (!sources.insert(getPairs()[i]).second || !targets.insert(getPairs()[i + 1]).second)
      return emitOpError() << "names position " << getPairs()[i] << " or " << getPairs()[i + 1]
                           << " twice";
  return success();
}

/// Values go to one rank along axes that are named once.
static LogicalResult verifyTransfer(CollectiveOpInterface op, int64_t peer) {
  if (op.getTravellingTypes().empty())
    return op->emitOpError("has no values");
  if (peer < 0)
    return op->emitOpError() << "names position " << peer << "; positions count from 0";
  return verifyAxes(op);
}

LogicalResult SendOp::verify() { return verifyTransfer(*this, getPeer()); }
LogicalResult ReceiveOp::verify() { return verifyTransfer(*this, getPeer()); }

LogicalResult StartOp::verify() {
  Block &body = getBody().front();
  if (body.getOperations().size() != 2 || !llvm::isa<CollectiveOpInterface>(body.front()) ||
      !llvm::isa<YieldOp>(body.back()))
    return emitOpError("must hold one collective and a yield");
  if (llvm::cast<HandleType>(getHandle().getType()).getResults() !=
      ArrayRef<Type>(llvm::to_vector(body.front().getResultTypes())))
    return emitOpError() << "gives a handle " << getHandle().getType()
                         << " that does not match the collective's results";
  return success();
}

LogicalResult WaitOp::verify() {
  if (llvm::cast<HandleType>(getHandle().getType()).getResults() !=
      ArrayRef<Type>(llvm::to_vector(getResultTypes())))
    return emitOpError() << "results do not match " << getHandle().getType();
  return success();
}

LogicalResult LocalSliceOp::verify() {
  RankedTensorType from = tensorType(getInput()), to = tensorType(getOutput());
  int64_t dim = getDim();
  if (from.getRank() != to.getRank() || dim < 0 || dim >= from.getRank())
    return emitOpError() << "dimension " << dim << " is outside rank " << from.getRank();
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (d == dim ? from.getDimSize(d) % std::max<int64_t>(to.getDimSize(d), 1) != 0
                 : from.getDimSize(d) != to.getDimSize(d))
      return emitOpError() << "turns " << from << " into " << to << "; only dimension " << dim
                           << " may shrink, to a whole block";
  return success();
}

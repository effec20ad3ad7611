//===- UlsShapeVerifiers.cpp - Invariants of elementwise and shape ops
//---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ulsc::uls;

static RankedTensorType typeOf(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}

/// Shapes agree, or one operand is a scalar; element types agree.
static LogicalResult verifyBinary(Operation *op) {
  RankedTensorType lhs = typeOf(op->getOperand(0)), rhs = typeOf(op->getOperand(1));
  if (lhs.getElementType() != rhs.getElementType())
    return op->emitOpError() << "operands have element types " << lhs.getElementType() << " and "
                             << rhs.getElementType() << "; convert one of them";
  if (lhs.getRank() != 0 && rhs.getRank() != 0 && lhs.getShape() != rhs.getShape())
    return op->emitOpError() << "operands have shapes " << lhs << " and " << rhs
                             << "; they must agree, or one be a scalar";
  RankedTensorType expected = lhs.getRank() == 0 ? rhs : lhs;
  if (op->getResult(0).getType() != expected)
    return op->emitOpError() << "result is " << op->getResult(0).getType() << ", expected "
                             << expected;
  return success();
}
LogicalResult AddOp::verify() { return verifyBinary(*this); }
LogicalResult SubOp::verify() { return verifyBinary(*this); }
LogicalResult MulOp::verify() { return verifyBinary(*this); }
LogicalResult DivOp::verify() { return verifyBinary(*this); }
LogicalResult MaximumOp::verify() { return verifyBinary(*this); }
LogicalResult MinimumOp::verify() { return verifyBinary(*this); }

LogicalResult MaskOp::verify() {
  RankedTensorType lhs = typeOf(getLhs()), rhs = typeOf(getRhs()), value = typeOf(getValue());
  if (lhs.getElementType() != rhs.getElementType())
    return emitOpError() << "compares element types " << lhs.getElementType() << " and "
                         << rhs.getElementType() << "; convert one of them";
  for (RankedTensorType type : {lhs, rhs})
    if (type.getRank() != 0 && type.getShape() != value.getShape())
      return emitOpError() << "compares " << type << " to mask " << value
                           << "; shapes must agree, or it be a scalar";
  return success();
}

LogicalResult SelectOp::verify() {
  RankedTensorType condition = typeOf(getCondition());
  if (condition.getRank() != 0 || !llvm::isa<FloatType>(condition.getElementType()))
    return emitOpError() << "has condition " << condition << "; it must be a rank-0 float";
  return success();
}

LogicalResult AccumulateOp::verify() {
  if (typeOf(getAccumulator()).getShape() != typeOf(getValue()).getShape())
    return emitOpError() << "adds " << getValue().getType() << " to " << getAccumulator().getType();
  return success();
}

/// `shard` of a value whose local shape is `local`.
static LogicalResult verifyShard(Operation *op, std::optional<ulsc::dist::ShardAttr> shard,
                                 int64_t rank) {
  if (shard &&
      (int64_t(shard->getGlobalShape().size()) != rank || shard->getSharding().getRank() != rank))
    return op->emitOpError() << "has a shard of rank " << shard->getGlobalShape().size()
                             << ", expected " << rank;
  return success();
}

LogicalResult DropoutOp::verify() {
  double rate = getRate().convertToDouble();
  if (!(rate >= 0.0 && rate < 1.0))
    return emitOpError() << "rate " << rate << " is outside [0, 1)";
  return verifyShard(*this, getShard(), typeOf(getInput()).getRank());
}

LogicalResult IotaOp::verify() {
  int64_t rank = typeOf(getOutput()).getRank();
  if (int64_t(getDim()) < 0 || int64_t(getDim()) >= rank)
    return emitOpError() << "dimension " << getDim() << " is outside rank " << rank;
  return verifyShard(*this, getShard(), rank);
}

//===---------------------------------------------------------------------------------------===//
// Einsum
//===---------------------------------------------------------------------------------------===//

StringRef EinsumOp::getLhsLetters() { return getEquation().split(',').first; }
StringRef EinsumOp::getRhsLetters() { return getEquation().split(',').second.split("->").first; }
StringRef EinsumOp::getResultLetters() { return getEquation().split("->").second; }

int64_t EinsumOp::getSize(char letter) {
  size_t position = getLhsLetters().find(letter);
  if (position != StringRef::npos)
    return typeOf(getLhs()).getDimSize(position);
  return typeOf(getRhs()).getDimSize(getRhsLetters().find(letter));
}

LogicalResult EinsumOp::verify() {
  std::pair<StringRef, RankedTensorType> tensors[] = {{getLhsLetters(), typeOf(getLhs())},
                                                      {getRhsLetters(), typeOf(getRhs())},
                                                      {getResultLetters(), typeOf(getOutput())}};
  if (!getEquation().contains(',') || !getEquation().contains("->"))
    return emitOpError() << "equation \"" << getEquation() << "\" is not of the form \"ab,bc->ac\"";
  for (auto [letters, type] : tensors) {
    if (int64_t(letters.size()) != type.getRank())
      return emitOpError() << "\"" << letters << "\" has " << letters.size() << " letters for "
                           << type;
    for (auto [i, letter] : llvm::enumerate(letters)) {
      if (!llvm::isLower(letter))
        return emitOpError() << "'" << Twine(letter) << "' is not a lower-case letter";
      if (letters.count(letter) != 1)
        return emitOpError() << "letter '" << Twine(letter) << "' occurs twice in \"" << letters
                             << "\"";
      if (!getLhsLetters().contains(letter) && !getRhsLetters().contains(letter))
        return emitOpError() << "result letter '" << Twine(letter) << "' is in no operand";
      if (getSize(letter) != type.getDimSize(i))
        return emitOpError() << "letter '" << Twine(letter) << "' is " << getSize(letter) << " and "
                             << type.getDimSize(i);
    }
  }
  for (char letter : (getLhsLetters() + getRhsLetters()).str())
    if (!getResultLetters().contains(letter) &&
        !(getLhsLetters().contains(letter) && getRhsLetters().contains(letter)))
      return emitOpError() << "letter '" << Twine(letter)
                           << "' is in one operand only and not in the result; reduce it first";
  return success();
}

//===---------------------------------------------------------------------------------------===//
// Changes of shape
//===---------------------------------------------------------------------------------------===//

static LogicalResult expectType(Operation *op, RankedTensorType expected) {
  if (op->getResult(0).getType() != expected)
    return op->emitOpError() << "result is " << op->getResult(0).getType() << ", expected "
                             << expected;
  return success();
}

/// Dimensions are inside `rank`, ascending and distinct.
static LogicalResult verifyDims(Operation *op, ArrayRef<int64_t> dims, int64_t rank) {
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim < 0 || dim >= rank || (i > 0 && dim <= dims[i - 1]))
      return op->emitOpError() << "dims [" << dims << "] must be ascending and below " << rank;
  return success();
}

static SmallVector<int64_t> withoutDims(ArrayRef<int64_t> sizes, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(sizes))
    if (!llvm::is_contained(dims, int64_t(i)))
      shape.push_back(size);
  return shape;
}

LogicalResult ReduceOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (failed(verifyDims(*this, getDims(), input.getRank())))
    return failure();
  return expectType(*this, RankedTensorType::get(withoutDims(input.getShape(), getDims()),
                                                 typeOf(getOutput()).getElementType()));
}

LogicalResult ReduceMaxGradOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (failed(verifyDims(*this, getDims(), input.getRank())))
    return failure();
  auto expected =
      RankedTensorType::get(withoutDims(input.getShape(), getDims()), input.getElementType());
  if (getMax().getType() != expected)
    return emitOpError() << "has maxima of type " << getMax().getType() << ", expected "
                         << expected;
  return success();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType input = typeOf(getInput()), output = typeOf(getOutput());
  if (failed(verifyDims(*this, getDims(), output.getRank())))
    return failure();
  if (int64_t(getDims().size()) != input.getRank())
    return emitOpError() << "names " << getDims().size() << " dimensions for " << input;
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (input.getDimSize(i) != output.getDimSize(dim))
      return emitOpError() << "operand dimension " << i << " is " << input.getDimSize(i)
                           << ", result dimension " << dim << " is " << output.getDimSize(dim);
  return expectType(*this, RankedTensorType::get(output.getShape(), input.getElementType()));
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType input = typeOf(getInput()), output = typeOf(getOutput());
  if (input.getNumElements() != output.getNumElements() ||
      input.getElementType() != output.getElementType())
    return emitOpError() << "turns " << input << " into " << output
                         << "; elements must stay the same";
  return success();
}

LogicalResult TransposeOp::verify() {
  RankedTensorType input = typeOf(getInput());
  SmallVector<int64_t> sorted(getPermutation()), shape;
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, input.getRank())))
    return emitOpError() << "[" << getPermutation() << "] is not a permutation of "
                         << input.getRank() << " dimensions";
  for (int64_t dim : getPermutation())
    shape.push_back(input.getDimSize(dim));
  return expectType(*this, RankedTensorType::get(shape, input.getElementType()));
}

/// `part` lies at `offset` of dimension `dim` of `whole` and agrees elsewhere.
static LogicalResult verifyPart(Operation *op, RankedTensorType part, RankedTensorType whole,
                                int64_t dim, int64_t offset) {
  if (part.getRank() != whole.getRank() || part.getElementType() != whole.getElementType() ||
      dim < 0 || dim >= whole.getRank())
    return op->emitOpError() << "relates " << part << " and " << whole << " along dimension "
                             << dim;
  for (int64_t i = 0; i < whole.getRank(); ++i)
    if (i != dim && part.getDimSize(i) != whole.getDimSize(i))
      return op->emitOpError() << "changes dimension " << i << " from " << whole.getDimSize(i)
                               << " to " << part.getDimSize(i);
  if (offset < 0 || offset + part.getDimSize(dim) > whole.getDimSize(dim))
    return op->emitOpError() << "range " << offset << " to " << offset + part.getDimSize(dim)
                             << " is outside dimension " << dim << " of size "
                             << whole.getDimSize(dim);
  return success();
}

LogicalResult SliceOp::verify() {
  return verifyPart(*this, typeOf(getOutput()), typeOf(getInput()), getDim(), getOffset());
}

LogicalResult PadOp::verify() {
  return verifyPart(*this, typeOf(getInput()), typeOf(getOutput()), getDim(), getLow());
}

LogicalResult ConcatOp::verify() {
  int64_t offset = 0;
  for (Value input : getInputs()) {
    if (failed(verifyPart(*this, typeOf(input), typeOf(getOutput()), getDim(), offset)))
      return failure();
    offset += typeOf(input).getDimSize(getDim());
  }
  if (getInputs().empty() || offset != typeOf(getOutput()).getDimSize(getDim()))
    return emitOpError() << "operands fill " << offset << " of dimension " << getDim() << " of "
                         << getOutput().getType();
  return success();
}

//===- ExecOps.cpp - Generated op code and op verifiers of the exec dialect -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "dialects/Exec/ControlBlock.h"
#include "ulsc/RuntimeABI.h"
#include "llvm/Support/InterleavedRange.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ulsc::exec;

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.cpp.inc"

void ExecDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Exec/ExecOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LogicalResult BufferOp::verify() {
  if (!getOffset())
    return success();
  auto offset = static_cast<int64_t>(*getOffset());
  if (offset < 0 || offset % ULSC_ALIGNMENT != 0)
    return emitOpError("offset ") << offset << " is not a non-negative multiple of "
                                  << ULSC_ALIGNMENT;
  // Sums with sizes, which are far smaller, stay numbers.
  if (offset > std::numeric_limits<int64_t>::max() / 2)
    return emitOpError("offset ") << offset << " is past any memory";
  return success();
}

LogicalResult SlotOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  auto result = getResult().getType();
  if (source.getRank() == 0 || source.getShape().drop_front() != result.getShape() ||
      source.getElementType() != result.getElementType())
    return emitOpError("result type ") << result << " is not an entry of " << source;
  return success();
}

Value SlotOp::getViewSource() { return getSource(); }

LogicalResult ViewOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  auto result = getResult().getType();
  auto offset = static_cast<int64_t>(getOffset());
  int64_t elementBytes = getElementBytes(source.getElementType());
  if (offset < 0 || offset > source.getNumElements() ||
      offset * elementBytes + getBytes(result) > getBytes(source))
    return emitOpError("result ") << result << " at element " << offset << " does not lie within "
                                  << source;
  return success();
}

Value ViewOp::getViewSource() { return getSource(); }

LogicalResult CopyOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  auto target = cast<MemRefType>(getTarget().getType());
  if (source.getNumElements() != target.getNumElements() ||
      source.getElementType() != target.getElementType())
    return emitOpError("copies ") << source << " to " << target
                                  << ", which differ in number or type of elements";
  return success();
}

LogicalResult FillOp::verify() {
  Type element = cast<MemRefType>(getTarget().getType()).getElementType();
  if (getValue().getType() != element)
    return emitOpError("value of type ")
           << getValue().getType() << " fills elements of type " << element;
  return success();
}

//===----------------------------------------------------------------------===//
// GEMM
//===----------------------------------------------------------------------===//

static bool isFloatDtype(Type type) { return type.isF32() || type.isBF16() || type.isF16(); }

/// Checks that `strides` over `sizes` stay within `type`.
static LogicalResult verifyStrides(GemmOp op, StringRef name, Type type, ArrayRef<int64_t> strides,
                                   ArrayRef<int64_t> sizes) {
  if (strides.size() != 3)
    return op.emitOpError() << name << "_strides has " << strides.size() << " entries, not 3";
  auto memref = cast<MemRefType>(type);
  int64_t last = 0;
  for (auto [stride, size] : llvm::zip(strides, sizes)) {
    if (stride < 0)
      return op.emitOpError() << name << "_strides holds " << stride << ", which is negative";
    int64_t reach = 0;
    if (llvm::MulOverflow(stride, size - 1, reach) || llvm::AddOverflow(last, reach, last))
      return op.emitOpError() << name << "_strides reach past any element of " << memref;
  }
  if (!isFloatDtype(memref.getElementType()))
    return op.emitOpError() << name << " has element type " << memref.getElementType()
                            << "; f32, bf16 and f16 are legal";
  if (last >= memref.getNumElements())
    return op.emitOpError() << name << " reaches element " << last << " of " << memref;
  return success();
}

/// Checks what an epilogue takes or gives: `elements` of c's type, or nothing.
static LogicalResult verifyEpilogueOperand(GemmOp op, StringRef which, Value value,
                                           std::optional<int64_t> elements) {
  if (bool(value) != elements.has_value())
    return op.emitOpError("epilogue ") << stringifyEpilogue(*op.getEpilogue())
                                       << (elements ? " needs an " : " takes no ") << which;
  if (!value)
    return success();
  if (value == op.getC())
    return op.emitOpError("epilogue's ") << which << " is c itself, which it has to lie beside";
  auto type = cast<MemRefType>(value.getType()), c = cast<MemRefType>(op.getC().getType());
  if (type.getElementType() == c.getElementType() && type.getNumElements() == *elements)
    return success();
  return op.emitOpError("epilogue's ") << which << " is " << type << ", not " << *elements
                                       << " elements of " << c.getElementType();
}

static LogicalResult verifyEpilogue(GemmOp op) {
  if (!op.getEpilogue())
    return op.getEpilogueInput() || op.getEpilogueOutput()
               ? op.emitOpError("has operands of an epilogue without one")
               : LogicalResult(success());
  ArrayRef<int64_t> sizes = op.getSizes(), strides = op.getCStrides();
  int64_t m = sizes[1], n = sizes[2];
  if (sizes[0] != 1 || strides[2] != 1 || (m > 1 && strides[1] != n) || op.getAccumulate())
    return op.emitOpError("has an epilogue and so needs one batch, c by rows without gaps, and no "
                          "accumulation");
  std::optional<int64_t> vector = n, matrix = m * n, input, output;
  switch (*op.getEpilogue()) {
  case Epilogue::Bias:
    input = vector;
    break;
  case Epilogue::Gelu:
    input = vector, output = matrix;
    break;
  case Epilogue::GeluGrad:
    input = matrix;
    break;
  case Epilogue::GeluBiasGrad:
    input = matrix, output = vector;
    break;
  case Epilogue::BiasGrad:
    output = vector;
    break;
  }
  return success(succeeded(verifyEpilogueOperand(op, "input", op.getEpilogueInput(), input)) &&
                 succeeded(verifyEpilogueOperand(op, "output", op.getEpilogueOutput(), output)));
}

LogicalResult GemmOp::verify() {
  ArrayRef<int64_t> sizes = getSizes();
  if (sizes.size() != 4)
    return emitOpError("sizes has ") << sizes.size() << " entries, not 4";
  for (int64_t size : sizes)
    if (size <= 0)
      return emitOpError("sizes holds ") << size << ", which is not positive";
  auto [batch, m, n, k] = std::make_tuple(sizes[0], sizes[1], sizes[2], sizes[3]);
  if (failed(verifyStrides(*this, "a", getA().getType(), getAStrides(), {batch, m, k})) ||
      failed(verifyStrides(*this, "b", getB().getType(), getBStrides(), {batch, k, n})) ||
      failed(verifyStrides(*this, "c", getC().getType(), getCStrides(), {batch, m, n})))
    return failure();
  int64_t extents[] = {batch, m, n};
  for (auto [stride, size] : llvm::zip(getCStrides(), extents))
    if (stride == 0 && size > 1)
      return emitOpError("c_strides has 0 for a size of ")
             << size << ": elements of c would be written more than once";
  return verifyEpilogue(*this);
}

//===----------------------------------------------------------------------===//
// Communication and control
//===----------------------------------------------------------------------===//

/// A send takes, a receive gives, and both name the other side.
static LogicalResult verifyTransfer(CollectiveStartOp op) {
  bool isSend = op.getKind() == CollectiveKind::Send;
  if ((isSend ? op.getInputs().empty() : op.getOutputs().empty()) ||
      !(isSend ? op.getOutputs().empty() : op.getInputs().empty()))
    return op.emitOpError("has ") << op.getInputs().size() << " inputs and "
                                  << op.getOutputs().size()
                                  << " outputs; a send takes inputs alone, a receive outputs alone";
  if (op.getReduction() || op.getDestinations())
    return op.emitOpError("takes neither a reduction nor destinations");
  if (int64_t peer = *op.getPeer(); peer < 0)
    return op.emitOpError("names position ") << peer << "; positions count from 0";
  return success();
}

LogicalResult CollectiveStartOp::verify() {
  bool isTransfer = getKind() == CollectiveKind::Send || getKind() == CollectiveKind::Receive;
  if (isTransfer != getPeer().has_value())
    return emitOpError() << (isTransfer ? "needs" : "takes no") << " peer";
  if (isTransfer)
    return verifyTransfer(*this);
  if (getInputs().empty() || getInputs().size() != getOutputs().size())
    return emitOpError("has ") << getInputs().size() << " inputs and " << getOutputs().size()
                               << " outputs; at least one of each, and as many, are needed";
  bool reduces =
      getKind() == CollectiveKind::AllReduce || getKind() == CollectiveKind::ReduceScatter;
  if (reduces != getReduction().has_value())
    return emitOpError() << (reduces ? "needs" : "takes no") << " reduction";
  if ((getKind() == CollectiveKind::Permute) != getDestinations().has_value())
    return emitOpError() << (getDestinations() ? "takes no" : "needs") << " destinations";
  if (getDestinations()) {
    SmallVector<int64_t> sorted(*getDestinations());
    llvm::sort(sorted);
    if (sorted != llvm::to_vector(llvm::seq<int64_t>(0, sorted.size())))
      return emitOpError("sends to positions ")
             << llvm::interleaved_array(*getDestinations()) << ", which is no permutation";
  }
  for (auto [i, input, output] : llvm::enumerate(getInputs(), getOutputs())) {
    auto in = cast<MemRefType>(input.getType()), out = cast<MemRefType>(output.getType());
    if (in.getElementType() != out.getElementType())
      return emitOpError("operand ") << i << " is " << in << " in and " << out << " out";
    bool keepsSize =
        getKind() != CollectiveKind::AllGather && getKind() != CollectiveKind::ReduceScatter;
    if (keepsSize && in.getNumElements() != out.getNumElements())
      return emitOpError("operand ") << i << " is " << in << " in and " << out << " out";
  }
  return success();
}

/// Checks that `field` exists and has the element type `type`.
static LogicalResult verifyField(Operation *op, StringRef field, Type type, bool isWrite) {
  const ControlField *found = lookupControlField(field);
  if (!found || (isWrite && !found->isWritten)) {
    InFlightDiagnostic error = op->emitOpError("the control block has no field '") << field << "'";
    error << (isWrite ? " that a step writes; legal are" : "; legal are");
    for (const ControlField &other : getControlFields())
      if (!isWrite || other.isWritten)
        error << " " << other.name;
    return error;
  }
  Type expected = found->isInteger ? Type(IntegerType::get(op->getContext(), 64))
                                   : Type(Float32Type::get(op->getContext()));
  if (type != expected)
    return op->emitOpError("field '") << field << "' is of type " << expected << ", not " << type;
  return success();
}

static LogicalResult verifyScalarBuffer(Operation *op, StringRef field, Type type, bool isWrite) {
  auto memref = cast<MemRefType>(type);
  if (memref.getNumElements() != 1)
    return op->emitOpError("needs a buffer of one element, not ") << memref;
  return verifyField(op, field, memref.getElementType(), isWrite);
}

LogicalResult ControlOp::verify() {
  return verifyField(*this, getField(), getResult().getType(), /*isWrite=*/false);
}

LogicalResult ReadControlOp::verify() {
  return verifyScalarBuffer(*this, getField(), getTarget().getType(), /*isWrite=*/false);
}

LogicalResult WriteControlOp::verify() {
  return verifyScalarBuffer(*this, getField(), getSource().getType(), /*isWrite=*/true);
}

LogicalResult CoordinateOp::verify() {
  if (int64_t axis = getAxis(); axis < 0 || axis >= getMaxAxes())
    return emitOpError("axis ") << static_cast<int64_t>(getAxis()) << " is not in [0, "
                                << getMaxAxes() << ")";
  return success();
}

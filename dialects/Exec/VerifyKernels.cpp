//===- VerifyKernels.cpp - Verifiers of kernels and launches -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace ulsc::exec;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Whether the first `rows` results of `map` are the first `rows` dimensions, in order.
static bool startsWithRows(AffineMap map, int64_t rows) {
  if (map.getNumResults() < rows)
    return false;
  for (int64_t i = 0; i < rows; ++i)
    if (map.getResult(i) != getAffineDimExpr(i, map.getContext()))
      return false;
  return true;
}

/// Whether `value` is made inside the kernel, other than by tensor.empty.
static bool flowsInside(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isa<linalg::GenericOp>(op);
}

/// Checks the iteration space of one generic: sizes of the rows, and what may be reduced.
static LogicalResult verifySpace(KernelOp kernel, linalg::GenericOp op,
                                 ArrayRef<int64_t> rowSizes) {
  int64_t rows = kernel.getRowDims();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  // After a reduction over rows, ops of a kernel of kind columns have columns only.
  bool afterColumns =
      kernel.getKind() == KernelKind::Columns && llvm::any_of(op.getDpsInputs(), [&](Value input) {
        auto producer = input.getDefiningOp<linalg::GenericOp>();
        return producer && producer.getNumReductionLoops() > 0;
      });
  if (afterColumns || sizes.size() < static_cast<size_t>(rows) ||
      (kernel.getKind() == KernelKind::Columns && ArrayRef(sizes).take_front(rows) != rowSizes))
    return success();
  for (int64_t i = 0; i < rows; ++i) {
    if (sizes[i] != rowSizes[i])
      return op.emitOpError("row dimension ") << i << " has size " << sizes[i] << ", but "
                                              << rowSizes[i] << " in the first op of the kernel";
    if (iterators[i] == utils::IteratorType::reduction && kernel.getKind() != KernelKind::Columns)
      return op.emitOpError("reduces row dimension ") << i << " in a kernel that is split by rows";
  }
  return success();
}

/// Checks what flows into and out of one generic.
static LogicalResult verifyGeneric(KernelOp kernel, linalg::GenericOp op,
                                   ArrayRef<int64_t> rowSizes) {
  int64_t rows = kernel.getRowDims();
  if (op.hasDynamicShape())
    return op.emitOpError("has a dynamic shape in a kernel");
  if (kernel.getKind() != KernelKind::Columns && static_cast<int64_t>(op.getNumLoops()) < rows)
    return op.emitOpError("has ") << op.getNumLoops() << " dimensions in a kernel of " << rows
                                  << " row dimensions";
  if (failed(verifySpace(kernel, op, rowSizes)))
    return failure();
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    bool inside = flowsInside(operand.get()) || op.isDpsInit(&operand);
    if (kernel.getKind() == KernelKind::Rows && inside && !startsWithRows(map, rows))
      return op.emitOpError("operand ")
             << operand.getOperandNumber() << " is made inside the kernel but its map "
             << AffineMapAttr::get(map) << " does not keep the rows";
  }
  if (op.getNumReductionLoops() > 0)
    for (Type type : op.getResultTypes()) {
      Type element = cast<RankedTensorType>(type).getElementType();
      if (!element.isF32() && !element.isInteger(32) && !element.isInteger(64))
        return op.emitOpError("reduces into ") << element << "; f32, i32 and i64 are legal";
    }
  return success();
}

/// Checks the reads of tensor.extract in a body.
static LogicalResult verifyExtracts(KernelOp kernel, linalg::GenericOp op) {
  WalkResult result = op.walk([&](tensor::ExtractOp extract) {
    if (isa<BlockArgument>(extract.getTensor()) &&
        cast<BlockArgument>(extract.getTensor()).getOwner() == &kernel.getBody().front())
      return WalkResult::advance();
    extract.emitOpError("reads a value that is no argument of the kernel");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Checks that a body holds scalar ops alone, and reads no output that starts undefined.
static LogicalResult verifyBody(linalg::GenericOp op) {
  for (Operation &inner : op.getBody()->without_terminator()) {
    bool isLegal =
        isa<linalg::IndexOp, tensor::ExtractOp, ControlOp, RandomOp, ParameterScaleOp>(inner) ||
        isa<arith::ArithDialect, math::MathDialect>(inner.getDialect());
    if (!isLegal || inner.getNumRegions() != 0 || inner.getNumResults() != 1)
      return inner.emitOpError(
          "is not legal in a kernel's body; arith and math ops, linalg.index, tensor.extract, "
          "exec.control, exec.random and exec.parameter_scale are");
  }
  for (OpOperand &init : op.getDpsInitsMutable()) {
    if (!op.getMatchingBlockArgument(&init).use_empty() &&
        init.get().getDefiningOp<tensor::EmptyOp>())
      return op.emitOpError("reads output ")
             << init.getOperandNumber() - op.getNumDpsInputs() << ", which starts as tensor.empty";
    if (op.getNumReductionLoops() == 0 && !op.getMatchingIndexingMap(&init).isPermutation())
      return op.emitOpError("writes through the map ")
             << AffineMapAttr::get(op.getMatchingIndexingMap(&init)) << ", which is no permutation";
  }
  return success();
}

/// Checks that the ops around the generics are those that emission knows.
static LogicalResult verifyOps(KernelOp kernel) {
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    bool makesTensor =
        llvm::any_of(op.getResultTypes(), [](Type type) { return isa<TensorType>(type); });
    if (makesTensor && !isa<linalg::GenericOp, linalg::FillOp, tensor::EmptyOp, ScatterAddOp>(op))
      return op.emitOpError(
          "is not legal in a kernel; linalg.generic, linalg.fill and tensor.empty are");
    if (!makesTensor && !isa<ControlOp>(op) &&
        !isa<arith::ArithDialect, math::MathDialect>(op.getDialect()))
      return op.emitOpError(
          "is not legal in a kernel; scalars are made by arith, math and exec.control");
  }
  return success();
}

/// Whether `op` uses what a reduction made.
static bool isAfterReduction(linalg::GenericOp op) {
  return llvm::any_of(op->getOperands(), [](Value operand) {
    auto producer = operand.getDefiningOp<linalg::GenericOp>();
    return producer && (producer.getNumReductionLoops() > 0 || isAfterReduction(producer));
  });
}

/// Checks that a kernel of kind columns reduces once and yields what comes of it.
static LogicalResult verifyColumns(KernelOp kernel, YieldOp yield) {
  for (auto op : kernel.getBody().front().getOps<linalg::GenericOp>())
    if (op.getNumReductionLoops() > 0 && isAfterReduction(op))
      return op.emitOpError("reduces again in a kernel of kind columns");
  for (Value value : yield.getValues()) {
    auto op = value.getDefiningOp<linalg::GenericOp>();
    if (op && op.getNumReductionLoops() == 0 && !isAfterReduction(op))
      return yield.emitOpError(
          "yields a value that depends on no reduction in a kernel of kind columns");
  }
  return success();
}

/// The sizes of the rows, from the first generic that has them all.
static SmallVector<int64_t> getRowSizes(KernelOp kernel) {
  for (auto scatter : kernel.getBody().front().getOps<ScatterAddOp>())
    return llvm::to_vector(cast<RankedTensorType>(scatter.getIndices().getType()).getShape());
  for (auto op : kernel.getBody().front().getOps<linalg::GenericOp>()) {
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    if (sizes.size() >= static_cast<size_t>(kernel.getRowDims())) {
      sizes.truncate(kernel.getRowDims());
      return sizes;
    }
  }
  return {};
}

/// Checks what one kernel shows of its family: it is elementwise on flat tensors of one size.
static LogicalResult verifyFamily(KernelOp kernel) {
  if (kernel.getKind() != KernelKind::Rows)
    return kernel.emitOpError("is one of family \"")
           << *kernel.getFamily() << "\" and of kind " << stringifyKernelKind(kernel.getKind())
           << "; families have kernels of kind rows";
  std::optional<int64_t> size;
  auto verify = [&](StringRef name, TypeRange types) -> LogicalResult {
    for (auto [i, type] : llvm::enumerate(types)) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || tensor.getRank() == 0)
        continue;
      if (tensor.getRank() > 1)
        return kernel.emitOpError("is one of family \"")
               << *kernel.getFamily() << "\", but its " << name << " " << i << " is " << type
               << "; tensors of rank 0 and 1 are legal in a family";
      if (size.value_or(tensor.getDimSize(0)) != tensor.getDimSize(0))
        return kernel.emitOpError("is one of family \"")
               << *kernel.getFamily() << "\", but its " << name << " " << i << " is " << type
               << " after one of " << *size << " elements; tensors of rank 1 have one size";
      size = tensor.getDimSize(0);
    }
    return success();
  };
  if (failed(verify("argument", kernel.getArgumentTypes())) ||
      failed(verify("result", kernel.getResultTypes())))
    return failure();
  return size ? LogicalResult(success())
              : kernel.emitOpError("is one of family \"")
                    << *kernel.getFamily() << "\" and has no tensor of rank 1, whose size is what "
                    << "kernels of a family differ in";
}

LogicalResult KernelOp::verify() {
  if (isExternal() || !llvm::hasSingleElement(getBody()))
    return emitOpError("needs a body of one block");
  if (static_cast<int64_t>(getRowDims()) < 0)
    return emitOpError("row_dims is ")
           << static_cast<int64_t>(getRowDims()) << ", which is negative";
  for (auto [i, type] : llvm::enumerate(getArgumentTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!(tensor && tensor.hasStaticShape()) && !type.isInteger(64) && !type.isIndex())
      return emitOpError("argument ")
             << i << " is " << type << "; tensors of static shape, i64 and index are legal";
  }
  bool sawScalar = false;
  for (Type type : getArgumentTypes()) {
    if (isa<RankedTensorType>(type) && sawScalar)
      return emitOpError("takes tensors after scalars");
    sawScalar |= !isa<RankedTensorType>(type);
  }
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getValues().getTypes() != getResultTypes())
    return emitOpError("does not end in an exec.yield of its result types");
  return getFamily() ? verifyFamily(*this) : success();
}

LogicalResult YieldOp::verify() {
  auto kernel = cast<KernelOp>((*this)->getParentOp());
  Block &body = kernel.getBody().front();
  // Ops of a higher dialect (an update rule's) stand here until the next pass makes loops of them.
  if (body.getOps<linalg::GenericOp>().empty() && body.getOps<ScatterAddOp>().empty())
    return success();
  SmallVector<int64_t> rowSizes = getRowSizes(kernel);
  if (rowSizes.size() != kernel.getRowDims())
    return emitOpError("ends a kernel of ")
           << kernel.getRowDims() << " row dimensions, which none of its ops has";
  for (auto op : body.getOps<linalg::GenericOp>())
    if (failed(verifyGeneric(kernel, op, rowSizes)) || failed(verifyExtracts(kernel, op)))
      return failure();
  for (Value value : getValues())
    if (!value.getDefiningOp() || isa<tensor::EmptyOp>(value.getDefiningOp()))
      return emitOpError("yields a value that the kernel does not compute");
  bool scatters = !body.getOps<ScatterAddOp>().empty();
  if (scatters != (kernel.getKind() == KernelKind::Scatter))
    return emitOpError("ends a kernel of kind ")
           << stringifyKernelKind(kernel.getKind()) << (scatters ? " with" : " without")
           << " an exec.scatter_add";
  return success();
}

LogicalResult KernelOp::verifyLowered() {
  for (auto op : getBody().front().getOps<linalg::GenericOp>())
    if (failed(::verifyBody(op)))
      return failure();
  if (failed(verifyOps(*this)))
    return failure();
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (yield.getValues().empty())
    return yield.emitOpError("yields nothing");
  for (Value value : yield.getValues())
    if (!value.getDefiningOp() || !isa<linalg::GenericOp, ScatterAddOp>(value.getDefiningOp()))
      return yield.emitOpError("yields a value that the kernel does not compute");
  return getKind() == KernelKind::Columns ? verifyColumns(*this, yield) : success();
}

LogicalResult ScatterAddOp::verify() {
  auto values = cast<RankedTensorType>(getValues().getType());
  auto indices = cast<RankedTensorType>(getIndices().getType());
  auto table = cast<RankedTensorType>(getInit().getType());
  int64_t rows = indices.getRank();
  if (!indices.getElementType().isInteger(32) && !indices.getElementType().isInteger(64))
    return emitOpError("indices are ") << indices << "; i32 and i64 are legal";
  if (values.getRank() <= rows || values.getShape().take_front(rows) != indices.getShape() ||
      table.getRank() != values.getRank() - rows + 1 ||
      values.getShape().drop_front(rows) != table.getShape().drop_front())
    return emitOpError("values ") << values << " do not fit indices " << indices << " and table "
                                  << table;
  if (!table.getElementType().isF32())
    return emitOpError("adds into ") << table.getElementType() << "; f32 is legal";
  return success();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static LogicalResult verifyTensor(LaunchOp op, StringRef name, size_t i, Type memrefType,
                                  Type tensorType) {
  auto memref = cast<MemRefType>(memrefType);
  auto tensor = dyn_cast<RankedTensorType>(tensorType);
  if (tensor && memref.getShape() == tensor.getShape() &&
      memref.getElementType() == tensor.getElementType())
    return success();
  return op.emitOpError() << name << " " << i << " is " << memref << ", but @" << op.getKernel()
                          << " has " << tensorType << " there";
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto extent = static_cast<int64_t>(getExtent().value_or(0)),
       grain = static_cast<int64_t>(getGrain().value_or(1));
  if (extent < 0 || grain < 1)
    return emitOpError("has extent ")
           << extent << " and grain " << grain << "; from 0 and from 1 are legal";
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel) {
    // After emission the kernel is a function of the target.
    if (getExtent() && getGrain() && symbols.lookupNearestSymbolFrom(*this, getKernelAttr()))
      return success();
    return emitOpError("launches @") << getKernel() << ", which is no exec.kernel";
  }
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  size_t tensors = llvm::count_if(kernel.getArgumentTypes(), isTensor);
  ArrayRef<Type> arguments = kernel.getArgumentTypes(), results = kernel.getResultTypes();
  if (getInputs().size() != tensors || getOutputs().size() != results.size() ||
      getScalars().size() != arguments.size() - tensors)
    return emitOpError("has ") << getInputs().size() << " ins, " << getOutputs().size()
                               << " outs and " << getScalars().size() << " scalars, but @"
                               << getKernel() << " has " << tensors << ", " << results.size()
                               << " and " << arguments.size() - tensors;
  for (auto [i, input] : llvm::enumerate(getInputs()))
    if (failed(verifyTensor(*this, "input", i, input.getType(), arguments[i])))
      return failure();
  for (auto [i, output] : llvm::enumerate(getOutputs()))
    if (failed(verifyTensor(*this, "output", i, output.getType(), results[i])))
      return failure();
  for (auto [i, scalar] : llvm::enumerate(getScalars()))
    if (scalar.getType() != arguments[tensors + i])
      return emitOpError("scalar ") << i << " is " << scalar.getType() << ", but @" << getKernel()
                                    << " has " << arguments[tensors + i] << " there";
  return success();
}

LogicalResult ApplyOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("applies @") << getKernel() << ", which is no exec.kernel";
  SmallVector<Type> types(getInputs().getTypes());
  llvm::append_range(types, getScalars().getTypes());
  if (ArrayRef<Type>(types) != kernel.getArgumentTypes() ||
      getResultTypes() != kernel.getResultTypes())
    return emitOpError("has operands and results of type ")
           << FunctionType::get(getContext(), types, getResultTypes()) << ", but @" << getKernel()
           << " is " << kernel.getFunctionType();
  return success();
}

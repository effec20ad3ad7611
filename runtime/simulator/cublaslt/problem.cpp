// The checks of a product that need no pointers: shapes, types, leading dimensions, the epilogue.
#include "simulator/cublaslt/problem.h"

#include "simulator/core/report.h"

#include <climits>

namespace ulsc::simulator {

namespace {

using namespace cublaslt;

bool isFloatType(uint32_t type) { return type == TypeF32 || type == TypeF16 || type == TypeBf16; }

Outcome toMatrix(const char *name, const LayoutState *layout, Matrix &matrix) {
  if (!layout)
    return invalid(text("the layout of ", name, " is null"));
  if (!isFloatType(layout->type))
    endUnsupported(text("the type of ", name, ", cudaDataType ", layout->type),
                   "CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF");
  if (layout->order != OrderColumn && layout->order != OrderRow)
    endUnsupported(text("the order of ", name, ", ", layout->order),
                   "CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW");
  if (!layout->rows || !layout->columns)
    return invalid(text(name, " has no elements: ", layout->rows, "x", layout->columns));
  if (layout->rows > INT_MAX || layout->columns > INT_MAX)
    return notSupported(text(name, " has a dimension above 2^31 - 1"));
  matrix.type = layout->type;
  matrix.isRowMajor = layout->order == OrderRow;
  matrix.rows = static_cast<int64_t>(layout->rows);
  matrix.columns = static_cast<int64_t>(layout->columns);
  matrix.leadingDimension = layout->leadingDimension;
  matrix.batch = layout->batch;
  matrix.batchStride = layout->batchStride;
  if (matrix.leadingDimension < matrix.runLength())
    return invalid(text("the leading dimension of ", name, " is ", matrix.leadingDimension,
                        ", less than its ", matrix.isRowMajor ? "columns, " : "rows, ",
                        matrix.runLength()));
  if (matrix.batch < 1)
    return invalid(text("the batch count of ", name, " is ", matrix.batch));
  if (matrix.batch == 1)
    matrix.batchStride = 0; // has no meaning
  return {};
}

Outcome checkTypes(const MatmulState &matmul, const Problem &p) {
  if (matmul.compute != Compute32F && matmul.compute != Compute32FPedantic &&
      matmul.compute != Compute32FFastTF32)
    endUnsupported(text("cublasComputeType_t ", matmul.compute),
                   "CUBLAS_COMPUTE_32F, _32F_PEDANTIC, _32F_FAST_TF32");
  if (matmul.scaleType != TypeF32)
    return notSupported(text("scale type ", typeName(matmul.scaleType), " with a 32-bit product"));
  if (p.a.type != p.b.type)
    return notSupported(text("A is ", typeName(p.a.type), " and B ", typeName(p.b.type)));
  if (p.c.type != p.d.type)
    return notSupported(text("C is ", typeName(p.c.type), " and D ", typeName(p.d.type)));
  if (p.d.type != p.a.type && p.d.type != TypeF32)
    return notSupported(text("D is ", typeName(p.d.type), " where A and B are ", typeName(p.a.type),
                             ": it may be that or f32"));
  if (matmul.compute == Compute32FFastTF32 && p.a.type != TypeF32)
    return notSupported(text("TF32 products take f32, not ", typeName(p.a.type)));
  return {};
}

Outcome toTranspose(const char *name, int32_t transpose, bool &isTransposed) {
  if (transpose != TransposeNo && transpose != TransposeYes && transpose != TransposeConjugate)
    return invalid(text("the transposition of ", name, " is ", transpose));
  isTransposed = transpose != TransposeNo; // real numbers are their own conjugates
  return {};
}

Outcome checkShapes(Problem &p) {
  p.m = p.transposeA ? p.a.columns : p.a.rows;
  p.k = p.transposeA ? p.a.rows : p.a.columns;
  p.n = p.transposeB ? p.b.rows : p.b.columns;
  int64_t bK = p.transposeB ? p.b.columns : p.b.rows;
  if (bK != p.k)
    return invalid(text("op(A) has ", p.k, " columns and op(B) ", bK, " rows"));
  if (p.d.rows != p.m || p.d.columns != p.n)
    return invalid(text("D is ", p.d.rows, "x", p.d.columns, ", the product ", p.m, "x", p.n));
  if (p.c.rows != p.m || p.c.columns != p.n)
    return invalid(text("C is ", p.c.rows, "x", p.c.columns, ", the product ", p.m, "x", p.n));
  if (p.c.isRowMajor != p.d.isRowMajor)
    return notSupported("C and D have different orders");
  p.batch = p.d.batch;
  for (auto [name, matrix] : {std::pair("A", &p.a), std::pair("B", &p.b), std::pair("C", &p.c)})
    if (matrix->batch != p.batch)
      return invalid(
          text("the batch count of ", name, " is ", matrix->batch, ", that of D ", p.batch));
  return {};
}

bool toSteps(uint32_t epilogue, EpilogueSteps &steps) {
  switch (epilogue) {
  case EpilogueDefault:
    return true;
  case EpilogueRelu:
  case EpilogueReluBias:
    steps.isRelu = true;
    break;
  case EpilogueBias:
    break;
  case EpilogueGelu:
  case EpilogueGeluBias:
  case EpilogueGeluAux:
  case EpilogueGeluAuxBias:
    steps.isGelu = true;
    steps.storesAux = epilogue & 128;
    break;
  case EpilogueDGelu:
  case EpilogueDGeluBGrad:
    steps.isGeluGradient = true;
    steps.storesBiasGradient = epilogue == EpilogueDGeluBGrad;
    return true;
  case EpilogueBGradA:
    steps.sumsA = true;
    return true;
  case EpilogueBGradB:
    steps.sumsB = true;
    return true;
  default:
    return false;
  }
  steps.addsBias = epilogue & EpilogueBias;
  return true;
}

Outcome checkBias(const MatmulState &matmul, Problem &p) {
  p.biasLength = p.epilogue.sumsB ? p.n : p.m;
  if (!matmul.bias)
    return invalid("the epilogue needs CUBLASLT_MATMUL_DESC_BIAS_POINTER, which is null");
  if (matmul.biasType != -1 && matmul.biasType != static_cast<int32_t>(p.d.type))
    return notSupported(
        text("the bias is ", typeName(matmul.biasType), " where D is ", typeName(p.d.type)));
  if (reinterpret_cast<uintptr_t>(matmul.bias) % p.d.elementBytes())
    return invalid(text("the bias pointer isn't a multiple of ", p.d.elementBytes()));
  if (p.batch > 1 && p.epilogue.writesBias() && matmul.biasBatchStride < p.biasLength)
    return invalid(text("the bias gradients of a batch overlap: batch stride ",
                        matmul.biasBatchStride, ", length ", p.biasLength));
  return {};
}

Outcome checkAux(const MatmulState &matmul, Problem &p) {
  if (!matmul.aux)
    return invalid("the epilogue needs CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, which is null");
  if (matmul.auxType != -1 && matmul.auxType != static_cast<int32_t>(p.d.type))
    return notSupported(
        text("the aux matrix is ", typeName(matmul.auxType), " where D is ", typeName(p.d.type)));
  if (matmul.auxLeadingDimension < p.m || matmul.auxLeadingDimension % 8)
    return invalid(text("the leading dimension of the aux matrix is ", matmul.auxLeadingDimension,
                        ": it must be a multiple of 8 and at least ", p.m));
  if (matmul.auxBatchStride % 8)
    return invalid(text("the batch stride of the aux matrix, ", matmul.auxBatchStride,
                        ", isn't a multiple of 8"));
  if (reinterpret_cast<uintptr_t>(matmul.aux) % 16)
    return invalid("the aux pointer isn't a multiple of 16");
  p.aux = p.d;
  p.aux.leadingDimension = matmul.auxLeadingDimension;
  p.aux.batchStride = p.batch > 1 ? matmul.auxBatchStride : 0;
  return {};
}

Outcome checkEpilogue(const MatmulState &matmul, Problem &p) {
  if (!toSteps(matmul.epilogue, p.epilogue))
    endUnsupported(text("epilogue ", matmul.epilogue),
                   "DEFAULT, RELU, BIAS, RELU_BIAS, GELU, GELU_BIAS, GELU_AUX, GELU_AUX_BIAS, "
                   "DGELU, DGELU_BGRAD, BGRADA, BGRADB");
  if (matmul.epilogue == EpilogueDefault)
    return {};
  // Measured by others on real devices for the bias, which runs along D's columns.
  if (p.d.isRowMajor && p.d.runs() > 1 && p.d.runLength() > 1)
    return notSupported("an epilogue other than DEFAULT takes a D by columns, given by rows");
  if (p.epilogue.usesBias())
    if (Outcome outcome = checkBias(matmul, p); outcome.isRefusal())
      return outcome;
  return p.epilogue.usesAux() ? checkAux(matmul, p) : Outcome();
}

} // namespace

bool Matrix::operator==(const Matrix &o) const {
  return type == o.type && isRowMajor == o.isRowMajor && rows == o.rows && columns == o.columns &&
         leadingDimension == o.leadingDimension && batch == o.batch && batchStride == o.batchStride;
}

Outcome makeProblem(const MatmulState &matmul, const LayoutState *a, const LayoutState *b,
                    const LayoutState *c, const LayoutState *d, Problem &p) {
  p.matmul = matmul;
  if (matmul.pointerMode != PointerModeHost && matmul.pointerMode != PointerModeDevice)
    endUnsupported(text("pointer mode ", matmul.pointerMode),
                   "CUBLASLT_POINTER_MODE_HOST, CUBLASLT_POINTER_MODE_DEVICE");
  Outcome outcome;
  (outcome = toMatrix("A", a, p.a)).isRefusal() || (outcome = toMatrix("B", b, p.b)).isRefusal() ||
      (outcome = toMatrix("C", c, p.c)).isRefusal() ||
      (outcome = toMatrix("D", d, p.d)).isRefusal() ||
      (outcome = checkTypes(matmul, p)).isRefusal() ||
      (outcome = toTranspose("A", matmul.transposeA, p.transposeA)).isRefusal() ||
      (outcome = toTranspose("B", matmul.transposeB, p.transposeB)).isRefusal() ||
      (outcome = checkShapes(p)).isRefusal() || (outcome = checkEpilogue(matmul, p)).isRefusal();
  return outcome;
}

std::string describe(const Problem &p) {
  std::string types = typeName(p.a.type);
  if (p.d.type != p.a.type)
    types += "->" + typeName(p.d.type);
  std::string batches = p.batch > 1 ? text(" x ", p.batch) : "";
  return text(types, " ", p.transposeA ? "T" : "N", p.transposeB ? "T" : "N", " ", p.m, "x", p.n,
              "x", p.k, batches, ", epilogue ", p.matmul.epilogue);
}

} // namespace ulsc::simulator

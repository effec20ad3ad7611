// Operands, descriptors and calls of one product.
#include "matmul_case.h"

#include "core/numeric.h"
#include "simulator/core/memory.h"
#include "simulator/core/report.h"
#include "simulator/core/streams.h"

#include <cmath>
#include <cstring>
#include <random>

namespace ulsc::simulator::test {

using namespace cublaslt;

namespace {

constexpr unsigned char gapByte = 0xa5;

int64_t sizeOf(DataType type) { return type == TypeF32 ? 4 : 2; }

DeviceMatrix makeMatrix(DataType type, bool isRowMajor, int64_t rows, int64_t columns, int64_t gap,
                        int64_t batch, int64_t batchGap) {
  DeviceMatrix matrix{type, isRowMajor, rows, columns, 0, batch, 0, nullptr, 0};
  int64_t run = isRowMajor ? columns : rows, runs = isRowMajor ? rows : columns;
  matrix.leadingDimension = run + gap;
  matrix.batchStride = batch > 1 ? matrix.leadingDimension * runs + batchGap : 0;
  matrix.bytes = (matrix.leadingDimension * runs + matrix.batchStride * (batch - 1)) * sizeOf(type);
  matrix.data =
      static_cast<char *>(allocate(static_cast<size_t>(matrix.bytes), MemoryKind::Device));
  std::memset(matrix.data, gapByte, static_cast<size_t>(matrix.bytes));
  return matrix;
}

void fill(DeviceMatrix &matrix, std::mt19937 &random) {
  std::uniform_real_distribution<double> values(-1, 1);
  for (int64_t b = 0; b < (matrix.batchStride ? matrix.batch : 1); ++b)
    for (int64_t i = 0; i < matrix.rows; ++i)
      for (int64_t j = 0; j < matrix.columns; ++j)
        matrix.set(i, j, b, values(random));
}

MatrixLayout layoutOf(const DeviceMatrix &matrix) {
  MatrixLayout layout = nullptr;
  cublasLtMatrixLayoutCreate(&layout, matrix.type, static_cast<uint64_t>(matrix.rows),
                             static_cast<uint64_t>(matrix.columns), matrix.leadingDimension);
  int32_t order = matrix.isRowMajor ? OrderRow : OrderColumn;
  auto batch = static_cast<int32_t>(matrix.batch);
  cublasLtMatrixLayoutSetAttribute(layout, LayoutOrder, &order, sizeof(order));
  cublasLtMatrixLayoutSetAttribute(layout, LayoutBatchCount, &batch, sizeof(batch));
  cublasLtMatrixLayoutSetAttribute(layout, LayoutBatchStride, &matrix.batchStride,
                                   sizeof(matrix.batchStride));
  return layout;
}

} // namespace

double rounded(DataType type, double value) {
  auto single = static_cast<float>(value);
  if (type == TypeF16)
    return runtime::f16ToFloat(runtime::floatToF16(single));
  if (type == TypeBf16)
    return runtime::bf16ToFloat(runtime::floatToBf16(single));
  return single;
}

double unitOf(DataType type) {
  return type == TypeF32 ? 0x1p-24 : type == TypeF16 ? 0x1p-11 : 0x1p-8;
}

std::string MatmulCase::name() const {
  auto type = [](DataType each) {
    return each == TypeF32 ? "f32" : each == TypeF16 ? "f16" : "bf16";
  };
  return text(type(inputType), "_", type(outputType), compute == Compute32FFastTF32 ? "_tf32" : "",
              " ", transposeA ? "T" : "N", transposeB ? "T" : "N", " orders ", rowMajorA, rowMajorB,
              rowMajorD, " ", m, "x", n, "x", k, " batch ", batch, " gap ", gap, " alpha ", alpha,
              " beta ", beta, scalarsOnDevice ? " on device" : "", " epilogue ",
              static_cast<uint32_t>(epilogue), isInPlace ? "" : " C apart");
}

int64_t DeviceMatrix::index(int64_t row, int64_t column, int64_t batchIndex) const {
  return batchIndex * batchStride +
         (isRowMajor ? row * leadingDimension + column : column * leadingDimension + row);
}

double DeviceMatrix::at(int64_t row, int64_t column, int64_t batchIndex) const {
  const char *element = data + index(row, column, batchIndex) * sizeOf(type);
  float single;
  uint16_t half;
  if (type == TypeF32) {
    std::memcpy(&single, element, 4);
    return single;
  }
  std::memcpy(&half, element, 2);
  return type == TypeF16 ? runtime::f16ToFloat(half) : runtime::bf16ToFloat(half);
}

void DeviceMatrix::set(int64_t row, int64_t column, int64_t batchIndex, double value) {
  char *element = data + index(row, column, batchIndex) * sizeOf(type);
  auto single = static_cast<float>(value);
  if (type == TypeF32) {
    std::memcpy(element, &single, 4);
  } else {
    uint16_t half = type == TypeF16 ? runtime::floatToF16(single) : runtime::floatToBf16(single);
    std::memcpy(element, &half, 2);
  }
  markValues(element, sizeOf(type));
}

bool DeviceMatrix::gapsAreIntact() const {
  std::vector<bool> isElement(static_cast<size_t>(bytes), false);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t byte = 0; byte < sizeOf(type); ++byte)
          isElement[static_cast<size_t>(index(i, j, b) * sizeOf(type) + byte)] = true;
  for (int64_t byte = 0; byte < bytes; ++byte)
    if (!isElement[static_cast<size_t>(byte)] && static_cast<unsigned char>(data[byte]) != gapByte)
      return false;
  return true;
}

MatmulRun::MatmulRun(const MatmulCase &given) : given(given) {
  makeOperands();
  makeDescriptors();
}

void MatmulRun::makeOperands() {
  const MatmulCase &g = given;
  std::mt19937 random(7);
  a = makeMatrix(g.inputType, g.rowMajorA, g.transposeA ? g.k : g.m, g.transposeA ? g.m : g.k,
                 g.gap, g.batch, g.batchGap);
  b = makeMatrix(g.inputType, g.rowMajorB, g.transposeB ? g.n : g.k, g.transposeB ? g.k : g.n,
                 g.gap, g.batch, g.batchGap);
  if (g.broadcastB)
    b.batchStride = 0;
  d = makeMatrix(g.outputType, g.rowMajorD, g.m, g.n, g.gap, g.batch, g.batchGap);
  c = g.isInPlace ? d
                  : makeMatrix(g.outputType, g.rowMajorD, g.m, g.n, g.gap + 8, g.batch, g.batchGap);
  aux = makeMatrix(g.outputType, false, g.m, g.n, (8 - g.m % 8) % 8 + 8, g.batch, 8 * g.batchGap);
  bias =
      makeMatrix(g.outputType, false, g.epilogue == EpilogueBGradB ? g.n : g.m, 1, 0, g.batch, 0);
  if (!g.biasStride)
    bias.batchStride = 0;
  fill(a, random);
  fill(b, random);
  if (g.beta != 0 || g.scalarsOnDevice)
    fill(c, random);
  if (g.epilogue == EpilogueDGelu || g.epilogue == EpilogueDGeluBGrad)
    fill(aux, random);
  if (g.epilogue & EpilogueBias)
    fill(bias, random);
  for (int64_t batch = 0; batch < g.batch; ++batch)
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t j = 0; j < g.n; ++j)
        before.push_back(c.at(i, j, batch));
  auto *scalars = static_cast<float *>(
      allocate(8, g.scalarsOnDevice ? MemoryKind::Device : MemoryKind::PinnedHost));
  scalars[0] = g.alpha;
  scalars[1] = g.beta;
  markValues(scalars, 8);
  alpha = scalars;
  beta = scalars + 1;
  workspaceBytes = g.maxWorkspace;
  if (workspaceBytes)
    workspace = allocate(workspaceBytes, MemoryKind::Device);
}

void MatmulRun::makeDescriptors() {
  const MatmulCase &g = given;
  cublasLtCreate(&handle);
  cublasLtMatmulDescCreate(&matmul, g.compute, TypeF32);
  set(MatmulTransposeA, int32_t(g.transposeA ? TransposeYes : TransposeNo));
  set(MatmulTransposeB, int32_t(g.transposeB ? TransposeYes : TransposeNo));
  set(MatmulPointerMode, int32_t(g.scalarsOnDevice ? PointerModeDevice : PointerModeHost));
  set(MatmulEpilogue, uint32_t(g.epilogue));
  set(MatmulBiasPointer, static_cast<void *>(bias.data));
  set(MatmulBiasBatchStride, bias.batchStride);
  set(MatmulAuxPointer, static_cast<void *>(aux.data));
  set(MatmulAuxLeadingDimension, aux.leadingDimension);
  set(MatmulAuxBatchStride, aux.batchStride);
  aLayout = layoutOf(a);
  bLayout = layoutOf(b);
  cLayout = layoutOf(c);
  dLayout = layoutOf(d);
  cublasLtMatmulPreferenceCreate(&preference);
  set(PreferenceMaxWorkspace, g.maxWorkspace);
}

MatmulRun::~MatmulRun() {
  synchronizeDevice();
  cublasLtDestroy(handle);
  cublasLtMatmulDescDestroy(matmul);
  for (MatrixLayout layout : {aLayout, bLayout, cLayout, dLayout})
    cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulPreferenceDestroy(preference);
  for (DeviceMatrix *matrix : {&a, &b, &d, &aux, &bias})
    release(matrix->data, MemoryKind::Device);
  if (c.data != d.data)
    release(c.data, MemoryKind::Device);
  release(const_cast<void *>(alpha),
          given.scalarsOnDevice ? MemoryKind::Device : MemoryKind::PinnedHost);
  if (given.maxWorkspace)
    release(workspace, MemoryKind::Device);
}

cublaslt::Status MatmulRun::propose() {
  proposals.resize(8);
  int returned = 0;
  cublaslt::Status status =
      cublasLtMatmulAlgoGetHeuristic(handle, matmul, aLayout, bLayout, cLayout, dLayout, preference,
                                     8, proposals.data(), &returned);
  proposals.resize(static_cast<size_t>(returned));
  if (status == StatusSuccess)
    algorithm = &proposals.front().algorithm;
  return status;
}

cublaslt::Status MatmulRun::call() {
  return cublasLtMatmul(handle, matmul, alpha, a.data, aLayout, b.data, bLayout, beta, c.data,
                        cLayout, d.data, dLayout, algorithm, workspace, workspaceBytes, stream);
}

cublaslt::Status MatmulRun::enqueue() {
  cublaslt::Status status = propose();
  return status == StatusSuccess ? call() : status;
}

cublaslt::Status MatmulRun::run() {
  cublaslt::Status status = enqueue();
  synchronizeDevice();
  return status;
}

} // namespace ulsc::simulator::test

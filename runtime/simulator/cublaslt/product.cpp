// Products by oneDNN's sgemm, and epilogues element by element.
#include "simulator/cublaslt/product.h"

#include "core/numeric.h"
#include "simulator/core/report.h"

#include <oneapi/dnnl/dnnl.h>

#include <cmath>
#include <memory>

// Declared here: clang's <omp.h> belongs to another OpenMP library than the one that oneDNN uses.
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int threads);

namespace ulsc::simulator {

namespace {

float load(const void *base, uint32_t type, int64_t index) {
  switch (type) {
  case cublaslt::TypeF32:
    return static_cast<const float *>(base)[index];
  case cublaslt::TypeF16:
    return runtime::f16ToFloat(static_cast<const uint16_t *>(base)[index]);
  default:
    return runtime::bf16ToFloat(static_cast<const uint16_t *>(base)[index]);
  }
}

void store(void *base, uint32_t type, int64_t index, float value) {
  switch (type) {
  case cublaslt::TypeF32:
    static_cast<float *>(base)[index] = value;
    return;
  case cublaslt::TypeF16:
    static_cast<uint16_t *>(base)[index] = runtime::floatToF16(value);
    return;
  default:
    static_cast<uint16_t *>(base)[index] = runtime::floatToBf16(value);
  }
}

const void *inBatch(const Matrix &matrix, const void *base, int64_t b) {
  return static_cast<const char *>(base) + b * matrix.batchStride * matrix.elementBytes();
}

void *inBatch(const Matrix &matrix, void *base, int64_t b) {
  return static_cast<char *>(base) + b * matrix.batchStride * matrix.elementBytes();
}

/// One matrix of a batch as f32: in place, or converted run by run into `storage`.
struct FloatMatrix {
  const float *data;
  int64_t leadingDimension;
  std::unique_ptr<float[]> storage;
};

FloatMatrix toFloats(const Matrix &matrix, const void *base) {
  if (matrix.type == cublaslt::TypeF32)
    return {static_cast<const float *>(base), matrix.leadingDimension, nullptr};
  int64_t length = matrix.runLength();
  std::unique_ptr<float[]> storage(new float[static_cast<size_t>(matrix.runs() * length)]);
  for (int64_t run = 0; run < matrix.runs(); ++run)
    for (int64_t i = 0; i < length; ++i)
      storage[run * length + i] = load(base, matrix.type, run * matrix.leadingDimension + i);
  const float *data = storage.get();
  return {data, length, std::move(storage)};
}

/// oneDNN's threads would split sums in ways that depend on their number.
class OneThread {
public:
  OneThread() : before(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before); }

private:
  int before;
};

/// result[i * n + j] = sum over k of op(A)(i, k) * op(B)(k, j)
void multiplyOne(const Problem &p, const FloatMatrix &a, const FloatMatrix &b, float *result) {
  // A matrix by columns is the transpose of one by rows, which sgemm takes.
  char transposeA = p.transposeA == p.a.isRowMajor ? 'T' : 'N';
  char transposeB = p.transposeB == p.b.isRowMajor ? 'T' : 'N';
  OneThread oneThread;
  dnnl_status_t status = dnnl_sgemm(transposeA, transposeB, p.m, p.n, p.k, 1, a.data,
                                    a.leadingDimension, b.data, b.leadingDimension, 0, result, p.n);
  if (status != dnnl_success)
    endUnsupported(
        text("this product in oneDNN (dnnl_sgemm returns ", static_cast<int>(status), ")"),
        "a product that oneDNN multiplies");
}

constexpr float geluSlope = 0.7978845608028654f; // sqrt(2 / pi)
constexpr float geluCubic = 0.044715f;

float gelu(float x) { return 0.5f * x * (1 + std::tanh(geluSlope * (x + geluCubic * x * x * x))); }

float geluGradient(float x) {
  float t = std::tanh(geluSlope * (x + geluCubic * x * x * x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * geluSlope * (1 + 3 * geluCubic * x * x);
}

/// sums[i] = sum over columns of matrix(i, column), or over rows where `byColumn`.
void sumInto(const Matrix &matrix, const void *base, bool byColumn, uint32_t type, void *sums) {
  int64_t outer = byColumn ? matrix.columns : matrix.rows;
  int64_t inner = byColumn ? matrix.rows : matrix.columns;
  int64_t outerStride = byColumn ? matrix.columnStride() : matrix.rowStride();
  int64_t innerStride = byColumn ? matrix.rowStride() : matrix.columnStride();
  for (int64_t i = 0; i < outer; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < inner; ++j)
      sum += load(base, matrix.type, i * outerStride + j * innerStride);
    store(sums, type, i, sum);
  }
}

/// One matrix of a batch: its bases.
struct Bases {
  const void *c;
  void *d, *aux, *bias;
};

void applyEpilogue(const Problem &p, const Bases &bases, const float *product, float alpha,
                   float beta) {
  const EpilogueSteps &steps = p.epilogue;
  for (int64_t i = 0; i < p.m; ++i) {
    float rowBias = steps.addsBias ? load(bases.bias, p.d.type, i) : 0;
    float rowSum = 0;
    for (int64_t j = 0; j < p.n; ++j) {
      float value = alpha * product[i * p.n + j];
      if (beta != 0)
        value += beta * load(bases.c, p.c.type, i * p.c.rowStride() + j * p.c.columnStride());
      value += rowBias;
      int64_t auxIndex = i * p.aux.rowStride() + j * p.aux.columnStride();
      if (steps.storesAux)
        store(bases.aux, p.aux.type, auxIndex, value);
      if (steps.isRelu)
        value = value < 0 ? 0 : value; // keeps a NaN
      if (steps.isGelu)
        value = gelu(value);
      if (steps.isGeluGradient)
        value *= geluGradient(load(bases.aux, p.aux.type, auxIndex));
      rowSum += value;
      store(bases.d, p.d.type, i * p.d.rowStride() + j * p.d.columnStride(), value);
    }
    if (steps.storesBiasGradient)
      store(bases.bias, p.d.type, i, rowSum);
  }
}

} // namespace

void multiply(const Problem &p, const Operands &operands, float alpha, float beta) {
  std::unique_ptr<float[]> product(new float[static_cast<size_t>(p.m * p.n)]);
  for (int64_t b = 0; b < p.batch; ++b) {
    const void *aBase = inBatch(p.a, operands.a, b), *bBase = inBatch(p.b, operands.b, b);
    multiplyOne(p, toFloats(p.a, aBase), toFloats(p.b, bBase), product.get());
    Bases bases{inBatch(p.c, operands.c, b), inBatch(p.d, operands.d, b),
                p.epilogue.usesAux() ? inBatch(p.aux, p.matmul.aux, b) : nullptr,
                p.epilogue.usesBias() ? static_cast<char *>(p.matmul.bias) +
                                            b * p.matmul.biasBatchStride * p.d.elementBytes()
                                      : nullptr};
    applyEpilogue(p, bases, product.get(), alpha, beta);
    if (p.epilogue.sumsA)
      sumInto(p.a, aBase, p.transposeA, p.d.type, bases.bias);
    if (p.epilogue.sumsB)
      sumInto(p.b, bBase, !p.transposeB, p.d.type, bases.bias);
  }
}

} // namespace ulsc::simulator

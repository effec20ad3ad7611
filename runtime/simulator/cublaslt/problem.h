// A product with everything its descriptors say, once their parts are known to go together.
#ifndef ULSC_RUNTIME_SIMULATOR_CUBLASLT_PROBLEM_H
#define ULSC_RUNTIME_SIMULATOR_CUBLASLT_PROBLEM_H

#include "simulator/cublaslt/descriptors.h"

namespace ulsc::simulator {

/// A matrix as runs of contiguous elements: columns, or rows where the order is by rows.
struct Matrix {
  uint32_t type = 0;
  bool isRowMajor = false;
  int64_t rows = 0, columns = 0;
  int64_t leadingDimension = 0;
  int64_t batch = 1, batchStride = 0;

  int64_t elementBytes() const { return type == cublaslt::TypeF32 ? 4 : 2; }
  int64_t runLength() const { return isRowMajor ? columns : rows; }
  int64_t runs() const { return isRowMajor ? rows : columns; }
  int64_t rowStride() const { return isRowMajor ? leadingDimension : 1; }
  int64_t columnStride() const { return isRowMajor ? 1 : leadingDimension; }
  bool operator==(const Matrix &other) const;
};

/// What an epilogue does, in the order in which it does it.
struct EpilogueSteps {
  bool addsBias = false;
  bool storesAux = false; ///< the value before the activation
  bool isRelu = false, isGelu = false;
  bool isGeluGradient = false;       ///< multiplies by the activation's slope at the aux value
  bool storesBiasGradient = false;   ///< sums of D's rows
  bool sumsA = false, sumsB = false; ///< sums of op(A)'s rows, op(B)'s columns, over k

  bool readsAux() const { return isGeluGradient; }
  bool usesAux() const { return storesAux || isGeluGradient; }
  bool writesBias() const { return storesBiasGradient || sumsA || sumsB; }
  bool usesBias() const { return addsBias || writesBias(); }
};

struct Problem {
  MatmulState matmul;
  Matrix a, b, c, d, aux; // aux is empty without one
  bool transposeA = false, transposeB = false;
  int64_t m = 0, n = 0, k = 0, batch = 1;
  EpilogueSteps epilogue;
  int64_t biasLength = 0; ///< elements of a matrix's bias or bias gradient; of D's type
};

/// Fills in `problem`, or says why the parts don't go together. Layouts may be null.
Outcome makeProblem(const MatmulState &matmul, const LayoutState *a, const LayoutState *b,
                    const LayoutState *c, const LayoutState *d, Problem &problem);

/// "f32 NT 64x32x16 x 2, epilogue 4"
std::string describe(const Problem &problem);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUBLASLT_PROBLEM_H

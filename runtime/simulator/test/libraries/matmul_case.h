// A product through the simulated cuBLASLt as a program would ask for it: operands in device memory
// with gaps, descriptors, a proposal of the heuristic, the call. Tests change one thing and look.
#ifndef ULSC_RUNTIME_SIMULATOR_TEST_LIBRARIES_MATMUL_CASE_H
#define ULSC_RUNTIME_SIMULATOR_TEST_LIBRARIES_MATMUL_CASE_H

#include "cuda/cublaslt_api.h"

#include <string>
#include <vector>

namespace ulsc::cublaslt {
#define ULSC_DECLARE(name, result, parameters) extern "C" result name parameters;
ULSC_CUBLASLT_FUNCTIONS(ULSC_DECLARE)
} // namespace ulsc::cublaslt

extern "C" const char *ulsc_simulator_cublaslt_refusal();

namespace ulsc::simulator::test {

/// Sizes and options of a product; each has a legal default.
struct MatmulCase {
  cublaslt::ComputeType compute = cublaslt::Compute32F;
  cublaslt::DataType inputType = cublaslt::TypeF32, outputType = cublaslt::TypeF32;
  bool transposeA = false, transposeB = false;
  bool rowMajorA = false, rowMajorB = false, rowMajorD = false;
  int64_t m = 16, n = 8, k = 24, batch = 1;
  int64_t gap = 0;              ///< elements between runs
  int64_t batchGap = 0;         ///< elements between matrices
  bool broadcastB = false;      ///< batch stride 0
  bool isInPlace = true;        ///< C is D
  bool scalarsOnDevice = false; ///< alpha and beta
  float alpha = 1, beta = 0;
  cublaslt::Epilogue epilogue = cublaslt::EpilogueDefault;
  int64_t biasStride = 0;
  uint64_t maxWorkspace = 0;
  const cublaslt::Algorithm *algorithm = nullptr; ///< null: the heuristic's first

  std::string name() const;
};

/// A batch of matrices in device memory.
struct DeviceMatrix {
  cublaslt::DataType type = cublaslt::TypeF32;
  bool isRowMajor = false;
  int64_t rows = 0, columns = 0, leadingDimension = 0, batch = 1, batchStride = 0;
  char *data = nullptr;
  int64_t bytes = 0;

  int64_t index(int64_t row, int64_t column, int64_t b) const;
  double at(int64_t row, int64_t column, int64_t b) const;
  void set(int64_t row, int64_t column, int64_t b, double value);
  /// Whether gaps still hold the pattern they were filled with.
  bool gapsAreIntact() const;
};

/// Rounds to the nearest value of the type.
double rounded(cublaslt::DataType type, double value);
/// The largest relative error of one rounding.
double unitOf(cublaslt::DataType type);

class MatmulRun {
public:
  explicit MatmulRun(const MatmulCase &given);
  ~MatmulRun();
  MatmulRun(const MatmulRun &) = delete;

  /// Sets attributes from the members below and asks the heuristic.
  cublaslt::Status propose();
  /// propose(), then the call. Does not synchronise.
  cublaslt::Status enqueue();
  /// enqueue() and a synchronisation.
  cublaslt::Status run();
  /// The call alone, with the members as they are.
  cublaslt::Status call();

  MatmulCase given;
  DeviceMatrix a, b, c, d, aux, bias; // bias: one column per matrix of the batch
  std::vector<double> before;         // of C, batch by batch, rows major

  // What is passed; a test may spoil any of it.
  cublaslt::Handle handle = nullptr;
  cublaslt::Matmul matmul = nullptr;
  cublaslt::MatrixLayout aLayout = nullptr, bLayout = nullptr, cLayout = nullptr, dLayout = nullptr;
  cublaslt::Preference preference = nullptr;
  const void *alpha = nullptr, *beta = nullptr;
  void *workspace = nullptr;
  size_t workspaceBytes = 0;
  cublaslt::Stream stream = nullptr;
  const cublaslt::Algorithm *algorithm = nullptr;
  std::vector<cublaslt::HeuristicResult> proposals;

  template <typename Value>
  cublaslt::Status set(cublaslt::MatmulAttribute attribute, Value value) {
    return cublasLtMatmulDescSetAttribute(matmul, attribute, &value, sizeof(value));
  }
  template <typename Value>
  cublaslt::Status set(cublaslt::MatrixLayout layout, cublaslt::LayoutAttribute attribute,
                       Value value) {
    return cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof(value));
  }
  template <typename Value>
  cublaslt::Status set(cublaslt::PreferenceAttribute attribute, Value value) {
    return cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value));
  }

private:
  void makeOperands();
  void makeDescriptors();
};

} // namespace ulsc::simulator::test

#endif // ULSC_RUNTIME_SIMULATOR_TEST_LIBRARIES_MATMUL_CASE_H

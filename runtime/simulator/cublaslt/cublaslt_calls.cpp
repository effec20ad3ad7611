// libcublasLt.so.13 of the simulated device: the interface's functions.
#include "simulator/core/streams.h"
#include "simulator/cublaslt/descriptors.h"
#include "simulator/cublaslt/matmul_operation.h"

#include "simulator/core/report.h"

#include <algorithm>

namespace ulsc::cublaslt {

// Definitions must have the signatures that the runtime calls.
#define ULSC_DECLARE(name, result, parameters)                                                     \
  extern "C" __attribute__((visibility("default"))) result name parameters;
ULSC_CUBLASLT_FUNCTIONS(ULSC_DECLARE)

using namespace ulsc::simulator;

namespace {

constexpr size_t version = 130100; // 13.1.0

Outcome noDescriptor(const char *kind) { return invalid(text("the ", kind, " is null")); }

Outcome noHandle() { return {StatusNotInitialized, "the handle was not created"}; }

template <typename Descriptor, typename Attribute>
Outcome set(Descriptor descriptor, const char *kind, Attribute attribute, const void *value,
            size_t bytes) {
  auto *state = find(descriptor);
  return state ? setAttribute(*state, attribute, value, bytes) : noDescriptor(kind);
}

template <typename Descriptor, typename Attribute>
Outcome get(Descriptor descriptor, const char *kind, Attribute attribute, void *value, size_t bytes,
            size_t *written) {
  auto *state = find(descriptor);
  return state ? getAttribute(*state, attribute, value, bytes, written) : noDescriptor(kind);
}

Outcome toProblem(Matmul matmul, MatrixLayout a, MatrixLayout b, MatrixLayout c, MatrixLayout d,
                  Problem &problem) {
  MatmulState *state = find(matmul);
  return state ? makeProblem(*state, find(a), find(b), find(c), find(d), problem)
               : noDescriptor("matmul descriptor");
}

Outcome heuristic(Handle handle, Matmul matmul, MatrixLayout a, MatrixLayout b, MatrixLayout c,
                  MatrixLayout d, Preference preference, int requested, HeuristicResult *results,
                  int *returned) {
  if (!isHandle(handle))
    return noHandle();
  if (requested < 1 || !results || !returned)
    return invalid("no results are asked for, or there is no place for them");
  *returned = 0;
  PreferenceState *preferences = find(preference);
  if (!preferences)
    return noDescriptor("preference");
  Problem problem;
  if (Outcome outcome = toProblem(matmul, a, b, c, d, problem); outcome.isRefusal())
    return outcome;
  std::vector<HeuristicResult> proposals = propose(problem, *preferences);
  if (proposals.empty())
    return notSupported(text("no algorithm for ", describe(problem),
                             " works with operands aligned as the preference says"));
  *returned = std::min(requested, static_cast<int>(proposals.size()));
  std::copy_n(proposals.begin(), *returned, results);
  return {};
}

Outcome enqueueProduct(const Operation &operation, Stream stream) {
  auto handle = reinterpret_cast<StreamHandle>(stream);
  if (enqueue(handle, operation) != simulator::Status::Success)
    return {StatusExecutionFailed, "the stream doesn't take the product"};
  return {};
}

} // namespace

Status cublasLtCreate(Handle *handle) {
  if (!handle)
    return answer("cublasLtCreate", invalid("no place for the handle"));
  *handle = createHandle();
  return StatusSuccess;
}

Status cublasLtDestroy(Handle handle) {
  return answer("cublasLtDestroy", destroyHandle(handle) ? Outcome() : noHandle());
}

size_t cublasLtGetVersion() { return version; }

const char *cublasLtGetStatusName(Status status) {
  const char *name = statusName(status);
  return name ? name : "unknown cuBLAS status";
}

const char *cublasLtGetStatusString(Status status) { return cublasLtGetStatusName(status); }

Status cublasLtMatmulDescCreate(Matmul *matmul, ComputeType compute, DataType scale) {
  if (!matmul)
    return answer("cublasLtMatmulDescCreate", invalid("no place for the descriptor"));
  MatmulState state;
  state.compute = static_cast<int32_t>(compute);
  state.scaleType = static_cast<int32_t>(scale);
  *matmul = createMatmul(state);
  return StatusSuccess;
}

Status cublasLtMatmulDescDestroy(Matmul matmul) {
  return answer("cublasLtMatmulDescDestroy",
                destroy(matmul) ? Outcome() : noDescriptor("matmul descriptor"));
}

Status cublasLtMatmulDescSetAttribute(Matmul matmul, MatmulAttribute attribute, const void *value,
                                      size_t bytes) {
  return answer("cublasLtMatmulDescSetAttribute",
                set(matmul, "matmul descriptor", attribute, value, bytes));
}

Status cublasLtMatmulDescGetAttribute(Matmul matmul, MatmulAttribute attribute, void *value,
                                      size_t bytes, size_t *written) {
  return answer("cublasLtMatmulDescGetAttribute",
                get(matmul, "matmul descriptor", attribute, value, bytes, written));
}

Status cublasLtMatrixLayoutCreate(MatrixLayout *layout, DataType type, uint64_t rows,
                                  uint64_t columns, int64_t leadingDimension) {
  if (!layout)
    return answer("cublasLtMatrixLayoutCreate", invalid("no place for the layout"));
  LayoutState state;
  state.type = type;
  state.rows = rows;
  state.columns = columns;
  state.leadingDimension = leadingDimension;
  *layout = createLayout(state);
  return StatusSuccess;
}

Status cublasLtMatrixLayoutDestroy(MatrixLayout layout) {
  return answer("cublasLtMatrixLayoutDestroy",
                destroy(layout) ? Outcome() : noDescriptor("matrix layout"));
}

Status cublasLtMatrixLayoutSetAttribute(MatrixLayout layout, LayoutAttribute attribute,
                                        const void *value, size_t bytes) {
  return answer("cublasLtMatrixLayoutSetAttribute",
                set(layout, "matrix layout", attribute, value, bytes));
}

Status cublasLtMatrixLayoutGetAttribute(MatrixLayout layout, LayoutAttribute attribute, void *value,
                                        size_t bytes, size_t *written) {
  return answer("cublasLtMatrixLayoutGetAttribute",
                get(layout, "matrix layout", attribute, value, bytes, written));
}

Status cublasLtMatmulPreferenceCreate(Preference *preference) {
  if (!preference)
    return answer("cublasLtMatmulPreferenceCreate", invalid("no place for the preference"));
  *preference = createPreference();
  return StatusSuccess;
}

Status cublasLtMatmulPreferenceDestroy(Preference preference) {
  return answer("cublasLtMatmulPreferenceDestroy",
                destroy(preference) ? Outcome() : noDescriptor("preference"));
}

Status cublasLtMatmulPreferenceSetAttribute(Preference preference, PreferenceAttribute attribute,
                                            const void *value, size_t bytes) {
  return answer("cublasLtMatmulPreferenceSetAttribute",
                set(preference, "preference", attribute, value, bytes));
}

Status cublasLtMatmulAlgoGetHeuristic(Handle handle, Matmul matmul, MatrixLayout a, MatrixLayout b,
                                      MatrixLayout c, MatrixLayout d, Preference preference,
                                      int requested, HeuristicResult *results, int *returned) {
  return answer("cublasLtMatmulAlgoGetHeuristic",
                heuristic(handle, matmul, a, b, c, d, preference, requested, results, returned));
}

Status cublasLtMatmul(Handle handle, Matmul matmul, const void *alpha, const void *a,
                      MatrixLayout aLayout, const void *b, MatrixLayout bLayout, const void *beta,
                      const void *c, MatrixLayout cLayout, void *d, MatrixLayout dLayout,
                      const Algorithm *algorithm, void *workspace, size_t workspaceBytes,
                      Stream stream) {
  const char *name = "cublasLtMatmul";
  if (!isHandle(handle))
    return answer(name, noHandle());
  if (!alpha || !beta)
    return answer(name, invalid("alpha or beta is null"));
  Problem problem;
  Operands operands{a, b, c, d, workspace, workspaceBytes};
  Requirements requirements;
  Operation operation;
  Outcome outcome;
  (outcome = toProblem(matmul, aLayout, bLayout, cLayout, dLayout, problem)).isRefusal() ||
      (outcome = requirementsOf(algorithm, problem, operands, requirements)).isRefusal() ||
      (outcome = checkOperands(problem, requirements, operands)).isRefusal() ||
      (outcome = makeOperation(problem, operands, requirements, alpha, beta, operation))
          .isRefusal() ||
      (outcome = enqueueProduct(operation, stream)).isRefusal();
  return answer(name, outcome);
}

} // namespace ulsc::cublaslt

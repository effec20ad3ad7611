// A program as a user of the vendors' libraries writes it: built with their headers and linked
// against their libraries, it runs with the simulated ones. Two ranks each multiply, then add up
// the results.
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    if (auto status = (call); status != 0) {                                                       \
      std::fprintf(stderr, "%s returns %d\n", #call, static_cast<int>(status));                    \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

namespace {

constexpr int size = 48;
constexpr size_t workspaceBytes = 1 << 20;

void *deviceCopy(const std::vector<float> &values, cudaStream_t stream) {
  void *memory = nullptr;
  CHECK(cudaMalloc(&memory, values.size() * sizeof(float)));
  CHECK(cudaMemcpyAsync(memory, values.data(), values.size() * sizeof(float),
                        cudaMemcpyHostToDevice, stream));
  return memory;
}

/// d = a * b, square and by columns.
void multiply(const void *a, const void *b, void *d, cudaStream_t stream) {
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t matmul;
  cublasLtMatrixLayout_t layout;
  cublasLtMatmulPreference_t preference;
  void *workspace = nullptr;
  CHECK(cublasLtCreate(&handle));
  CHECK(cublasLtMatmulDescCreate(&matmul, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  CHECK(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, size, size, size));
  CHECK(cublasLtMatmulPreferenceCreate(&preference));
  CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspaceBytes, sizeof(workspaceBytes)));
  CHECK(cudaMalloc(&workspace, workspaceBytes));
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  CHECK(cublasLtMatmulAlgoGetHeuristic(handle, matmul, layout, layout, layout, layout, preference,
                                       1, &result, &found));
  float one = 1, zero = 0;
  CHECK(cublasLtMatmul(handle, matmul, &one, a, layout, b, layout, &zero, d, layout, d, layout,
                       &result.algo, workspace, workspaceBytes, stream));
  CHECK(cublasLtMatmulPreferenceDestroy(preference));
  CHECK(cublasLtMatrixLayoutDestroy(layout));
  CHECK(cublasLtMatmulDescDestroy(matmul));
  CHECK(cublasLtDestroy(handle));
}

int runRank(int rank, const ncclUniqueId &id) {
  cudaStream_t compute, communication;
  cudaEvent_t event;
  ncclComm_t comm;
  CHECK(cudaSetDevice(0));
  CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&communication, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  CHECK(ncclCommInitRank(&comm, 2, id, rank));
  std::vector<float> ones(size * size, 1), result(size * size);
  std::vector<float> ranks(size * size, static_cast<float>(rank + 1));
  void *a = deviceCopy(ones, compute), *b = deviceCopy(ranks, compute), *d = nullptr;
  CHECK(cudaMalloc(&d, size * size * sizeof(float)));
  CHECK(cudaMemsetAsync(d, 0, size * size * sizeof(float), compute));
  CHECK(cudaStreamSynchronize(compute));
  multiply(a, b, d, compute);
  CHECK(cudaEventRecord(event, compute));
  if (!std::getenv("WITHOUT_EVENT"))
    CHECK(cudaStreamWaitEvent(communication, event, 0));
  CHECK(ncclAllReduce(d, d, size * size, ncclFloat, ncclSum, comm, communication));
  CHECK(cudaMemcpyAsync(result.data(), d, size * size * sizeof(float), cudaMemcpyDeviceToHost,
                        communication));
  CHECK(cudaStreamSynchronize(communication));
  CHECK(cudaStreamSynchronize(compute));
  CHECK(ncclCommDestroy(comm));
  for (float value : result)
    if (value != size * 3) {
      std::fprintf(stderr, "rank %d: %g instead of %d\n", rank, double(value), size * 3);
      return 1;
    }
  return 0;
}

} // namespace

int main() {
  ncclUniqueId id;
  CHECK(ncclGetUniqueId(&id));
  pid_t child = fork();
  int own = runRank(child ? 0 : 1, id);
  if (!child)
    return own;
  int status = 0;
  waitpid(child, &status, 0);
  return own ? own : !WIFEXITED(status) || WEXITSTATUS(status);
}

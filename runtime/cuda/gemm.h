// ulsc_gemm on a CUDA device, by cuBLASLt.
#ifndef ULSC_RUNTIME_CUDA_GEMM_H
#define ULSC_RUNTIME_CUDA_GEMM_H

#include "cuda/cublaslt_api.h"
#include "core/vendor_library.h"
#include "ulsc/RuntimeABI.h"

#include <map>
#include <memory>

namespace ulsc::runtime {

class CudaGemm {
public:
  CudaGemm();
  ~CudaGemm();

  /// Enqueues the product; `input` and `output` are the epilogue's. What the library's heuristic
  /// chose for a descriptor is kept.
  void run(const ulsc_gemm_desc &desc, const void *a, const void *b, void *c, const void *input,
           void *output, void *workspace, cublaslt::Stream stream);

private:
  struct Library;
  /// How one descriptor is multiplied where its buffers are aligned as they are.
  struct Plan;
  using Key = std::pair<const ulsc_gemm_desc *, uint64_t>;
  Plan &planOf(const ulsc_gemm_desc &desc, const void *a, const void *b, const void *c,
               const void *input, const void *output);

  std::unique_ptr<Library> library;
  cublaslt::Handle handle = nullptr;
  std::map<Key, std::unique_ptr<Plan>> plans;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_GEMM_H

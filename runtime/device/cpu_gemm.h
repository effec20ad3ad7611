// ulsc_gemm on the CPU: a oneDNN matmul primitive where one fits the operands as they lie,
// otherwise tiles that are converted through the workspace and multiplied in f32.
#ifndef ULSC_RUNTIME_DEVICE_CPU_GEMM_H
#define ULSC_RUNTIME_DEVICE_CPU_GEMM_H

#include "ulsc/RuntimeABI.h"

#include <memory>

namespace ulsc::runtime {

class CpuGemm {
public:
  explicit CpuGemm(int threads);
  ~CpuGemm();

  void run(const ulsc_gemm_desc &desc, const void *a, const void *b, void *c, void *workspace);

private:
  struct Cache;
  int threads;
  bool nativeBf16; // the CPU multiplies bf16 at least as fast as f32
  std::unique_ptr<Cache> cache;
};

/// The tiled path: any strides and dtypes, within `workspaceBytes` (at least 64 KiB are used; a
/// smaller workspace is replaced by a static one). `desc.c_n` or nothing needs to be 1.
void runTiledGemm(const ulsc_gemm_desc &desc, const void *a, const void *b, void *c,
                  void *workspace, int threads);

/// Row-major f32 c = alpha * op(a) * op(b) + beta * c by oneDNN, on all threads of the pool, or on
/// the calling one inside a parallel region.
void sgemm(bool transposeA, bool transposeB, int64_t m, int64_t n, int64_t k, float alpha,
           const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
           int64_t ldc);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_DEVICE_CPU_GEMM_H

// The CPU backend: one process per rank, kernels on the rank's thread pool, GEMMs through oneDNN.
#include "core/error.h"
#include "device/cpu_gemm.h"
#include "device/device.h"
#include "device/thread_pool.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace ulsc::runtime {

namespace {

constexpr int64_t hugePage = int64_t(2) << 20;

class CpuDevice final : public Device {
public:
  explicit CpuDevice(int threadCount) : threadCount(threadCount), gemmEngine(threadCount) {
    configureThreads(threadCount);
  }

  char *allocateArena(int64_t bytes) override {
    // One mapping with room to align; the ends outside the arena go back at once.
    int64_t size = (bytes + hugePage - 1) / hugePage * hugePage;
    size = size ? size : hugePage;
    char *raw = static_cast<char *>(mmap(nullptr, size + hugePage, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (raw == MAP_FAILED)
      raise("can't map the arena of ", bytes, " bytes: ", std::strerror(errno),
            "; compile for more devices, a smaller micro-batch or with --recompute");
    int64_t head = (hugePage - reinterpret_cast<uintptr_t>(raw) % hugePage) % hugePage;
    if (head)
      munmap(raw, head);
    if (hugePage - head)
      munmap(raw + head + size, hugePage - head);
    madvise(raw + head, size, MADV_HUGEPAGE);
    return raw + head;
  }

  void launch(ulsc_context *context, ulsc_kernel kernel, void *const *arguments, int64_t extent,
              int64_t grain) override {
    parallelFor(threadCount, extent, grain, [&](int64_t begin, int64_t end, int64_t thread) {
      kernel(context, arguments, begin, end, thread);
    });
  }

  void gemm(const ulsc_gemm_desc &desc, const void *a, const void *b, void *c,
            void *workspace) override {
    gemmEngine.run(desc, a, b, c, workspace);
  }

  void synchronize() override {} // calls return when their work is done
  int threads() const override { return threadCount; }

private:
  int threadCount;
  CpuGemm gemmEngine;
};

} // namespace

std::unique_ptr<Device> createCpuDevice(int threads) {
  return std::make_unique<CpuDevice>(threads);
}

} // namespace ulsc::runtime

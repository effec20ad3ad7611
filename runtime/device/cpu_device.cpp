// The CPU backend: one process per rank, kernels on the rank's thread pool, GEMMs through oneDNN.
#include "core/error.h"
#include "device/cpu_gemm.h"
#include "device/device.h"
#include "device/thread_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ulsc::runtime {

namespace {

constexpr int64_t page = 4096;
constexpr int64_t hugePage = int64_t(2) << 20;

class CpuDevice final : public Device {
public:
  explicit CpuDevice(int threadCount) : threadCount(threadCount), gemmEngine(threadCount) {
    configureThreads(threadCount);
  }

  char *allocateArena(int64_t bytes) override {
    // Addresses with room to align are only reserved; the arena itself is one mapping of its exact
    // size.
    int64_t size = std::max<int64_t>((bytes + page - 1) / page * page, page);
    int64_t room = (size + hugePage - 1) / hugePage * hugePage + hugePage;
    char *raw = static_cast<char *>(
        mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (raw == MAP_FAILED)
      refuse(bytes);
    int64_t head = (hugePage - reinterpret_cast<uintptr_t>(raw) % hugePage) % hugePage;
    char *arena = raw + head;
    if (head)
      munmap(raw, head);
    munmap(arena + size, room - head - size);
    if (mmap(arena, size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
      refuse(bytes);
    madvise(arena, size, MADV_HUGEPAGE);
    arenaView = DirectArenaView(arena);
    return arena;
  }

  ArenaView &view() override { return arenaView; }
  WorkClock &clock() override { return hostClock; }

  Collectives &collectives(Communicator &) override {
    if (!stepCollectives)
      stepCollectives = createMpiCollectives();
    return *stepCollectives;
  }

  void launch(ulsc_context *context, ulsc_kernel kernel, void *const *arguments, int64_t extent,
              int64_t grain) override {
    parallelFor(threadCount, extent, grain, [&](int64_t begin, int64_t end, int64_t thread) {
      kernel(context, arguments, begin, end, thread);
    });
  }

  void gemm(const ulsc_gemm_desc &desc, const void *a, const void *b, void *c, const void *, void *,
            void *workspace) override {
    if (desc.epilogue != ULSC_EPILOGUE_NONE)
      raise("the program multiplies with epilogue ", desc.epilogue, ", which the cpu has none of");
    gemmEngine.run(desc, a, b, c, workspace);
  }

  void attention(const ulsc_attention_desc &desc, const void *, const void *, const void *, void *,
                 void *, void *) override {
    raise(desc.name, " is left to a library, which the cpu has none of");
  }
  void attentionGrad(const ulsc_attention_desc &desc, const void *, const void *, const void *,
                     const void *, const void *, const void *, void *, void *, void *,
                     void *) override {
    raise(desc.name, " is left to a library, which the cpu has none of");
  }

  // Calls return when their work is done.
  char *deviceControl(ulsc_control &control) override { return reinterpret_cast<char *>(&control); }
  const float *placeScales(const std::vector<float> &scales) override { return scales.data(); }
  void beginStep(const ulsc_control &) override { hostClock.begin(); }
  void endStep(ulsc_control &) override {}

  void copy(void *target, const void *source, int64_t bytes) override {
    std::memmove(target, source, static_cast<size_t>(bytes));
  }

  void fill(void *target, uint32_t value, int32_t elementBytes, int64_t count) override {
    char *bytes = static_cast<char *>(target);
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(bytes + i * elementBytes, &value, static_cast<size_t>(elementBytes));
  }

  int threads() const override { return threadCount; }

private:
  [[noreturn]] static void refuse(int64_t bytes) {
    raise("can't map the arena of ", bytes, " bytes: ", std::strerror(errno),
          "; compile for more devices, a smaller micro-batch or with --recompute");
  }

  int threadCount;
  DirectArenaView arenaView;
  HostClock hostClock;
  CpuGemm gemmEngine;
  std::unique_ptr<Collectives> stepCollectives;
};

} // namespace

std::unique_ptr<Device> createCpuDevice(int threads) {
  return std::make_unique<CpuDevice>(threads);
}

} // namespace ulsc::runtime

// The host's way to an arena in the memory of a GPU: through pinned memory, piece by piece.
#ifndef ULSC_RUNTIME_CUDA_ARENA_VIEW_H
#define ULSC_RUNTIME_CUDA_ARENA_VIEW_H

#include "cuda/driver.h"
#include "device/arena_view.h"

#include <vector>

namespace ulsc::runtime {

class CudaArenaView final : public ArenaView {
public:
  /// Copies are enqueued on `stream`, behind what computes there.
  CudaArenaView(const CudaDriver &driver, cuda::Stream stream, cuda::DevicePointer arena);
  ~CudaArenaView() override;

  const char *read(int64_t offset, int64_t bytes) override;
  char *edit(int64_t offset, int64_t bytes) override;
  char *write(int64_t offset, int64_t bytes) override;
  void flush() override;

private:
  char *hostOf(int64_t bytes);
  void fetch(char *host, int64_t offset, int64_t bytes);

  const CudaDriver &driver;
  cuda::Stream stream;
  cuda::DevicePointer arena;
  char *pinned = nullptr;
  /// What does not fit in the pinned piece; it goes through it.
  std::vector<char> large;
  int64_t pendingOffset = 0, pendingBytes = 0;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_ARENA_VIEW_H

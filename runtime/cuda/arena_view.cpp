#include "cuda/arena_view.h"

#include <algorithm>
#include <cstring>

namespace ulsc::runtime {

static constexpr int64_t pieceBytes = int64_t(32) << 20;

CudaArenaView::CudaArenaView(const CudaDriver &driver, cuda::Stream stream,
                             cuda::DevicePointer arena)
    : driver(driver), stream(stream), arena(arena) {
  void *memory = nullptr;
  driver.check(driver.cuMemAllocHost_v2(&memory, pieceBytes), "cuMemAllocHost");
  pinned = static_cast<char *>(memory);
}

CudaArenaView::~CudaArenaView() { driver.cuMemFreeHost(pinned); }

char *CudaArenaView::hostOf(int64_t bytes) {
  if (bytes <= pieceBytes)
    return pinned;
  large.resize(static_cast<size_t>(bytes));
  return large.data();
}

/// Calls `body` with each piece's place and size.
template <typename Body>
static void forPieces(int64_t bytes, Body body) {
  for (int64_t begin = 0; begin < bytes; begin += pieceBytes)
    body(begin, std::min(pieceBytes, bytes - begin));
}

void CudaArenaView::fetch(char *host, int64_t offset, int64_t bytes) {
  driver.announce("what the host reads of the arena");
  forPieces(bytes, [&](int64_t begin, int64_t size) {
    driver.check(driver.cuMemcpyDtoHAsync_v2(pinned, arena + offset + begin,
                                             static_cast<size_t>(size), stream),
                 "cuMemcpyDtoHAsync");
    driver.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
    if (host != pinned)
      std::memcpy(host + begin, pinned, static_cast<size_t>(size));
  });
}

const char *CudaArenaView::read(int64_t offset, int64_t bytes) {
  flush();
  char *host = hostOf(bytes);
  fetch(host, offset, bytes);
  return host;
}

char *CudaArenaView::edit(int64_t offset, int64_t bytes) {
  flush();
  char *host = hostOf(bytes);
  fetch(host, offset, bytes);
  pendingOffset = offset;
  pendingBytes = bytes;
  return host;
}

char *CudaArenaView::write(int64_t offset, int64_t bytes) {
  flush();
  pendingOffset = offset;
  pendingBytes = bytes;
  return hostOf(bytes);
}

void CudaArenaView::flush() {
  int64_t bytes = pendingBytes;
  pendingBytes = 0;
  char *host = bytes <= pieceBytes ? pinned : large.data();
  driver.announce("what the host writes to the arena");
  forPieces(bytes, [&](int64_t begin, int64_t size) {
    if (host != pinned)
      std::memcpy(pinned, host + begin, static_cast<size_t>(size));
    driver.check(driver.cuMemcpyHtoDAsync_v2(arena + pendingOffset + begin, pinned,
                                             static_cast<size_t>(size), stream),
                 "cuMemcpyHtoDAsync");
    // The piece is free again.
    driver.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
  });
}

} // namespace ulsc::runtime

// Allocations, copies and fills.
#include "simulator/core/memory.h"

#include "simulator/core/address_space.h"
#include "simulator/core/races.h"
#include "simulator/core/report.h"
#include "simulator/core/settings.h"
#include "simulator/driver/driver.h"

#include <cstring>

namespace ulsc::simulator::driver {

namespace {

const void *pointerOf(cuda::DevicePointer pointer) {
  return reinterpret_cast<const void *>(pointer);
}
void *writableOf(cuda::DevicePointer pointer) { return reinterpret_cast<void *>(pointer); }

/// Device or pinned host memory, live or not: checked when the operation runs.
bool isManaged(const void *pointer) { return addressSpace().contains(uint64_t(pointer)); }

uint64_t hashOf(const void *begin, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto *at = static_cast<const uint8_t *>(begin);
  for (; bytes >= 8; bytes -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * 0x100000001b3u;
    hash ^= hash >> 29;
  }
  for (; bytes; --bytes, ++at)
    hash = (hash ^ *at) * 0x100000001b3u;
  return hash;
}

/// A copy from pinned memory reads it when it runs. What the host wrote there meanwhile is a race,
/// unless an operation of the device wrote it.
std::function<void()> copyFromPinned(void *target, const void *source, size_t bytes) {
  uint64_t before = hashOf(source, bytes);
  uint32_t enqueued = operationsRun();
  return [=] {
    if (hashOf(source, bytes) != before && !isWrittenSince(source, int64_t(bytes), enqueued))
      report(
          {"host-race",
           "the host changed pinned memory before the copy that was enqueued had read it",
           {{"operation", currentOperation()}, {"source", describeAddress(uint64_t(source))}},
           "waiting for the copy (its stream or an event after it) before the memory is written"});
    std::memcpy(target, source, bytes);
  };
}

Result copyToDevice(void *target, const void *source, size_t bytes, StreamHandle stream,
                    const char *name) {
  Operation operation;
  operation.name = callName(name);
  operation.writes = {{target, int64_t(bytes)}};
  if (isManaged(source)) {
    operation.reads = {{source, int64_t(bytes)}};
    if (isPinnedHost(source) && settings().findsRaces && !isCapturing(stream))
      operation.run = copyFromPinned(target, source, bytes);
    else
      operation.run = [=] { std::memcpy(target, source, bytes); };
  } else if (isCapturing(stream)) {
    operation.run = [=] { std::memcpy(target, source, bytes); };
  } else { // pageable memory is staged before the call returns
    auto staged = std::make_shared<std::vector<char>>(static_cast<const char *>(source),
                                                      static_cast<const char *>(source) + bytes);
    operation.run = [=] { std::memcpy(target, staged->data(), bytes); };
  }
  return resultOf(enqueue(stream, std::move(operation)));
}

Result copyToHost(void *target, const void *source, size_t bytes, StreamHandle stream,
                  const char *name) {
  Operation operation;
  operation.name = callName(name);
  operation.reads = {{source, int64_t(bytes)}};
  if (isManaged(target))
    operation.writes = {{target, int64_t(bytes)}};
  operation.run = [=] { std::memcpy(target, source, bytes); };
  bool isLazy = isManaged(target) || isCapturing(stream);
  Result result = resultOf(enqueue(stream, std::move(operation)));
  if (result != cuda::Success || isLazy)
    return result;
  return resultOf(synchronizeStream(stream)); // a copy to pageable memory returns when it is done
}

Result copyInDevice(void *target, const void *source, size_t bytes, StreamHandle stream,
                    const char *name) {
  Operation operation;
  operation.name = callName(name);
  operation.reads = {{source, int64_t(bytes)}};
  operation.writes = {{target, int64_t(bytes)}};
  operation.requiresValues = false;
  operation.run = [=] { copyWithValues(target, source, int64_t(bytes)); };
  return resultOf(enqueue(stream, std::move(operation)));
}

Result copyAny(void *target, const void *source, size_t bytes, StreamHandle stream,
               const char *name) {
  bool toDevice = isManaged(target), fromDevice = isManaged(source);
  if (toDevice && fromDevice && !isPinnedHost(source) && !isPinnedHost(target))
    return copyInDevice(target, source, bytes, stream, name);
  if (toDevice && !isPinnedHost(target))
    return copyToDevice(target, source, bytes, stream, name);
  if (fromDevice)
    return copyToHost(target, source, bytes, stream, name);
  if (toDevice)
    return copyToDevice(target, source, bytes, stream, name);
  Operation operation; // host to host
  operation.name = callName(name);
  operation.run = [=] { std::memcpy(target, source, bytes); };
  Result result = resultOf(enqueue(stream, std::move(operation)));
  return result == cuda::Success ? resultOf(synchronizeStream(stream)) : result;
}

using Copy = Result (*)(void *, const void *, size_t, StreamHandle, const char *);

Result start(Copy copy, void *target, const void *source, size_t bytes, cuda::Stream stream,
             const char *name) {
  if (Result result = checkContext(); result != cuda::Success)
    return result;
  if (!isStream(streamOf(stream)))
    return cuda::InvalidHandle;
  if (bytes == 0)
    return cuda::Success;
  if (!target || !source)
    return cuda::InvalidValue;
  return copy(target, source, bytes, streamOf(stream), name);
}

/// The calls without a stream run in the legacy stream and return when they are done.
Result startAndWait(Copy copy, void *target, const void *source, size_t bytes, const char *name) {
  Result result = start(copy, target, source, bytes, nullptr, name);
  return result == cuda::Success ? resultOf(synchronizeStream(nullptr)) : result;
}

Result fill(cuda::DevicePointer pointer, uint32_t value, size_t width, size_t count,
            cuda::Stream stream, const char *name) {
  if (Result result = checkContext(); result != cuda::Success)
    return result;
  if (!pointer || pointer % width)
    return cuda::InvalidValue;
  if (count == 0)
    return cuda::Success;
  auto *target = static_cast<char *>(writableOf(pointer));
  Operation operation;
  operation.name = callName(name);
  operation.writes = {{target, int64_t(width * count)}};
  operation.run = [=] {
    if (width == 1)
      std::memset(target, int(value & 0xff), count);
    else
      for (size_t i = 0; i < count; ++i)
        std::memcpy(target + i * width, &value, width);
  };
  return resultOf(enqueue(streamOf(stream), std::move(operation)));
}

Result allocateInto(void **result, size_t bytes, MemoryKind kind) {
  if (Result status = checkContext(); status != cuda::Success)
    return status;
  if (Status status = refuseInCapture(); status != Status::Success)
    return resultOf(status);
  if (!result || bytes == 0)
    return cuda::InvalidValue;
  *result = allocate(bytes, kind);
  return *result ? cuda::Success : cuda::OutOfMemory;
}

/// Freeing waits for all work, as the driver does.
Result releaseAll(void *pointer, MemoryKind kind) {
  if (!pointer)
    return cuda::Success;
  if (Status status = synchronizeDevice(); status != Status::Success)
    return resultOf(status);
  return release(pointer, kind) ? cuda::Success : cuda::InvalidValue;
}

} // namespace

} // namespace ulsc::simulator::driver

using namespace ulsc;
using namespace ulsc::simulator;
using namespace ulsc::simulator::driver;

ULSC_EXPORT Result cuMemAlloc_v2(cuda::DevicePointer *pointer, size_t bytes) {
  return allocateInto(reinterpret_cast<void **>(pointer), bytes, MemoryKind::Device);
}
ULSC_EXPORT Result cuMemFree_v2(cuda::DevicePointer pointer) {
  return releaseAll(writableOf(pointer), MemoryKind::Device);
}
ULSC_EXPORT Result cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  constexpr unsigned known =
      cuda::HostAllocPortable | cuda::HostAllocDeviceMap | cuda::HostAllocWriteCombined;
  if (flags & ~known)
    return cuda::InvalidValue;
  return allocateInto(pointer, bytes, MemoryKind::PinnedHost);
}
ULSC_EXPORT Result cuMemAllocHost_v2(void **pointer, size_t bytes) {
  return allocateInto(pointer, bytes, MemoryKind::PinnedHost);
}
ULSC_EXPORT Result cuMemFreeHost(void *pointer) {
  return releaseAll(pointer, MemoryKind::PinnedHost);
}
ULSC_EXPORT Result cuMemGetInfo_v2(size_t *free, size_t *total) {
  if (Result result = checkContext(); result != cuda::Success)
    return result;
  if (free)
    *free = deviceMemoryFree();
  if (total)
    *total = deviceMemoryTotal();
  return cuda::Success;
}

ULSC_EXPORT Result cuMemcpyHtoDAsync_v2(cuda::DevicePointer target, const void *source,
                                        size_t bytes, cuda::Stream stream) {
  return start(copyToDevice, writableOf(target), source, bytes, stream, "cuMemcpyHtoDAsync");
}
ULSC_EXPORT Result cuMemcpyDtoHAsync_v2(void *target, cuda::DevicePointer source, size_t bytes,
                                        cuda::Stream stream) {
  return start(copyToHost, target, pointerOf(source), bytes, stream, "cuMemcpyDtoHAsync");
}
ULSC_EXPORT Result cuMemcpyDtoDAsync_v2(cuda::DevicePointer target, cuda::DevicePointer source,
                                        size_t bytes, cuda::Stream stream) {
  return start(copyInDevice, writableOf(target), pointerOf(source), bytes, stream,
               "cuMemcpyDtoDAsync");
}
ULSC_EXPORT Result cuMemcpyAsync(cuda::DevicePointer target, cuda::DevicePointer source,
                                 size_t bytes, cuda::Stream stream) {
  return start(copyAny, writableOf(target), pointerOf(source), bytes, stream, "cuMemcpyAsync");
}
ULSC_EXPORT Result cuMemcpy(cuda::DevicePointer target, cuda::DevicePointer source, size_t bytes) {
  return startAndWait(copyAny, writableOf(target), pointerOf(source), bytes, "cuMemcpy");
}
ULSC_EXPORT Result cuMemcpyHtoD_v2(cuda::DevicePointer target, const void *source, size_t bytes) {
  return startAndWait(copyToDevice, writableOf(target), source, bytes, "cuMemcpyHtoD");
}
ULSC_EXPORT Result cuMemcpyDtoH_v2(void *target, cuda::DevicePointer source, size_t bytes) {
  return startAndWait(copyToHost, target, pointerOf(source), bytes, "cuMemcpyDtoH");
}
ULSC_EXPORT Result cuMemcpyDtoD_v2(cuda::DevicePointer target, cuda::DevicePointer source,
                                   size_t bytes) {
  return startAndWait(copyInDevice, writableOf(target), pointerOf(source), bytes, "cuMemcpyDtoD");
}

ULSC_EXPORT Result cuMemsetD8Async(cuda::DevicePointer pointer, unsigned char value, size_t count,
                                   cuda::Stream stream) {
  return fill(pointer, value, 1, count, stream, "cuMemsetD8Async");
}
ULSC_EXPORT Result cuMemsetD16Async(cuda::DevicePointer pointer, unsigned short value, size_t count,
                                    cuda::Stream stream) {
  return fill(pointer, value, 2, count, stream, "cuMemsetD16Async");
}
ULSC_EXPORT Result cuMemsetD32Async(cuda::DevicePointer pointer, unsigned value, size_t count,
                                    cuda::Stream stream) {
  return fill(pointer, value, 4, count, stream, "cuMemsetD32Async");
}
ULSC_EXPORT Result cuMemsetD8_v2(cuda::DevicePointer pointer, unsigned char value, size_t count) {
  return fill(pointer, value, 1, count, nullptr, "cuMemsetD8");
}
ULSC_EXPORT Result cuMemsetD32_v2(cuda::DevicePointer pointer, unsigned value, size_t count) {
  return fill(pointer, value, 4, count, nullptr, "cuMemsetD32");
}

// What only the simulated device has; the runtime finds these by name.

ULSC_EXPORT void ulsc_simulator_set_source(const char *source) { setSource(source); }

ULSC_EXPORT void ulsc_simulator_forget(void *pointer, size_t bytes, cuda::Stream stream) {
  Operation operation;
  operation.name = "end of a buffer";
  operation.run = [=] {
    checkBounds(pointer, int64_t(bytes), "ends");
    touchRange(pointer, int64_t(bytes), true); // who still uses it races with its next owner
    forgetValues(pointer, int64_t(bytes));
  };
  if (bytes)
    enqueue(streamOf(stream), std::move(operation));
}

// Memory of the simulated device: allocations, and for every byte whether it holds a value. Device
// and pinned host memory lie in one reserved range of this process, so that a device pointer can be
// read directly once it has been checked.
#ifndef ULSC_RUNTIME_SIMULATOR_CORE_MEMORY_H
#define ULSC_RUNTIME_SIMULATOR_CORE_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace ulsc::simulator {

class Stream;

enum class MemoryKind : uint8_t { Device, PinnedHost, Variable, Constant };

struct Allocation {
  uint64_t begin = 0;
  uint64_t bytes = 0;
  MemoryKind kind = MemoryKind::Device;
  bool isFreed = false;
  std::string name; ///< "allocation 7 of 4096 bytes", "variable 'table'"
};

/// Null where the device's memory (ULSC_SIMULATOR_MEMORY) doesn't suffice. Aligned to 256 bytes,
/// never adjacent to another allocation, holding no values (pinned host memory: values).
void *allocate(size_t bytes, MemoryKind kind, const std::string &name = "");
/// False where `pointer` is not the begin of a live allocation of one of these kinds. The caller
/// has synchronised the device.
bool release(void *pointer, MemoryKind kind);
size_t deviceMemoryTotal();
size_t deviceMemoryFree();

/// The allocation that holds the byte, live or freed; null for anything else, such as host memory.
const Allocation *findAllocation(const void *pointer);
/// Device memory, or pinned host memory, and live.
bool isDeviceMemory(const void *pointer);
bool isPinnedHost(const void *pointer);

/// "0x7f… = byte 12 of allocation 7 of 4096 bytes", or what lies near a bad address.
std::string describeAddress(uint64_t address);

/// Reports if one of the bytes is outside a live allocation. `what` names the access: "reads the
/// operand A". Called by enqueue's machinery for the ranges of an operation.
void checkBounds(const void *begin, int64_t bytes, const char *what);
/// Reports if one of the bytes holds no value.
void checkValues(const void *begin, int64_t bytes, const char *what);
void markValues(const void *begin, int64_t bytes);
void forgetValues(const void *begin, int64_t bytes);
/// Who declared the byte's buffer dead, to add to a report; empty if nobody did.
std::string describeEnd(uint64_t address);
/// Copies bytes with "holds a value" from one place of the device to another.
void copyWithValues(void *target, const void *source, int64_t bytes);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CORE_MEMORY_H

// The reserved addresses of device memory and the shadows beside them, reached by one subtraction.
// Internal to the simulator: the hot loops of kernels read it directly.
#ifndef ULSC_RUNTIME_SIMULATOR_CORE_ADDRESS_SPACE_H
#define ULSC_RUNTIME_SIMULATOR_CORE_ADDRESS_SPACE_H

#include <cstdint>

namespace ulsc::simulator {

/// Who touched 16 bytes last, for races between operations. Operations are numbers of the log, 0
/// for none; masks have a bit per byte. More readers or writers hang in a list of RaceNodes.
struct Granule {
  uint32_t writer = 0, reader = 0;
  uint16_t writeMask = 0, readMask = 0;
  uint32_t more = 0;
};

/// Who touched a few bytes last inside a launch: see ptx/launch_races.h.
struct LaunchCell {
  uint64_t writer = 0, reader = 0, otherReader = 0;
};

struct AddressSpace {
  uint64_t base = 0, bytes = 0;
  uint8_t *values = nullptr;   ///< A bit per byte: whether it holds a value.
  uint32_t *owner = nullptr;   ///< Per 256 bytes the number of the allocation plus one; 0: none.
  Granule *granules = nullptr; ///< Per 16 bytes.
  LaunchCell *launchCells = nullptr; ///< Up to one per byte.

  bool contains(uint64_t address) const { return address - base < bytes; }
};

constexpr uint64_t ownerBytes = 256, granuleBytes = 16;

/// Reserved at the first call.
const AddressSpace &addressSpace();
/// Gives the memory of the launch cells back, which also clears them.
void dropLaunchCells();

/// True if all `bytes` from `offset` hold values; bytes is 1, 2, 4, 8, 16 or 32 and divides offset.
inline bool holdsValues(const uint8_t *values, uint64_t offset, uint32_t bytes) {
  if (bytes < 8) {
    uint32_t mask = (1u << bytes) - 1;
    return ((values[offset >> 3] >> (offset & 7)) & mask) == mask;
  }
  for (uint32_t i = 0; i < bytes / 8; ++i)
    if (values[(offset >> 3) + i] != 0xff)
      return false;
  return true;
}

/// Marks the bytes as holding values; same limits.
inline void setValues(uint8_t *values, uint64_t offset, uint32_t bytes) {
  if (bytes < 8) {
    values[offset >> 3] |= uint8_t(((1u << bytes) - 1) << (offset & 7));
    return;
  }
  for (uint32_t i = 0; i < bytes / 8; ++i)
    values[(offset >> 3) + i] = 0xff;
}

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CORE_ADDRESS_SPACE_H

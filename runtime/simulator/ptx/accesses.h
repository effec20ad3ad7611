// Checked accesses of threads to memory: alignment, bounds, values, constants and races, and where
// the bytes lie in this process.
#ifndef ULSC_RUNTIME_SIMULATOR_PTX_ACCESSES_H
#define ULSC_RUNTIME_SIMULATOR_PTX_ACCESSES_H

#include "simulator/core/races.h"
#include "simulator/ptx/launch_races.h"
#include "simulator/ptx/warp.h"

namespace ulsc::simulator::ptx {

enum class AccessKind : uint8_t { Read, Write, Atomic };

/// The bytes of an access of one lane, after all checks; `bytes` is a power of two up to 32.
/// Reports what is wrong. Bytes written count as holding values from here on.
uint8_t *access(Warp &warp, const Instruction &in, uint32_t lane, Space space, uint64_t address,
                uint32_t bytes, AccessKind kind);

/// The same for all 32 lanes at once where they touch neighbouring bytes of global memory in order;
/// null where they don't, or where something needs the closer look of access().
uint8_t *accessInOrder(Warp &warp, const Instruction &in, const uint64_t *addresses, uint32_t bytes,
                       AccessKind kind);

/// Addresses of an instruction's operand in the lanes of exec.
inline void addressesOf(const Warp &warp, const Instruction &in, uint64_t *addresses) {
  auto offset = uint64_t(in.offset);
  if (in.isNegated) {
    const auto *base = warp.read<uint32_t>(in.source[0]);
    for (uint32_t lane = 0; lane < warpLanes; ++lane)
      addresses[lane] = uint32_t(base[lane] + offset);
    return;
  }
  const auto *base = warp.read<uint64_t>(in.source[0]);
  for (uint32_t lane = 0; lane < warpLanes; ++lane)
    addresses[lane] = base[lane] + offset;
}

} // namespace ulsc::simulator::ptx

#endif // ULSC_RUNTIME_SIMULATOR_PTX_ACCESSES_H

// Races between threads of one launch, found when they happen in any order: for every few bytes
// (as many as the kernel's narrowest access has) the last writer and the last two readers, and
// clocks of warps that barriers advance.
#ifndef ULSC_RUNTIME_SIMULATOR_PTX_LAUNCH_RACES_H
#define ULSC_RUNTIME_SIMULATOR_PTX_LAUNCH_RACES_H

#include "simulator/ptx/warp.h"

namespace ulsc::simulator::ptx {

// A record of an access: whether it is atomic, volatile or otherwise strong (bit 2), lane (3 to 7),
// instruction (8 to 31), segment (32 to 63). Segments are
// never used twice, so records of earlier launches and blocks need not be cleared.

inline uint64_t makeRecord(const Warp &warp, uint32_t lane, bool isStrong) {
  return uint64_t(warp.segment) << 32 | uint64_t(warp.pc) << 8 | lane << 3 |
         uint32_t(isStrong) << 2;
}

/// Whether what the record says happened before what the lane of `warp` does now.
bool isOrderedBefore(const Warp &warp, uint32_t lane, uint64_t record);
[[noreturn]] void reportLaunchRace(const Warp &warp, uint32_t lane, uint64_t record,
                                   bool otherWrites, bool isWrite, const std::string &address);

inline bool mayConflict(uint64_t record, uint64_t mine, uint32_t firstSegment) {
  constexpr uint64_t thread = 0xffffffff000000f8u;
  return uint32_t(record >> 32) >= firstSegment && ((record ^ mine) & thread) != 0 &&
         (record & mine & 4) == 0;
}

/// Which of a cell's records conflicts with mine; null if none does.
inline const uint64_t *conflictOf(const Warp &warp, uint32_t lane, const LaunchCell &cell,
                                  uint64_t mine, bool isWrite, uint32_t firstSegment) {
  auto conflicts = [&](uint64_t record) {
    return mayConflict(record, mine, firstSegment) && !isOrderedBefore(warp, lane, record);
  };
  if (conflicts(cell.writer))
    return &cell.writer;
  if (isWrite && conflicts(cell.reader))
    return &cell.reader;
  return isWrite && conflicts(cell.otherReader) ? &cell.otherReader : nullptr;
}

inline void recordAccess(LaunchCell &cell, uint64_t mine, bool isWrite) {
  constexpr uint64_t thread = 0xffffffff000000f8u;
  if (isWrite) {
    cell.writer = mine;
    return;
  }
  if (((cell.reader ^ mine) & thread) != 0)
    cell.otherReader = cell.reader;
  cell.reader = mine;
}

/// Before a launch: begins to count segments again where half of the numbers are used up.
void reuseSegments();
/// A new segment of the warp, after a synchronisation; the first one when the warp starts.
void beginSegment(Warp &warp);
/// bar.warp.sync of these lanes.
void syncLanes(Warp &warp, uint32_t lanes);

} // namespace ulsc::simulator::ptx

#endif // ULSC_RUNTIME_SIMULATOR_PTX_LAUNCH_RACES_H

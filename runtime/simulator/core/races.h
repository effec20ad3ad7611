// Races between operations: for every 16 bytes, who wrote and read them last, compared by the
// vector clocks of streams.
#ifndef ULSC_RUNTIME_SIMULATOR_CORE_RACES_H
#define ULSC_RUNTIME_SIMULATOR_CORE_RACES_H

#include "simulator/core/address_space.h"

#include <string>

namespace ulsc::simulator {

/// What a kernel adds to a race with another operation: called only when there is one.
using AccessDescription = std::string (*)(const void *access);

/// Records that the running operation reads or writes bytes of one granule, or reports the race.
/// `mask` has a bit per byte.
void touchGranule(uint64_t granule, uint16_t mask, bool isWrite,
                  AccessDescription describe = nullptr, const void *access = nullptr);
/// The same for any bytes. Does nothing where race detection is off.
void touchRange(const void *begin, int64_t bytes, bool isWrite);

/// How many operations have run so far.
uint32_t operationsRun();
/// Whether an operation after the first `operations` of the log has written one of the bytes.
bool isWrittenSince(const void *begin, int64_t bytes, uint32_t operations);

/// Whether the running operation has already touched those bytes so that nothing new can be found.
inline bool isTouched(const Granule &granule, uint32_t operation, uint16_t mask, bool isWrite) {
  return isWrite ? granule.writer == operation && (granule.writeMask & mask) == mask &&
                       granule.reader == 0 && granule.more == 0
                 : granule.reader == operation && (granule.readMask & mask) == mask;
}

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CORE_RACES_H

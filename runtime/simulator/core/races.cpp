// The shadow of operations: conflicts of unordered operations on the same bytes.
#include "simulator/core/races.h"

#include "simulator/core/device.h"
#include "simulator/core/memory.h"
#include "simulator/core/report.h"
#include "simulator/core/settings.h"

namespace ulsc::simulator {

namespace {

/// One more reader or writer of a granule.
struct Node {
  uint32_t operation, next;
  uint16_t mask;
  bool isWrite;
};

/// Nodes by number; 0 ends a list. Unused ones hang in a list, too.
struct Nodes {
  std::vector<Node> all = std::vector<Node>(1);
  uint32_t unused = 0;

  uint32_t make(Node node) {
    if (!unused) {
      all.push_back(node);
      return uint32_t(all.size() - 1);
    }
    uint32_t result = unused;
    unused = all[result].next;
    all[result] = node;
    return result;
  }
  void drop(uint32_t number) {
    all[number].next = unused;
    unused = number;
  }
};

Nodes &nodes() {
  static auto *result = new Nodes;
  return *result;
}

bool isOrdered(uint32_t operation) {
  Device &state = device();
  const OperationLog::Entry &entry = state.log[operation];
  return entry.tick <= state.runningClock->at(entry.stream);
}

[[noreturn]] void reportRace(uint32_t other, bool otherWrites, uint64_t address, bool isWrite,
                             AccessDescription describe, const void *access) {
  Device &state = device();
  Finding finding{"race", "two operations that nothing orders use the same memory", {}, ""};
  finding.details = {
      {"one", text(state.log.describe(other), otherWrites ? " writes it" : " reads it")},
      {"other", text(currentOperation(), isWrite ? " writes it" : " reads it")},
      {"address", describeAddress(address)}};
  if (describe)
    finding.details.push_back({"access", describe(access)});
  finding.legal = "an event recorded after one and waited for before the other, or one stream";
  report(finding);
}

/// Takes `mask` from the listed records that a new access replaces.
void trimNodes(Granule &granule, uint16_t mask, bool readsOnly) {
  Nodes &list = nodes();
  for (uint32_t *link = &granule.more; *link;) {
    uint32_t number = *link;
    Node &node = list.all[number];
    if (!readsOnly || (!node.isWrite && isOrdered(node.operation)))
      node.mask &= uint16_t(~mask);
    if (node.mask == 0) {
      *link = node.next;
      list.drop(number);
    } else {
      link = &node.next;
    }
  }
}

void keep(Granule &granule, uint32_t operation, uint16_t mask, bool isWrite) {
  if (operation && mask)
    granule.more = nodes().make({operation, granule.more, mask, isWrite});
}

void recordWrite(Granule &granule, uint32_t operation, uint16_t mask) {
  trimNodes(granule, mask, false);
  granule.readMask &= uint16_t(~mask);
  if (granule.readMask == 0)
    granule.reader = 0;
  if (granule.writer == operation) {
    granule.writeMask |= mask;
    return;
  }
  keep(granule, granule.writer, granule.writeMask & uint16_t(~mask), true);
  granule.writer = operation;
  granule.writeMask = mask;
}

void recordRead(Granule &granule, uint32_t operation, uint16_t mask) {
  trimNodes(granule, mask, true);
  if (granule.reader == operation) {
    granule.readMask |= mask;
    return;
  }
  if (granule.reader)
    keep(granule, granule.reader,
         isOrdered(granule.reader) ? granule.readMask & uint16_t(~mask) : granule.readMask, false);
  granule.reader = operation;
  granule.readMask = mask;
}

} // namespace

void touchGranule(uint64_t number, uint16_t mask, bool isWrite, AccessDescription describe,
                  const void *access) {
  const AddressSpace &space = addressSpace();
  Granule &granule = space.granules[number];
  uint32_t operation = device().runningNumber;
  auto check = [&](uint32_t other, uint16_t otherMask, bool otherWrites) {
    uint16_t common = otherMask & mask;
    if (other && other != operation && common && (isWrite || otherWrites) && !isOrdered(other))
      reportRace(other, otherWrites,
                 space.base + number * granuleBytes + uint64_t(__builtin_ctz(common)), isWrite,
                 describe, access);
  };
  check(granule.writer, granule.writeMask, true);
  check(granule.reader, granule.readMask, false);
  for (uint32_t node = granule.more; node; node = nodes().all[node].next)
    check(nodes().all[node].operation, nodes().all[node].mask, nodes().all[node].isWrite);
  if (isWrite)
    recordWrite(granule, operation, mask);
  else
    recordRead(granule, operation, mask);
}

namespace {

/// Whole granules are mostly written after who touched them last, who is one and the same for many:
/// a buffer of megabytes is gone through in milliseconds.
class WholeWrites {
public:
  /// False where the write needs a closer look.
  bool record(Granule &granule, uint32_t operation) {
    if (granule.more || !isBefore(granule.writer) || !isBefore(granule.reader))
      return false;
    granule = {operation, 0, 0xffff, 0, 0};
    return true;
  }

private:
  bool isBefore(uint32_t operation) {
    if (operation && operation != latest && isOrdered(operation))
      latest = operation;
    return !operation || operation == latest;
  }

  uint32_t latest = 0; ///< Known to be ordered before the running operation.
};

} // namespace

void touchRange(const void *begin, int64_t bytes, bool isWrite) {
  if (!settings().findsRaces)
    return;
  const AddressSpace &space = addressSpace();
  uint32_t operation = device().runningNumber;
  uint64_t offset = uint64_t(begin) - space.base, end = offset + uint64_t(bytes);
  WholeWrites whole;
  while (offset < end) {
    uint64_t granule = offset / granuleBytes;
    uint64_t first = offset % granuleBytes,
             last = std::min(granuleBytes, first + (end - offset)); // exclusive
    auto mask = uint16_t((0xffffu << first) & (0xffffu >> (granuleBytes - last)));
    bool isDone = isWrite && mask == 0xffff && whole.record(space.granules[granule], operation);
    if (!isDone && !isTouched(space.granules[granule], operation, mask, isWrite))
      touchGranule(granule, mask, isWrite);
    offset += last - first;
  }
}

uint32_t operationsRun() {
  DeviceLock lock(device().mutex);
  return device().log.size();
}

bool isWrittenSince(const void *begin, int64_t bytes, uint32_t operations) {
  const AddressSpace &space = addressSpace();
  uint64_t offset = uint64_t(begin) - space.base;
  for (uint64_t granule = offset / granuleBytes; granule * granuleBytes < offset + uint64_t(bytes);
       ++granule)
    if (space.granules[granule].writer > operations)
      return true;
  return false;
}

} // namespace ulsc::simulator

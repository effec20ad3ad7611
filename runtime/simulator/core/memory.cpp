// Allocations in the reserved address range, and the shadow of bytes that hold values.
#include "simulator/core/memory.h"

#include "simulator/core/address_space.h"
#include "simulator/core/device.h"
#include "simulator/core/report.h"
#include "simulator/core/settings.h"

#include <cstring>
#include <sys/mman.h>

namespace ulsc::simulator {

namespace {

/// A buffer that the program declared dead, to say so when it is read.
struct Forgotten {
  uint64_t begin, end;
  std::string operation;
};

struct Memory {
  std::deque<Allocation> allocations; ///< Addresses stay: callers hold pointers.
  uint64_t next = 0;                  ///< Offset of what has never been used.
  size_t used = 0;                    ///< Bytes of live device allocations.
  std::deque<Forgotten> forgotten;    ///< The latest ones.
};

Memory &memory() {
  static auto *result = new Memory;
  return *result;
}

constexpr size_t forgottenKept = 4096;

void *reserve(uint64_t bytes) {
  void *result = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (result == MAP_FAILED)
    report({"environment",
            text("can't reserve ", bytes, " bytes of addresses for the device's memory"),
            {},
            "a smaller ULSC_SIMULATOR_MEMORY, or no limit on virtual memory"});
  // Large pages would make touching one byte of a shadow cost megabytes.
  madvise(result, bytes, MADV_NOHUGEPAGE);
  return result;
}

AddressSpace makeAddressSpace() {
  AddressSpace space;
  // Freed addresses are not used again until four times the memory has been allocated.
  space.bytes = 4 * (settings().memoryBytes + (1 << 20)) / 4096 * 4096;
  space.base = uint64_t(reserve(space.bytes));
  space.values = static_cast<uint8_t *>(reserve(space.bytes / 8));
  space.owner = static_cast<uint32_t *>(reserve(space.bytes / ownerBytes * sizeof(uint32_t)));
  space.granules = static_cast<Granule *>(reserve(space.bytes / granuleBytes * sizeof(Granule)));
  space.launchCells = static_cast<LaunchCell *>(reserve(space.bytes * sizeof(LaunchCell)));
  return space;
}

uint64_t roundUp(uint64_t value) { return (value + ownerBytes - 1) / ownerBytes * ownerBytes; }

/// The offset of `bytes` unused bytes, or UINT64_MAX.
uint64_t place(Memory &state, uint64_t bytes) {
  if (state.next + bytes + ownerBytes <= addressSpace().bytes) {
    uint64_t result = state.next;
    state.next += bytes + ownerBytes; // the gap is never mapped to an owner
    return result;
  }
  for (Allocation &old : state.allocations)
    if (old.isFreed && old.bytes && roundUp(old.bytes) >= bytes) {
      uint64_t result = old.begin - addressSpace().base;
      old.bytes = 0; // no longer found by its address
      return result;
    }
  return UINT64_MAX;
}

const char *kindName(MemoryKind kind) {
  return kind == MemoryKind::PinnedHost ? "pinned host allocation" : "allocation";
}

[[noreturn]] void reportAccess(const char *kind, const char *what, uint64_t begin, int64_t bytes,
                               uint64_t bad, const char *legal) {
  report({kind,
          text(currentOperation(), " ", what, ": ", bytes, " bytes at ", describeAddress(begin)),
          {{"first bad byte", describeAddress(bad)}},
          legal});
}

} // namespace

const AddressSpace &addressSpace() {
  static const AddressSpace result = makeAddressSpace();
  return result;
}

void dropLaunchCells() {
  const AddressSpace &space = addressSpace();
  madvise(space.launchCells, space.bytes * sizeof(LaunchCell), MADV_DONTNEED);
}

void *allocate(size_t bytes, MemoryKind kind, const std::string &name) {
  DeviceLock lock(device().mutex);
  Memory &state = memory();
  const AddressSpace &space = addressSpace();
  bool counts = kind != MemoryKind::PinnedHost;
  if (bytes == 0 || bytes > settings().memoryBytes ||
      (counts && state.used + bytes > settings().memoryBytes))
    return nullptr;
  uint64_t offset = place(state, roundUp(bytes));
  if (offset == UINT64_MAX)
    return nullptr;
  Allocation made{space.base + offset, bytes, kind, false, name};
  if (name.empty())
    made.name = text(kindName(kind), " ", state.allocations.size() + 1, " of ", bytes, " bytes");
  state.allocations.push_back(made);
  for (uint64_t i = offset / ownerBytes; i < (offset + roundUp(bytes)) / ownerBytes; ++i)
    space.owner[i] = uint32_t(state.allocations.size());
  if (counts)
    state.used += bytes;
  void *result = reinterpret_cast<void *>(made.begin);
  if (kind == MemoryKind::PinnedHost)
    markValues(result, int64_t(bytes)); // what the host writes isn't seen
  else
    forgetValues(result, int64_t(bytes));
  return result;
}

bool release(void *pointer, MemoryKind kind) {
  DeviceLock lock(device().mutex);
  auto *found = const_cast<Allocation *>(findAllocation(pointer));
  if (!found || found->isFreed || found->kind != kind || found->begin != uint64_t(pointer))
    return false;
  found->isFreed = true;
  if (kind != MemoryKind::PinnedHost)
    memory().used -= found->bytes;
  uint64_t begin = (found->begin + 4095) / 4096 * 4096,
           end = (found->begin + found->bytes) / 4096 * 4096;
  if (end > begin)
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
  return true;
}

size_t deviceMemoryTotal() { return settings().memoryBytes; }

size_t deviceMemoryFree() {
  DeviceLock lock(device().mutex);
  return settings().memoryBytes - memory().used;
}

const Allocation *findAllocation(const void *pointer) {
  const AddressSpace &space = addressSpace();
  uint64_t address = uint64_t(pointer);
  if (!space.contains(address))
    return nullptr;
  uint32_t owner = space.owner[(address - space.base) / ownerBytes];
  if (!owner)
    return nullptr;
  const Allocation &found = memory().allocations[owner - 1];
  return address < found.begin + found.bytes ? &found : nullptr;
}

bool isDeviceMemory(const void *pointer) {
  const Allocation *found = findAllocation(pointer);
  return found && !found->isFreed;
}

bool isPinnedHost(const void *pointer) {
  const Allocation *found = findAllocation(pointer);
  return found && !found->isFreed && found->kind == MemoryKind::PinnedHost;
}

std::string describeAddress(uint64_t address) {
  std::ostringstream out;
  out << "0x" << std::hex << address << std::dec;
  const AddressSpace &space = addressSpace();
  if (!space.contains(address))
    return out.str() + ", which is not an address of the device";
  if (const Allocation *found = findAllocation(reinterpret_cast<void *>(address))) {
    out << ", byte " << address - found->begin << " of " << found->name;
    if (found->isFreed)
      out << ", which has been freed";
    return out.str();
  }
  const Allocation *before = nullptr;
  for (const Allocation &each : memory().allocations)
    if (each.bytes && each.begin <= address && (!before || each.begin > before->begin))
      before = &each;
  if (before)
    out << ", " << address - (before->begin + before->bytes) << " bytes past the end of "
        << before->name << (before->isFreed ? ", which has been freed" : "");
  else
    out << ", which belongs to no allocation";
  return out.str();
}

std::string describeEnd(uint64_t address) {
  const auto &all = memory().forgotten;
  for (auto entry = all.rbegin(); entry != all.rend(); ++entry)
    if (entry->begin <= address && address < entry->end)
      return "; the buffer there has ended: " + entry->operation;
  return "";
}

void checkBounds(const void *begin, int64_t bytes, const char *what) {
  if (bytes <= 0)
    return;
  const Allocation *found = findAllocation(begin);
  uint64_t address = uint64_t(begin);
  if (!found)
    reportAccess("out-of-bounds", what, address, bytes, address,
                 "addresses inside a live allocation");
  if (found->isFreed)
    reportAccess("use-after-free", what, address, bytes, address, "memory that has not been freed");
  if (address + uint64_t(bytes) > found->begin + found->bytes)
    reportAccess("out-of-bounds", what, address, bytes, found->begin + found->bytes,
                 "addresses inside one live allocation");
}

void checkValues(const void *begin, int64_t bytes, const char *what) {
  const AddressSpace &space = addressSpace();
  uint64_t offset = uint64_t(begin) - space.base, end = offset + uint64_t(bytes);
  while (offset < end) {
    if (offset % 64 == 0 && end - offset >= 64 &&
        *reinterpret_cast<const uint64_t *>(space.values + offset / 8) == ~uint64_t(0)) {
      offset += 64;
      continue;
    }
    if (!holdsValues(space.values, offset, 1)) {
      std::string ended = describeEnd(space.base + offset);
      reportAccess("uninitialised", text(what, ", but a byte holds no value", ended).c_str(),
                   uint64_t(begin), bytes, space.base + offset,
                   "reading what has been written, and not after its buffer has ended");
    }
    ++offset;
  }
}

namespace {

void fillValues(uint64_t offset, uint64_t end, bool hold) {
  uint8_t *values = addressSpace().values;
  auto one = [&](uint64_t at) {
    uint8_t bit = uint8_t(1u << (at & 7));
    values[at >> 3] = hold ? values[at >> 3] | bit : values[at >> 3] & ~bit;
  };
  while (offset < end && offset % 8)
    one(offset++);
  if (uint64_t whole = (end - offset) / 8; offset < end && whole) {
    std::memset(values + offset / 8, hold ? 0xff : 0, whole);
    offset += whole * 8;
  }
  while (offset < end)
    one(offset++);
}

} // namespace

void markValues(const void *begin, int64_t bytes) {
  uint64_t offset = uint64_t(begin) - addressSpace().base;
  fillValues(offset, offset + uint64_t(bytes), true);
}

void forgetValues(const void *begin, int64_t bytes) {
  uint64_t offset = uint64_t(begin) - addressSpace().base;
  fillValues(offset, offset + uint64_t(bytes), false);
  if (std::string operation = currentOperation(); !operation.empty()) {
    auto &all = memory().forgotten;
    all.push_back({uint64_t(begin), uint64_t(begin) + uint64_t(bytes), operation});
    if (all.size() > forgottenKept)
      all.pop_front();
  }
}

void copyWithValues(void *target, const void *source, int64_t bytes) {
  const AddressSpace &space = addressSpace();
  std::memmove(target, source, size_t(bytes));
  uint64_t to = uint64_t(target) - space.base, from = uint64_t(source) - space.base;
  if (to % 8 == 0 && from % 8 == 0) {
    std::memmove(space.values + to / 8, space.values + from / 8, size_t(bytes) / 8);
    to += uint64_t(bytes) / 8 * 8, from += uint64_t(bytes) / 8 * 8, bytes %= 8;
  }
  for (int64_t i = 0; i < bytes; ++i)
    fillValues(to + uint64_t(i), to + uint64_t(i) + 1,
               holdsValues(space.values, from + uint64_t(i), 1));
}

} // namespace ulsc::simulator

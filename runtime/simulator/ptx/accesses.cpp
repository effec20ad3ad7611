// The checks of every access.
#include "simulator/ptx/accesses.h"

#include "simulator/core/memory.h"
#include "simulator/core/report.h"

#include <algorithm>

namespace ulsc::simulator::ptx {

namespace {

const char *verb(AccessKind kind) {
  return kind == AccessKind::Read ? "reads" : kind == AccessKind::Write ? "writes" : "updates";
}

/// What a race between operations adds about the thread.
struct ThreadAccess {
  const Warp *warp;
  uint32_t lane;
};

std::string describeAccess(const void *access) {
  const auto &[warp, lane] = *static_cast<const ThreadAccess *>(access);
  return text(describeThread(*warp, lane), ", ",
              describeInstruction(*warp->launch->kernel, warp->pc));
}

/// Whether the bytes lie in a declared buffer, which becomes the hit.
bool findBuffer(Launch &launch, uint64_t address, uint32_t bytes, AccessKind kind) {
  auto at = std::upper_bound(
      launch.buffers.begin(), launch.buffers.end(), address,
      [](uint64_t place, const LaunchBuffer &buffer) { return place < buffer.begin; });
  while (at != launch.buffers.begin()) {
    const LaunchBuffer &buffer = *--at;
    if (address + bytes > buffer.lastEnd)
      return false;
    bool isInside = address + bytes <= buffer.begin + buffer.bytes;
    if (!isInside || (kind != AccessKind::Read && !buffer.isWritable))
      continue;
    launch.hitBegin = buffer.begin;
    launch.hitEnd = buffer.begin + buffer.bytes;
    launch.isHitConstant = false;
    launch.isHitReadOnly = !buffer.isWritable;
    return true;
  }
  return false;
}

/// Reports an access to an allocation of which the launch was given other parts.
void checkBuffers(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, AccessKind kind,
                  const Allocation &allocation) {
  const LaunchBuffer *before = nullptr;
  bool isRestricted = false;
  for (const LaunchBuffer &buffer : warp.launch->buffers) {
    if (buffer.begin < allocation.begin || buffer.begin >= allocation.begin + allocation.bytes)
      continue;
    isRestricted = true;
    bool isInside = address >= buffer.begin && address + bytes <= buffer.begin + buffer.bytes;
    if (isInside && kind != AccessKind::Read)
      reportThread(warp, lane, "constant",
                   "a thread writes to a buffer that its launch may only read",
                   describeAddress(address), "writes to the launch's results");
    if (buffer.begin <= address &&
        (!before || buffer.begin + buffer.bytes > before->begin + before->bytes))
      before = &buffer;
  }
  if (!isRestricted)
    return;
  uint64_t end = before ? before->begin + before->bytes : 0;
  std::string place = !before ? ", before all buffers of the launch"
                      : end > address
                          ? text(", ", address + bytes - end, " bytes over the end of a buffer of ",
                                 before->bytes, " bytes that the launch has")
                          : text(", ", address - end, " bytes past the end of a buffer of ",
                                 before->bytes, " bytes that the launch has");
  reportThread(warp, lane, "out-of-bounds",
               text("a thread ", verb(kind), " ", bytes, " bytes beside its launch's buffers"),
               describeAddress(address) + place, "addresses inside one buffer of the launch");
}

void checkAllocation(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, AccessKind kind) {
  Launch &launch = *warp.launch;
  if (findBuffer(launch, address, bytes, kind))
    return;
  const Allocation *found = findAllocation(reinterpret_cast<const void *>(address));
  auto fail = [&](const char *what, uint64_t bad, const char *legal) {
    reportThread(warp, lane, what,
                 text("a thread ", verb(kind), " ", bytes, " bytes at a wrong address"),
                 describeAddress(bad), legal);
  };
  if (!found)
    fail("out-of-bounds", address, "addresses inside a live allocation");
  if (found->isFreed)
    fail("use-after-free", address, "memory that has not been freed");
  if (address + bytes > found->begin + found->bytes)
    fail("out-of-bounds", found->begin + found->bytes, "addresses inside one live allocation");
  checkBuffers(warp, lane, address, bytes, kind, *found);
  launch.hitBegin = found->begin;
  launch.hitEnd = found->begin + found->bytes;
  launch.isHitReadOnly = false;
  launch.isHitConstant = found->kind == MemoryKind::Constant;
}

[[noreturn]] void reportUninitialised(const Warp &warp, uint32_t lane, uint32_t bytes,
                                      const std::string &address) {
  reportThread(warp, lane, "uninitialised",
               text("a thread reads ", bytes, " bytes that hold no value"), address,
               "reading what has been written, and not after its buffer has ended");
}

void touchGranules(const Warp &warp, uint32_t lane, uint64_t offset, uint32_t bytes, bool isWrite) {
  const AddressSpace &space = addressSpace();
  for (uint32_t done = 0; done < bytes; done += 16) {
    uint64_t granule = (offset + done) / granuleBytes;
    uint32_t count = std::min(bytes - done, 16u);
    auto mask = uint16_t(((1u << count) - 1) << ((offset + done) % granuleBytes));
    if (!isTouched(space.granules[granule], warp.launch->operation, mask, isWrite)) {
      ThreadAccess access{&warp, lane};
      touchGranule(granule, mask, isWrite, describeAccess, &access);
    }
  }
}

/// Checks and records the cells of one lane's access, each of 1 << shift bytes. `describe` names a
/// byte in a report.
template <typename Describe>
inline void touchCells(const Warp &warp, uint32_t lane, LaunchCell *cells, uint64_t offset,
                       uint32_t bytes, uint32_t shift, bool isStrong, bool isWrite,
                       uint32_t firstSegment, Describe describe) {
  uint64_t mine = makeRecord(warp, lane, isStrong);
  LaunchCell *cell = cells + (offset >> shift);
  for (uint32_t i = 0; i < bytes >> shift; ++i, ++cell) {
    if (const uint64_t *other = conflictOf(warp, lane, *cell, mine, isWrite, firstSegment))
      reportLaunchRace(warp, lane, *other, other == &cell->writer, isWrite,
                       describe(offset + (i << shift)));
    recordAccess(*cell, mine, isWrite);
  }
}

std::string globalName(uint64_t offset) { return describeAddress(addressSpace().base + offset); }

uint8_t *globalAccess(Warp &warp, const Instruction &in, uint32_t lane, uint64_t address,
                      uint32_t bytes, AccessKind kind) {
  Launch &launch = *warp.launch;
  const AddressSpace &space = addressSpace();
  bool isWrite = kind != AccessKind::Read;
  if (address < launch.hitBegin || address + bytes > launch.hitEnd ||
      (isWrite && launch.isHitReadOnly))
    checkAllocation(warp, lane, address, bytes, kind);
  if (isWrite && launch.isHitConstant)
    reportThread(warp, lane, "constant", "a thread writes to constant memory",
                 describeAddress(address), "writes to .global memory");
  uint64_t offset = address - space.base;
  if (kind != AccessKind::Write && !holdsValues(space.values, offset, bytes))
    reportUninitialised(warp, lane, bytes, describeAddress(address) + describeEnd(address));
  if (launch.findsRaces) {
    touchGranules(warp, lane, offset, bytes, isWrite);
    touchCells(warp, lane, space.launchCells, offset, bytes, launch.globalCellShift, in.isStrong,
               isWrite, launch.firstSegment, globalName);
    launch.touchedCells += bytes >> launch.globalCellShift;
  }
  if (isWrite)
    setValues(space.values, offset, bytes);
  return reinterpret_cast<uint8_t *>(address);
}

/// The variable that holds the bytes; the last hit is tried first.
const PlacedVariable *findVariable(const std::vector<PlacedVariable> &all, uint32_t &hit,
                                   uint64_t address, uint32_t bytes) {
  auto holds = [&](const PlacedVariable &variable) {
    return address >= variable.begin && address + bytes <= variable.begin + variable.bytes;
  };
  if (hit < all.size() && holds(all[hit]))
    return &all[hit];
  for (hit = 0; hit < all.size(); ++hit)
    if (holds(all[hit]))
      return &all[hit];
  return nullptr;
}

std::string describeVariable(const std::vector<PlacedVariable> &all, const char *space,
                             uint64_t address) {
  std::ostringstream out;
  out << space << " address 0x" << std::hex << address << std::dec;
  const PlacedVariable *before = nullptr;
  for (const PlacedVariable &variable : all)
    if (variable.begin <= address && (!before || variable.begin > before->begin))
      before = &variable;
  if (!before)
    out << ", before all variables";
  else if (address < before->begin + before->bytes)
    out << ", byte " << address - before->begin << " of '" << before->name << "' of "
        << before->bytes << " bytes";
  else
    out << ", " << address - before->begin - before->bytes << " bytes past the end of '"
        << before->name << "' of " << before->bytes << " bytes";
  return out.str();
}

uint8_t *sharedAccess(Warp &warp, const Instruction &in, uint32_t lane, uint64_t address,
                      uint32_t bytes, AccessKind kind) {
  Block &block = *warp.block;
  const PlacedVariable *found = findVariable(block.variables, block.hitShared, address, bytes);
  if (!found)
    reportThread(
        warp, lane, "out-of-bounds",
        text("a thread ", verb(kind), " ", bytes, " bytes of shared memory that no variable has"),
        describeVariable(block.variables, "shared", address),
        "addresses inside one shared variable");
  uint64_t offset = found->begin >= dynamicSharedBegin
                        ? block.dynamicStorage + (address - dynamicSharedBegin)
                        : address;
  if (kind != AccessKind::Write && !holdsValues(block.sharedValues.data(), offset, bytes))
    reportUninitialised(warp, lane, bytes, describeVariable(block.variables, "shared", address));
  bool isWrite = kind != AccessKind::Read;
  if (warp.launch->findsRaces)
    touchCells(warp, lane, block.sharedCells.data(), offset, bytes, warp.launch->sharedCellShift,
               in.isStrong, isWrite, block.firstSegment, [&](uint64_t at) {
                 return describeVariable(block.variables, "shared", address + (at - offset));
               });
  if (isWrite)
    setValues(block.sharedValues.data(), offset, bytes);
  return block.shared.data() + offset;
}

uint8_t *localAccess(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes, AccessKind kind) {
  const Kernel &kernel = *warp.launch->kernel;
  if (!findVariable(kernel.local, warp.hitLocal, address, bytes))
    reportThread(
        warp, lane, "out-of-bounds",
        text("a thread ", verb(kind), " ", bytes, " bytes of local memory that no variable has"),
        describeVariable(kernel.local, "local", address), "addresses inside one local variable");
  return warp.local.data() + size_t(lane) * kernel.localBytes + address;
}

uint8_t *parameterAccess(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes,
                         AccessKind kind) {
  if (kind != AccessKind::Read)
    reportThread(warp, lane, "constant", "a thread writes to a parameter of the kernel",
                 text("parameter byte ", address), "reads of parameters");
  if (address + bytes > warp.launch->kernel->parameterBytes)
    reportThread(warp, lane, "out-of-bounds",
                 text("a thread reads ", bytes, " bytes of parameters"),
                 text("parameter byte ", address, " of ", warp.launch->kernel->parameterBytes),
                 "addresses inside the kernel's parameters");
  return const_cast<uint8_t *>(warp.launch->parameters) + address;
}

Space spaceOfGeneric(uint64_t &address) {
  switch (address & windowMask) {
  case sharedWindow:
    address &= ~windowMask;
    return Space::Shared;
  case localWindow:
    address &= ~windowMask;
    return Space::Local;
  case parameterWindow:
    address &= ~windowMask;
    return Space::Param;
  default:
    return Space::Global;
  }
}

} // namespace

uint8_t *access(Warp &warp, const Instruction &in, uint32_t lane, Space space, uint64_t address,
                uint32_t bytes, AccessKind kind) {
  if (address & (bytes - 1)) {
    std::ostringstream out;
    out << "0x" << std::hex << address;
    reportThread(warp, lane, "misaligned",
                 text("a thread ", verb(kind), " ", bytes,
                      " bytes at an address that is no multiple of ", bytes),
                 addressSpace().contains(address) ? describeAddress(address) : out.str(),
                 "accesses aligned to their whole width, vectors included");
  }
  if (space == Space::Generic)
    space = spaceOfGeneric(address);
  switch (space) {
  case Space::Shared:
    return sharedAccess(warp, in, lane, address, bytes, kind);
  case Space::Local:
    return localAccess(warp, lane, address, bytes, kind);
  case Space::Param:
    return parameterAccess(warp, lane, address, bytes, kind);
  default:
    return globalAccess(warp, in, lane, address, bytes, kind);
  }
}

namespace {

bool holdAllValues(const uint8_t *values, uint64_t offset, uint32_t bytes) {
  // 32 lanes cover at least 32 bytes: whole bytes of bits, but for half ones at both ends.
  uint64_t begin = (offset + 7) / 8, end = (offset + bytes) / 8;
  uint8_t all = 0xff;
  for (uint64_t i = begin; i < end; ++i)
    all &= values[i];
  bool isFull = all == 0xff;
  for (uint64_t i = offset; i < begin * 8; ++i)
    isFull &= (values[i / 8] >> (i % 8)) & 1;
  for (uint64_t i = end * 8; i < offset + bytes; ++i)
    isFull &= (values[i / 8] >> (i % 8)) & 1;
  return isFull;
}

} // namespace

uint8_t *accessInOrder(Warp &warp, const Instruction &in, const uint64_t *addresses, uint32_t bytes,
                       AccessKind kind) {
  Launch &launch = *warp.launch;
  uint64_t first = addresses[0];
  bool isInOrder = warp.exec == ~0u && (first & (bytes - 1)) == 0;
  for (uint32_t lane = 0; lane < warpLanes; ++lane)
    isInOrder &= addresses[lane] == first + lane * bytes;
  uint32_t all = warpLanes * bytes;
  bool isWrite = kind != AccessKind::Read;
  if (!isInOrder)
    return nullptr;
  bool isHit = first >= launch.hitBegin && first + all <= launch.hitEnd &&
               !(isWrite && (launch.isHitReadOnly || launch.isHitConstant));
  if (!isHit && !findBuffer(launch, first, all, kind))
    return nullptr;
  const AddressSpace &space = addressSpace();
  uint64_t offset = first - space.base;
  if (!isWrite && !holdAllValues(space.values, offset, all))
    return nullptr;
  if (launch.findsRaces) {
    for (uint32_t done = 0; done < all;) {
      uint32_t within = uint32_t((offset + done) % granuleBytes);
      uint32_t count = std::min(16 - within, all - done);
      touchGranules(warp, done / bytes, offset + done, count, isWrite);
      done += count;
    }
    for (uint32_t lane = 0; lane < warpLanes; ++lane)
      touchCells(warp, lane, space.launchCells, offset + lane * bytes, bytes,
                 launch.globalCellShift, in.isStrong, isWrite, launch.firstSegment, globalName);
    launch.touchedCells += all >> launch.globalCellShift;
  }
  if (isWrite)
    for (uint32_t lane = 0; lane < warpLanes; ++lane)
      setValues(space.values, offset + lane * bytes, bytes);
  return reinterpret_cast<uint8_t *>(first);
}

} // namespace ulsc::simulator::ptx

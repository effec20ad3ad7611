// cp.async: the bytes arrive only when their thread waits for them; until then the target holds no
// values, so that a read that waited for nothing is found.
#include "simulator/ptx/accesses.h"
#include "simulator/ptx/decoder.h"
#include "simulator/ptx/memory_modifiers.h"

namespace ulsc::simulator::ptx {

namespace {

void setSharedValues(Block &block, uint64_t offset, uint32_t bytes, bool hold) {
  for (uint64_t at = offset; at < offset + bytes; ++at) {
    auto bit = uint8_t(1u << (at & 7));
    uint8_t &byte = block.sharedValues[at >> 3];
    byte = hold ? byte | bit : byte & ~bit;
  }
}

void begin(Warp &warp, const Instruction &in) {
  uint64_t targets[warpLanes];
  addressesOf(warp, in, targets);
  const auto *sources = warp.read<uint64_t>(in.source[1]);
  forActive(warp, [&](uint32_t lane) {
    uint32_t count = in.count;
    if (in.source[2] != noPlace)
      count = std::min(count, warp.read<uint32_t>(in.source[2])[lane]);
    uint8_t *to =
        access(warp, in, lane, Space::Shared, targets[lane], in.elementBytes, AccessKind::Write);
    auto offset = uint64_t(to - warp.block->shared.data());
    setSharedValues(*warp.block, offset, in.elementBytes, false);
    uint64_t from = sources[lane] + uint64_t(int64_t(int32_t(in.vector[0])));
    if (count)
      access(warp, in, lane, Space::Global, from, in.elementBytes, AccessKind::Read);
    warp.copies.push_back({lane, 0, offset, from, in.elementBytes, count, in.line});
  });
}

void commit(Warp &warp, const Instruction &) {
  forActive(warp, [&](uint32_t lane) { ++warp.asyncGroups[lane]; });
  for (AsyncCopy &copy : warp.copies)
    if (copy.group == 0 && (warp.exec >> copy.lane) & 1)
      copy.group = warp.asyncGroups[copy.lane];
}

/// All groups but the latest `count`; mode 1: everything, committed or not.
void wait(Warp &warp, const Instruction &in) {
  std::vector<AsyncCopy> left;
  for (const AsyncCopy &copy : warp.copies) {
    uint32_t groups = warp.asyncGroups[copy.lane];
    bool isDue = in.mode || (copy.group != 0 && copy.group + in.count <= groups);
    if (!isDue || !((warp.exec >> copy.lane) & 1)) {
      left.push_back(copy);
      continue;
    }
    uint8_t *to = warp.block->shared.data() + copy.target;
    std::memcpy(to, reinterpret_cast<const void *>(copy.source), copy.sourceBytes);
    std::memset(to + copy.sourceBytes, 0, copy.bytes - copy.sourceBytes);
    setSharedValues(*warp.block, copy.target, copy.bytes, true);
  }
  warp.copies = std::move(left);
}

void decodeCopy(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  if (!opcode.take("async"))
    refuse(in.line, "instruction '", opcode.spelling(), "' is not simulated");
  if (opcode.take("commit_group")) {
    in.run = commit;
    return;
  }
  if (opcode.take("wait_all")) {
    in.mode = 1;
    in.run = wait;
    return;
  }
  if (opcode.take("wait_group")) {
    Decoder::expectOperands(statement, 1);
    if (statement.operands[0].kind != Operand::Integer)
      refuse(in.line, "the count of cp.async.wait_group must be a number");
    in.count = uint32_t(statement.operands[0].value);
    in.run = wait;
    return;
  }
  takeCacheHints(opcode);
  bool isShared = opcode.takeOneOf({"shared", "shared::cta"}) >= 0;
  if (!isShared || !opcode.take("global"))
    refuse(in.line, "instruction '", opcode.spelling(), "' is not simulated");
  size_t count = statement.operands.size();
  if (count != 3 && count != 4)
    Decoder::expectOperands(statement, 3);
  const Operand &size = statement.operands[2];
  if (size.kind != Operand::Integer || (size.value != 4 && size.value != 8 && size.value != 16))
    refuse(in.line, "cp.async copies 4, 8 or 16 bytes");
  in.count = in.elementBytes = uint8_t(size.value);
  decoder.noteAccess(Space::Global, in.elementBytes);
  decoder.noteAccess(Space::Shared, in.elementBytes);
  Instruction from = in;
  from.space = Space::Global;
  decoder.address(statement.operands[1], from);
  if (from.isNegated || from.offset != int32_t(from.offset))
    refuse(in.line, "the source of cp.async needs a 64-bit address and a 32-bit offset");
  in.space = Space::Shared;
  decoder.address(statement.operands[0], in);
  in.source[1] = from.source[0];
  in.vector[0] = Place(from.offset);
  if (count == 4)
    in.source[2] = decoder.source(statement.operands[3], Type::U32, in.line);
  in.run = begin;
}

} // namespace

const DecodeTable &asyncCopyOpcodes() {
  static const DecodeTable table = {{"cp", decodeCopy}};
  return table;
}

} // namespace ulsc::simulator::ptx

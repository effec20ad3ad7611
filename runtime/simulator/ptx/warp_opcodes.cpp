// Instructions of whole warps and blocks: barriers, shuffles, votes, reductions, fences.
#include "simulator/ptx/decoder.h"
#include "simulator/ptx/launch_races.h"
#include "simulator/ptx/warp.h"

namespace ulsc::simulator::ptx {

namespace {

/// Lanes that take part: those whose mask let the instruction run. Reading another lane is
/// undefined.
void checkSourceLane(const Warp &warp, uint32_t lane, uint32_t from) {
  if ((warp.exec >> from) & 1)
    return;
  bool exists = (warp.lanes >> from) & 1;
  reportThread(warp, lane, "inactive-lane",
               text("a shuffle reads lane ", from, ", ",
                    !exists                    ? "which the warp doesn't have"
                    : (warp.alive >> from) & 1 ? "which doesn't take part"
                                               : "which has exited"),
               "", "reading lanes that execute the same shuffle");
}

enum ShuffleMode : uint8_t { Up, Down, Butterfly, Index };

void shuffle(Warp &warp, const Instruction &in) {
  const auto *b = warp.read<uint32_t>(in.source[1]), *c = warp.read<uint32_t>(in.source[2]);
  uint32_t a[warpLanes], bits = 0, results[warpLanes] = {};
  std::memcpy(a, warp.read<uint32_t>(in.source[0]), sizeof a);
  forActive(warp, [&](uint32_t lane) {
    uint32_t segment = (c[lane] >> 8) & 31, clamp = c[lane] & 31, by = b[lane] & 31;
    uint32_t bound = (lane & segment) | (clamp & ~segment);
    int from = 0;
    bool isInside = false;
    switch (in.mode) {
    case Up:
      from = int(lane) - int(by);
      isInside = from >= int(bound);
      break;
    case Down:
      from = int(lane + by);
      isInside = from <= int(bound);
      break;
    case Butterfly:
      from = int(lane ^ by);
      isInside = from <= int(bound);
      break;
    default:
      from = int((lane & segment) | (by & ~segment));
      isInside = from <= int(bound);
      break;
    }
    if (!isInside)
      from = int(lane);
    checkSourceLane(warp, lane, uint32_t(from));
    results[lane] = a[from];
    bits |= uint32_t(isInside) << lane;
  });
  forLanes<uint32_t>(warp, in.result, [&](uint32_t lane) { return results[lane]; });
  setPredicate(warp, in.second, bits);
}

enum VoteMode : uint8_t { All, Any, Uniform, Ballot };

void vote(Warp &warp, const Instruction &in) {
  uint32_t bits = warp.predicateOf(in.source[0]);
  bits = (in.isNegated ? ~bits : bits) & warp.exec;
  switch (in.mode) {
  case All:
    setPredicate(warp, in.result, bits == warp.exec ? ~0u : 0);
    break;
  case Any:
    setPredicate(warp, in.result, bits ? ~0u : 0);
    break;
  case Uniform:
    setPredicate(warp, in.result, bits == warp.exec || bits == 0 ? ~0u : 0);
    break;
  default:
    forLanes<uint32_t>(warp, in.result, [=](uint32_t) { return bits; });
  }
}

void activeMask(Warp &warp, const Instruction &in) {
  uint32_t lanes = warp.exec;
  forLanes<uint32_t>(warp, in.result, [=](uint32_t) { return lanes; });
}

enum ReductionMode : uint8_t { Sum, Least, Greatest, AllBits, AnyBits, OddBits };

template <typename T>
void reduce(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]);
  T result = a[__builtin_ctz(warp.exec)];
  bool isFirst = true;
  forActive(warp, [&](uint32_t lane) {
    if (isFirst) {
      isFirst = false;
      return;
    }
    switch (in.mode) {
    case Sum:
      result = T(uint32_t(result) + uint32_t(a[lane]));
      break;
    case Least:
      result = std::min(result, a[lane]);
      break;
    case Greatest:
      result = std::max(result, a[lane]);
      break;
    case AllBits:
      result &= a[lane];
      break;
    case AnyBits:
      result |= a[lane];
      break;
    default:
      result ^= a[lane];
    }
  });
  forLanes<T>(warp, in.result, [=](uint32_t) { return result; });
}

template <typename T>
void match(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]);
  uint32_t masks[warpLanes] = {};
  forActive(warp, [&](uint32_t lane) {
    forActive(warp, [&](uint32_t other) { masks[lane] |= uint32_t(a[lane] == a[other]) << other; });
  });
  if (in.mode) { // match.all: all or nothing
    bool isSame = masks[__builtin_ctz(warp.exec)] == warp.exec;
    uint32_t result = isSame ? warp.exec : 0;
    forLanes<uint32_t>(warp, in.result, [=](uint32_t) { return result; });
    setPredicate(warp, in.second, isSame ? ~0u : 0);
    return;
  }
  forLanes<uint32_t>(warp, in.result, [&](uint32_t lane) { return masks[lane]; });
}

void elect(Warp &warp, const Instruction &in) {
  auto leader = uint32_t(__builtin_ctz(warp.exec));
  forLanes<uint32_t>(warp, in.result, [=](uint32_t) { return leader; });
  setPredicate(warp, in.second, 1u << leader);
}

void syncWarp(Warp &warp, const Instruction &) { syncLanes(warp, warp.exec); }

void nothing(Warp &, const Instruction &) {}

/// `d|p` where d is a register of 32 bits.
void resultAndPredicate(Decoder &decoder, const Operand &operand, Instruction &in) {
  Operand result = operand;
  result.elements.clear();
  in.result = decoder.destination(result, Type::B32, in.line);
  if (!operand.elements.empty())
    in.second = decoder.predicate(operand.elements[0], in.line);
}

void memberMask(Decoder &decoder, const Operand &operand, Instruction &in) {
  in.control = Control::Convergence;
  in.source[3] = decoder.source(operand, Type::B32, in.line);
}

void requireSync(Opcode &opcode) {
  if (!opcode.take("sync"))
    refuse(opcode.line(), "'", opcode.spelling(), "' without .sync is not simulated");
}

void decodeShuffle(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  requireSync(opcode);
  int mode = opcode.takeOneOf({"up", "down", "bfly", "idx"});
  Type type = opcode.requireType();
  if (mode < 0 || type != Type::B32)
    opcode.refuseType(type);
  in.mode = uint8_t(mode);
  in.run = shuffle;
  Decoder::expectOperands(statement, 5);
  resultAndPredicate(decoder, statement.operands[0], in);
  for (size_t i = 0; i < 3; ++i)
    in.source[i] = decoder.source(statement.operands[i + 1], Type::B32, in.line);
  memberMask(decoder, statement.operands[4], in);
}

void decodeVote(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  requireSync(opcode);
  int mode = opcode.takeOneOf({"all", "any", "uni", "ballot"});
  Type type = opcode.requireType();
  if (mode < 0 || type != (mode == Ballot ? Type::B32 : Type::Pred))
    opcode.refuseType(type);
  in.mode = uint8_t(mode);
  in.run = vote;
  Decoder::expectOperands(statement, 3);
  in.result = decoder.destination(statement.operands[0], type, in.line);
  in.source[0] = decoder.predicate(statement.operands[1], in.line);
  in.isNegated = statement.operands[1].isNegated;
  memberMask(decoder, statement.operands[2], in);
}

void decodeReduction(Decoder &decoder, Opcode &opcode, const Statement &statement,
                     Instruction &in) {
  requireSync(opcode);
  int mode = opcode.takeOneOf({"add", "min", "max", "and", "or", "xor"});
  Type type = opcode.requireType();
  bool isLogic = mode >= AllBits;
  if (mode < 0 || (isLogic ? type != Type::B32 : type != Type::U32 && type != Type::S32))
    opcode.refuseType(type);
  in.mode = uint8_t(mode);
  in.run = type == Type::S32 ? reduce<int32_t> : reduce<uint32_t>;
  Decoder::expectOperands(statement, 3);
  in.result = decoder.destination(statement.operands[0], type, in.line);
  in.source[0] = decoder.source(statement.operands[1], type, in.line);
  memberMask(decoder, statement.operands[2], in);
}

void decodeMatch(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  requireSync(opcode);
  in.mode = uint8_t(opcode.takeOneOf({"any", "all"}) == 1);
  Type type = opcode.requireType();
  in.run = type == Type::B32   ? match<uint32_t>
           : type == Type::B64 ? match<uint64_t>
                               : (opcode.refuseType(type), nullptr);
  Decoder::expectOperands(statement, 3);
  resultAndPredicate(decoder, statement.operands[0], in);
  in.source[0] = decoder.source(statement.operands[1], type, in.line);
  memberMask(decoder, statement.operands[2], in);
}

void decodeElect(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  requireSync(opcode);
  in.run = elect;
  Decoder::expectOperands(statement, 2);
  resultAndPredicate(decoder, statement.operands[0], in);
  memberMask(decoder, statement.operands[1], in);
}

void decodeActiveMask(Decoder &decoder, Opcode &opcode, const Statement &statement,
                      Instruction &in) {
  if (Type type = opcode.requireType(); type != Type::B32)
    opcode.refuseType(type);
  Decoder::expectOperands(statement, 1);
  in.run = activeMask;
  in.result = decoder.destination(statement.operands[0], Type::B32, in.line);
}

/// bar.red: a result, the barrier, a count, a predicate.
void decodeBarrierReduction(Decoder &decoder, Opcode &opcode, const Statement &statement,
                            Instruction &in) {
  int kind = opcode.takeOneOf({"popc", "and", "or"});
  Type type = opcode.requireType();
  if (kind < 0 || type != (kind == 0 ? Type::U32 : Type::Pred))
    opcode.refuseType(type);
  in.mode = uint8_t(BarrierMode::CountTrue) + uint8_t(kind);
  size_t count = statement.operands.size();
  if (count != 3 && count != 4)
    Decoder::expectOperands(statement, 3);
  in.result = decoder.destination(statement.operands[0], type, in.line);
  in.source[0] = decoder.source(statement.operands[1], Type::U32, in.line);
  if (count == 4)
    in.source[1] = decoder.source(statement.operands[2], Type::U32, in.line);
  in.source[2] = decoder.predicate(statement.operands[count - 1], in.line);
  in.isNegated = statement.operands[count - 1].isNegated;
}

void decodeBarrier(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  if (opcode.take("warp")) {
    requireSync(opcode);
    Decoder::expectOperands(statement, 1);
    in.run = syncWarp;
    return memberMask(decoder, statement.operands[0], in);
  }
  opcode.take("cta");
  in.control = Control::Barrier;
  // isStrong: all threads of a warp must come to the same barrier together.
  in.isStrong = opcode.take("aligned") || opcode.name() == "bar";
  if (opcode.take("red"))
    return decodeBarrierReduction(decoder, opcode, statement, in);
  bool arrives = opcode.take("arrive");
  if (!arrives)
    requireSync(opcode);
  opcode.take("all"); // an older spelling of all threads
  size_t count = statement.operands.size();
  if (count != 1 && count != 2)
    Decoder::expectOperands(statement, 1);
  if (arrives && count != 2)
    refuse(in.line, "'", opcode.spelling(), "' needs a number of threads");
  in.mode = uint8_t(arrives ? BarrierMode::Arrive : BarrierMode::Wait);
  in.source[0] = decoder.source(statement.operands[0], Type::U32, in.line);
  if (count == 2)
    in.source[1] = decoder.source(statement.operands[1], Type::U32, in.line);
}

/// Every access is done at once here, so fences order nothing more.
void decodeFence(Decoder &, Opcode &opcode, const Statement &statement, Instruction &in) {
  if (opcode.name() == "membar")
    opcode.takeOneOf({"cta", "gl", "sys"});
  opcode.takeOneOf({"sc", "acq_rel", "acquire", "release"});
  opcode.takeOneOf({"cta", "cluster", "gpu", "sys"});
  Decoder::expectOperands(statement, 0);
  in.run = nothing;
}

void decodeSleep(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  if (Type type = opcode.requireType(); type != Type::U32)
    opcode.refuseType(type);
  Decoder::expectOperands(statement, 1);
  in.source[0] = decoder.source(statement.operands[0], Type::U32, in.line);
  in.run = nothing;
}

} // namespace

const DecodeTable &warpOpcodes() {
  static const DecodeTable table = {
      {"bar", decodeBarrier}, {"barrier", decodeBarrier},       {"shfl", decodeShuffle},
      {"vote", decodeVote},   {"activemask", decodeActiveMask}, {"redux", decodeReduction},
      {"match", decodeMatch}, {"elect", decodeElect},           {"membar", decodeFence},
      {"fence", decodeFence}, {"nanosleep", decodeSleep},
  };
  return table;
}

} // namespace ulsc::simulator::ptx

// Moves, packing and unpacking, addresses of other spaces.
#include "simulator/ptx/decoder.h"
#include "simulator/ptx/warp.h"

namespace ulsc::simulator::ptx {

namespace {

template <typename T>
void move(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]);
  forLanes<T>(warp, in.result, [=](uint32_t lane) { return a[lane]; });
}

void movePredicate(Warp &warp, const Instruction &in) {
  setPredicate(warp, in.result, warp.predicateOf(in.source[0]));
}

/// The parts, lowest first, side by side in one register.
template <typename Whole, typename Part>
void pack(Warp &warp, const Instruction &in) {
  const Part *parts[8];
  for (uint32_t i = 0; i < in.elements; ++i)
    parts[i] = warp.read<Part>(in.vector[i]);
  uint32_t count = in.elements;
  forLanes<Whole>(warp, in.result, [=](uint32_t lane) {
    uint64_t result = 0;
    for (uint32_t i = 0; i < count; ++i)
      result |= uint64_t(parts[i][lane]) << (8 * sizeof(Part) * i);
    return Whole(result);
  });
}

template <typename Whole, typename Part>
void unpack(Warp &warp, const Instruction &in) {
  Whole whole[warpLanes]; // the source may be among the results
  std::memcpy(whole, warp.read<Whole>(in.source[0]), sizeof whole);
  for (uint32_t i = 0; i < in.elements; ++i)
    forLanes<Part>(warp, in.vector[i], [&](uint32_t lane) {
      return Part(uint64_t(whole[lane]) >> (8 * sizeof(Part) * i));
    });
}

void readClock32(Warp &warp, const Instruction &in) {
  auto now = uint32_t(warp.launch->laneInstructions);
  forLanes<uint32_t>(warp, in.result, [=](uint32_t) { return now; });
}

void readClock64(Warp &warp, const Instruction &in) {
  uint64_t now = warp.launch->laneInstructions;
  forLanes<uint64_t>(warp, in.result, [=](uint32_t) { return now; });
}

/// cvta: mode 0 makes a generic address, 1 takes one; `offset` is the window.
void convertAddress(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<uint64_t>(in.source[0]);
  auto window = uint64_t(in.offset);
  bool isTo = in.mode;
  if (!isTo) {
    forLanes<uint64_t>(warp, in.result, [=](uint32_t lane) { return a[lane] + window; });
    return;
  }
  forLanes<uint64_t>(warp, in.result, [=](uint32_t lane) { return a[lane] - window; });
}

void isInSpace(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<uint64_t>(in.source[0]);
  uint32_t bits = 0;
  const AddressSpace &space = addressSpace();
  for (uint32_t lane = 0; lane < warpLanes; ++lane) {
    uint64_t window = a[lane] & windowMask;
    bool is = in.space == Space::Shared  ? window == sharedWindow
              : in.space == Space::Local ? window == localWindow
                                         : space.contains(a[lane]);
    bits |= uint32_t(is) << lane;
  }
  setPredicate(warp, in.result, bits);
}

Type partType(uint32_t bytes) { return bytes == 2 ? Type::B16 : bytes == 4 ? Type::B32 : Type::B8; }

template <typename Whole, typename Part>
Handler packing(bool packs) {
  return packs ? Handler(pack<Whole, Part>) : Handler(unpack<Whole, Part>);
}

void decodeVectorMove(Decoder &decoder, Opcode &opcode, const Statement &statement, Type type,
                      Instruction &in) {
  bool packs = statement.operands[1].kind == Operand::Vector;
  const Operand &vector = statement.operands[packs ? 1 : 0];
  const Operand &whole = statement.operands[packs ? 0 : 1];
  auto count = uint32_t(vector.elements.size());
  uint32_t bytes = bytesOf(type), part = count ? bytes / count : 0;
  if ((count != 2 && count != 4) || part == 0 || bytes % count)
    refuse(in.line, "a vector of ", count, " elements in '", opcode.spelling(), "'");
  in.elements = uint8_t(count);
  if (bytes == 8)
    in.run = part == 4 ? packing<uint64_t, uint32_t>(packs) : packing<uint64_t, uint16_t>(packs);
  else if (bytes == 4 && part == 2)
    in.run = packing<uint32_t, uint16_t>(packs);
  else
    refuse(in.line, "vectors of bytes in '", opcode.spelling(), "' are not simulated");
  for (uint32_t i = 0; i < count; ++i)
    in.vector[i] = packs ? decoder.source(vector.elements[i], partType(part), in.line)
                         : decoder.destination(vector.elements[i], partType(part), in.line);
  if (packs)
    in.result = decoder.destination(whole, type, in.line);
  else
    in.source[0] = decoder.source(whole, type, in.line);
}

void decodeMove(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  Decoder::expectOperands(statement, 2);
  const Operand &from = statement.operands[1];
  if (from.kind == Operand::Vector || statement.operands[0].kind == Operand::Vector)
    return decodeVectorMove(decoder, opcode, statement, type, in);
  in.result = decoder.destination(statement.operands[0], type, in.line);
  if (type == Type::Pred) {
    in.run = movePredicate;
    in.source[0] = decoder.predicate(from, in.line);
    return;
  }
  bool isClock = from.name == "%clock" || from.name == "%clock64" || from.name == "%globaltimer" ||
                 from.name == "%clock_hi" || from.name == "%globaltimer_lo";
  if (from.kind == Operand::Register && isClock) {
    in.run = bytesOf(type) == 8 ? readClock64 : readClock32;
    return;
  }
  in.source[0] = decoder.source(from, type, in.line);
  switch (bytesOf(type)) {
  case 2:
    in.run = move<uint16_t>;
    break;
  case 4:
    in.run = move<uint32_t>;
    break;
  case 8:
    in.run = move<uint64_t>;
    break;
  default:
    opcode.refuseType(type);
  }
}

Space takeSpace(Opcode &opcode) {
  switch (opcode.takeOneOf(
      {"global", "shared", "shared::cta", "local", "const", "param", "param::entry"})) {
  case 0:
    return Space::Global;
  case 1:
  case 2:
    return Space::Shared;
  case 3:
    return Space::Local;
  case 4:
    return Space::Const;
  case 5:
  case 6:
    return Space::Param;
  default:
    refuse(opcode.line(), "'", opcode.spelling(), "' has no space that is simulated");
  }
}

void decodeConvertAddress(Decoder &decoder, Opcode &opcode, const Statement &statement,
                          Instruction &in) {
  in.mode = opcode.take("to");
  Space space = takeSpace(opcode);
  Type type = opcode.requireType();
  if (bytesOf(type) != 8)
    opcode.refuseType(type);
  in.offset = int64_t(space == Space::Shared  ? sharedWindow
                      : space == Space::Local ? localWindow
                      : space == Space::Param ? parameterWindow
                                              : 0);
  in.run = convertAddress;
  Decoder::expectOperands(statement, 2);
  in.result = decoder.destination(statement.operands[0], type, in.line);
  in.source[0] = decoder.source(statement.operands[1], type, in.line);
}

void decodeIsInSpace(Decoder &decoder, Opcode &opcode, const Statement &statement,
                     Instruction &in) {
  in.space = takeSpace(opcode);
  in.run = isInSpace;
  Decoder::expectOperands(statement, 2);
  in.result = decoder.predicate(statement.operands[0], in.line);
  in.source[0] = decoder.source(statement.operands[1], Type::U64, in.line);
}

} // namespace

const DecodeTable &moveOpcodes() {
  static const DecodeTable table = {
      {"mov", decodeMove}, {"cvta", decodeConvertAddress}, {"isspacep", decodeIsInSpace}};
  return table;
}

} // namespace ulsc::simulator::ptx

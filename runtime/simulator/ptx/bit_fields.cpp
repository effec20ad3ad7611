// Bit fields, counts, permutations and tables of bits.
#include "simulator/ptx/decoder.h"
#include "simulator/ptx/warp.h"

namespace ulsc::simulator::ptx {

namespace {

/// The byte `selector & 7` of both words, or its sign in all bits.
uint32_t permutedByte(uint64_t both, uint32_t selector) {
  uint32_t byte = uint32_t(both >> (8 * (selector & 7))) & 0xff;
  return selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte;
}

uint32_t permute(uint32_t a, uint32_t b, uint32_t c, int mode) {
  uint64_t both = uint64_t(b) << 32 | a;
  uint32_t at = c & 3, result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t selector = 0;
    switch (mode) {
    case 0:
      selector = at + i;
      break; // f4e
    case 1:
      selector = (8 + at - i) & 7;
      break; // b4e
    case 2:
      selector = at;
      break; // rc8
    case 3:
      selector = std::max(at, i);
      break; // ecl
    case 4:
      selector = std::min(at, i);
      break; // ecr
    case 5:
      selector = (at & 1) * 2 + (i & 1);
      break; // rc16
    default:
      selector = (c >> (4 * i)) & 15;
      break;
    }
    result |= permutedByte(both, selector) << (8 * i);
  }
  return result;
}

void permuteBytes(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<uint32_t>(in.source[0]), *b = warp.read<uint32_t>(in.source[1]),
             *c = warp.read<uint32_t>(in.source[2]);
  int mode = in.mode == 255 ? -1 : in.mode;
  forLanes<uint32_t>(warp, in.result,
                     [=](uint32_t lane) { return permute(a[lane], b[lane], c[lane], mode); });
}

template <typename T>
void extractField(Warp &warp, const Instruction &in) {
  using U = std::make_unsigned_t<T>;
  const U *a = warp.read<U>(in.source[0]);
  const auto *b = warp.read<uint32_t>(in.source[1]), *c = warp.read<uint32_t>(in.source[2]);
  constexpr uint32_t width = 8 * sizeof(T);
  forLanes<U>(warp, in.result, [=](uint32_t lane) {
    uint32_t position = b[lane] & 255, length = c[lane] & 255;
    if (length == 0)
      return U(0);
    bool isNegative = T(-1) < 0 && ((a[lane] >> std::min(position + length - 1, width - 1)) & 1);
    uint32_t valid = position < width ? std::min(length, width - position) : 0;
    U mask = valid == width ? ~U(0) : (U(1) << valid) - 1;
    U field = valid ? (a[lane] >> position) & mask : U(0);
    return isNegative ? U(field | ~mask) : field;
  });
}

template <typename T>
void insertField(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]), *b = warp.read<T>(in.source[1]);
  const auto *c = warp.read<uint32_t>(in.source[2]), *d = warp.read<uint32_t>(in.source[3]);
  constexpr uint32_t width = 8 * sizeof(T);
  forLanes<T>(warp, in.result, [=](uint32_t lane) {
    uint32_t position = c[lane] & 255, length = d[lane] & 255;
    if (length == 0 || position >= width)
      return b[lane];
    T mask = (length >= width ? ~T(0) : (T(1) << length) - 1) << position;
    return T((b[lane] & ~mask) | ((a[lane] << position) & mask));
  });
}

template <typename T>
void reverseBits(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]);
  forLanes<T>(warp, in.result, [=](uint32_t lane) {
    T result = 0;
    for (uint32_t i = 0; i < 8 * sizeof(T); ++i)
      result |= ((a[lane] >> i) & 1) << (8 * sizeof(T) - 1 - i);
    return result;
  });
}

template <typename T>
void countBits(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]);
  forLanes<uint32_t>(warp, in.result,
                     [=](uint32_t lane) { return uint32_t(__builtin_popcountll(a[lane])); });
}

template <typename T>
void countLeadingZeros(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]);
  forLanes<uint32_t>(warp, in.result, [=](uint32_t lane) {
    constexpr uint32_t unused = 64 - 8 * sizeof(T);
    return a[lane] ? uint32_t(__builtin_clzll(a[lane])) - unused : uint32_t(8 * sizeof(T));
  });
}

/// The highest bit that is set (of negative numbers: not set); all bits where there is none.
template <typename T>
void findLeading(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]);
  bool asShift = in.mode;
  forLanes<uint32_t>(warp, in.result, [=](uint32_t lane) {
    using U = std::make_unsigned_t<T>;
    U value = a[lane] < 0 ? U(~a[lane]) : U(a[lane]);
    if (value == 0)
      return ~0u;
    auto highest = 63 - uint32_t(__builtin_clzll(value));
    return asShift ? uint32_t(8 * sizeof(T) - 1) - highest : highest;
  });
}

void lookUp(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<uint32_t>(in.source[0]), *b = warp.read<uint32_t>(in.source[1]),
             *c = warp.read<uint32_t>(in.source[2]);
  uint32_t table = in.mode;
  forLanes<uint32_t>(warp, in.result, [=](uint32_t lane) {
    uint32_t result = 0;
    for (uint32_t i = 0; i < 8; ++i)
      if ((table >> i) & 1)
        result |= (i & 4 ? a[lane] : ~a[lane]) & (i & 2 ? b[lane] : ~b[lane]) &
                  (i & 1 ? c[lane] : ~c[lane]);
    return result;
  });
}

/// Sources of which the first `wide` have the type and the others are u32.
void fieldOperands(Decoder &decoder, const Statement &statement, Instruction &in, Type type,
                   Type result, size_t wide, size_t count) {
  Decoder::expectOperands(statement, count + 1);
  in.result = decoder.destination(statement.operands[0], result, in.line);
  for (size_t i = 0; i < count; ++i)
    in.source[i] = decoder.source(statement.operands[i + 1], i < wide ? type : Type::U32, in.line);
}

void decodePermute(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  if (type != Type::B32)
    opcode.refuseType(type);
  in.mode = uint8_t(opcode.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}));
  in.run = permuteBytes;
  fieldOperands(decoder, statement, in, Type::B32, Type::B32, 3, 3);
}

void decodeExtract(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  switch (type) {
  case Type::U32:
    in.run = extractField<uint32_t>;
    break;
  case Type::S32:
    in.run = extractField<int32_t>;
    break;
  case Type::U64:
    in.run = extractField<uint64_t>;
    break;
  case Type::S64:
    in.run = extractField<int64_t>;
    break;
  default:
    opcode.refuseType(type);
  }
  fieldOperands(decoder, statement, in, type, type, 1, 3);
}

void decodeInsert(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  in.run = type == Type::B32   ? insertField<uint32_t>
           : type == Type::B64 ? insertField<uint64_t>
                               : (opcode.refuseType(type), nullptr);
  fieldOperands(decoder, statement, in, type, type, 2, 4);
}

void decodeReverse(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  in.run = type == Type::B32   ? reverseBits<uint32_t>
           : type == Type::B64 ? reverseBits<uint64_t>
                               : (opcode.refuseType(type), nullptr);
  fieldOperands(decoder, statement, in, type, type, 1, 1);
}

void decodeCount(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  bool isPopulation = opcode.name() == "popc";
  if (type == Type::B32)
    in.run = isPopulation ? countBits<uint32_t> : countLeadingZeros<uint32_t>;
  else if (type == Type::B64)
    in.run = isPopulation ? countBits<uint64_t> : countLeadingZeros<uint64_t>;
  else
    opcode.refuseType(type);
  fieldOperands(decoder, statement, in, type, Type::U32, 1, 1);
}

void decodeFindLeading(Decoder &decoder, Opcode &opcode, const Statement &statement,
                       Instruction &in) {
  in.mode = opcode.take("shiftamt");
  Type type = opcode.requireType();
  switch (type) {
  case Type::U32:
    in.run = findLeading<uint32_t>;
    break;
  case Type::S32:
    in.run = findLeading<int32_t>;
    break;
  case Type::U64:
    in.run = findLeading<uint64_t>;
    break;
  case Type::S64:
    in.run = findLeading<int64_t>;
    break;
  default:
    opcode.refuseType(type);
  }
  fieldOperands(decoder, statement, in, type, Type::U32, 1, 1);
}

void decodeLookUp(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  if (type != Type::B32)
    opcode.refuseType(type);
  Decoder::expectOperands(statement, 5);
  const Operand &table = statement.operands[4];
  if (table.kind != Operand::Integer || table.value > 255)
    refuse(in.line, "the table of lop3 must be a number below 256");
  in.mode = uint8_t(table.value);
  in.run = lookUp;
  in.result = decoder.destination(statement.operands[0], type, in.line);
  for (size_t i = 0; i < 3; ++i)
    in.source[i] = decoder.source(statement.operands[i + 1], type, in.line);
}

} // namespace

const DecodeTable &bitFieldOpcodes() {
  static const DecodeTable table = {
      {"prmt", decodePermute},      {"bfe", decodeExtract}, {"bfi", decodeInsert},
      {"brev", decodeReverse},      {"popc", decodeCount},  {"clz", decodeCount},
      {"bfind", decodeFindLeading}, {"lop3", decodeLookUp},
  };
  return table;
}

} // namespace ulsc::simulator::ptx

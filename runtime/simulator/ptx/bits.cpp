// Logic, shifts and bit fields.
#include "simulator/ptx/decoder.h"
#include "simulator/ptx/warp.h"

namespace ulsc::simulator::ptx {

namespace {

struct And {
  template <typename T>
  static T apply(T a, T b) {
    return a & b;
  }
};
struct Or {
  template <typename T>
  static T apply(T a, T b) {
    return a | b;
  }
};
struct Xor {
  template <typename T>
  static T apply(T a, T b) {
    return a ^ b;
  }
};

template <typename T, typename Op>
void logic(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]), *b = warp.read<T>(in.source[1]);
  forLanes<T>(warp, in.result, [=](uint32_t lane) { return T(Op::apply(a[lane], b[lane])); });
}

template <typename Op>
void logicOfPredicates(Warp &warp, const Instruction &in) {
  setPredicate(warp, in.result,
               Op::apply(warp.predicateOf(in.source[0]), warp.predicateOf(in.source[1])));
}

template <typename T>
void complement(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]);
  forLanes<T>(warp, in.result, [=](uint32_t lane) { return T(~a[lane]); });
}

template <typename T>
void logicalNot(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]);
  forLanes<T>(warp, in.result, [=](uint32_t lane) { return T(a[lane] == 0); });
}

void notOfPredicate(Warp &warp, const Instruction &in) {
  setPredicate(warp, in.result, ~warp.predicateOf(in.source[0]));
}

/// Shifts by more than the width give 0, or the sign.
template <typename T, bool isLeft>
void shift(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]);
  const auto *b = warp.read<uint32_t>(in.source[1]);
  constexpr uint32_t width = 8 * sizeof(T);
  forLanes<T>(warp, in.result, [=](uint32_t lane) -> T {
    uint32_t count = b[lane];
    if (isLeft)
      return T(count >= width ? 0 : uint64_t(a[lane]) << count);
    bool isAllSign = count >= width;
    T shifted = T(a[lane] >> std::min(count, width - 1));
    return isAllSign && std::is_unsigned_v<T> ? T(0) : shifted;
  });
}

/// shf: mode bit 0 is left, bit 1 wraps.
void funnelShift(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<uint32_t>(in.source[0]), *b = warp.read<uint32_t>(in.source[1]),
             *c = warp.read<uint32_t>(in.source[2]);
  bool isLeft = in.mode & 1, wraps = in.mode & 2;
  forLanes<uint32_t>(warp, in.result, [=](uint32_t lane) {
    uint64_t both = uint64_t(b[lane]) << 32 | a[lane];
    uint32_t count = wraps ? c[lane] & 31 : std::min(c[lane], 32u);
    return uint32_t(isLeft ? (both << count) >> 32 : both >> count);
  });
}

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

template <typename A16, typename A32, typename A64>
Handler byWidth(Type type, const Opcode &opcode, A16 a, A32 b, A64 c) {
  switch (bytesOf(type)) {
  case 2:
    return a;
  case 4:
    return b;
  case 8:
    return c;
  default:
    opcode.refuseType(type);
  }
}

template <typename Op>
void decodeLogic(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  if (isFloatType(type))
    opcode.refuseType(type);
  Decoder::expectOperands(statement, 3);
  in.run = type == Type::Pred ? logicOfPredicates<Op>
                              : byWidth(type, opcode, logic<uint16_t, Op>, logic<uint32_t, Op>,
                                        logic<uint64_t, Op>);
  in.result = decoder.destination(statement.operands[0], type, in.line);
  in.source[0] = decoder.source(statement.operands[1], type, in.line);
  in.source[1] = decoder.source(statement.operands[2], type, in.line);
}

void decodeNot(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  Decoder::expectOperands(statement, 2);
  if (opcode.name() == "cnot")
    in.run =
        byWidth(type, opcode, logicalNot<uint16_t>, logicalNot<uint32_t>, logicalNot<uint64_t>);
  else
    in.run = type == Type::Pred ? notOfPredicate
                                : byWidth(type, opcode, complement<uint16_t>, complement<uint32_t>,
                                          complement<uint64_t>);
  in.result = decoder.destination(statement.operands[0], type, in.line);
  in.source[0] = decoder.source(statement.operands[1], type, in.line);
}

void decodeShift(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  Decoder::expectOperands(statement, 3);
  if (opcode.name() == "shl")
    in.run =
        byWidth(type, opcode, shift<uint16_t, true>, shift<uint32_t, true>, shift<uint64_t, true>);
  else if (isSignedType(type))
    in.run =
        byWidth(type, opcode, shift<int16_t, false>, shift<int32_t, false>, shift<int64_t, false>);
  else
    in.run = byWidth(type, opcode, shift<uint16_t, false>, shift<uint32_t, false>,
                     shift<uint64_t, false>);
  in.result = decoder.destination(statement.operands[0], type, in.line);
  in.source[0] = decoder.source(statement.operands[1], type, in.line);
  in.source[1] = decoder.source(statement.operands[2], Type::U32, in.line);
}

/// Sources of which the first `wide` have the type and the others are u32.
void fieldOperands(Decoder &decoder, const Statement &statement, Instruction &in, Type type,
                   Type result, size_t wide, size_t count) {
  Decoder::expectOperands(statement, count + 1);
  in.result = decoder.destination(statement.operands[0], result, in.line);
  for (size_t i = 0; i < count; ++i)
    in.source[i] = decoder.source(statement.operands[i + 1], i < wide ? type : Type::U32, in.line);
}

void decodeFunnelShift(Decoder &decoder, Opcode &opcode, const Statement &statement,
                       Instruction &in) {
  int direction = opcode.takeOneOf({"l", "r"}), wrap = opcode.takeOneOf({"clamp", "wrap"});
  Type type = opcode.requireType();
  if (direction < 0 || wrap < 0 || type != Type::B32)
    opcode.refuseType(type);
  in.mode = uint8_t((direction == 0 ? 1 : 0) | (wrap ? 2 : 0));
  in.run = funnelShift;
  fieldOperands(decoder, statement, in, Type::B32, Type::B32, 3, 3);
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

const DecodeTable &bitOpcodes() {
  static const DecodeTable table = {
      {"and", decodeLogic<And>}, {"or", decodeLogic<Or>},    {"xor", decodeLogic<Xor>},
      {"not", decodeNot},        {"cnot", decodeNot},        {"shl", decodeShift},
      {"shr", decodeShift},      {"shf", decodeFunnelShift}, {"prmt", decodePermute},
      {"bfe", decodeExtract},    {"bfi", decodeInsert},      {"brev", decodeReverse},
      {"popc", decodeCount},     {"clz", decodeCount},       {"bfind", decodeFindLeading},
      {"lop3", decodeLookUp},
  };
  return table;
}

} // namespace ulsc::simulator::ptx

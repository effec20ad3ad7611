// Logic and shifts.
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

void decodeFunnelShift(Decoder &decoder, Opcode &opcode, const Statement &statement,
                       Instruction &in) {
  int direction = opcode.takeOneOf({"l", "r"}), wrap = opcode.takeOneOf({"clamp", "wrap"});
  Type type = opcode.requireType();
  if (direction < 0 || wrap < 0 || type != Type::B32)
    opcode.refuseType(type);
  in.mode = uint8_t((direction == 0 ? 1 : 0) | (wrap ? 2 : 0));
  in.run = funnelShift;
  Decoder::expectOperands(statement, 4);
  in.result = decoder.destination(statement.operands[0], type, in.line);
  for (size_t i = 0; i < 3; ++i)
    in.source[i] = decoder.source(statement.operands[i + 1], type, in.line);
}

} // namespace

const DecodeTable &bitOpcodes() {
  static const DecodeTable table = {
      {"and", decodeLogic<And>}, {"or", decodeLogic<Or>},    {"xor", decodeLogic<Xor>},
      {"not", decodeNot},        {"cnot", decodeNot},        {"shl", decodeShift},
      {"shr", decodeShift},      {"shf", decodeFunnelShift},
  };
  return table;
}

} // namespace ulsc::simulator::ptx

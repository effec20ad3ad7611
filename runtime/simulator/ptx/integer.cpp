// Integer arithmetic.
#include "simulator/ptx/decoder.h"
#include "simulator/ptx/warp.h"

#include <limits>
#include <type_traits>

namespace ulsc::simulator::ptx {

namespace {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

/// Twice as wide, for high halves and wide products.
template <typename T>
using Wide = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

struct Add {
  template <typename T>
  static T apply(T a, T b) {
    return T(Unsigned<T>(a) + Unsigned<T>(b));
  }
};
struct Subtract {
  template <typename T>
  static T apply(T a, T b) {
    return T(Unsigned<T>(a) - Unsigned<T>(b));
  }
};
struct MultiplyLow {
  template <typename T>
  static T apply(T a, T b) {
    return T(uint64_t(a) * uint64_t(b));
  }
};
struct MultiplyHigh {
  template <typename T>
  static T apply(T a, T b) {
    return T((Wide<T>(a) * Wide<T>(b)) >> (8 * sizeof(T)));
  }
};
struct Divide { // by zero the result is unspecified; here all bits are set
  template <typename T>
  static T apply(T a, T b) {
    if (b == 0)
      return T(~T(0));
    if (std::is_signed_v<T> && b == T(-1))
      return T(0 - Unsigned<T>(a));
    return T(a / b);
  }
};
struct Remainder {
  template <typename T>
  static T apply(T a, T b) {
    if (b == 0)
      return a;
    return std::is_signed_v<T> && b == T(-1) ? T(0) : T(a % b);
  }
};
struct Minimum {
  template <typename T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};
struct Maximum {
  template <typename T>
  static T apply(T a, T b) {
    return a > b ? a : b;
  }
};
struct AddSaturated { // only s32
  template <typename T>
  static T apply(T a, T b) {
    auto sum = int64_t(a) + int64_t(b);
    return T(std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX));
  }
};
struct SubtractSaturated {
  template <typename T>
  static T apply(T a, T b) {
    auto sum = int64_t(a) - int64_t(b);
    return T(std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX));
  }
};
struct Negate {
  template <typename T>
  static T apply(T a) {
    return T(0 - Unsigned<T>(a));
  }
};
struct Absolute {
  template <typename T>
  static T apply(T a) {
    return a < 0 ? T(0 - Unsigned<T>(a)) : a;
  }
};

template <typename T, typename Op>
void unary(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]);
  forLanes<T>(warp, in.result, [=](uint32_t lane) { return Op::template apply<T>(a[lane]); });
}

template <typename T, typename Op>
void binary(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]), *b = warp.read<T>(in.source[1]);
  forLanes<T>(warp, in.result,
              [=](uint32_t lane) { return Op::template apply<T>(a[lane], b[lane]); });
}

template <typename T, typename Op>
void multiplyAdd(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]), *b = warp.read<T>(in.source[1]),
          *c = warp.read<T>(in.source[2]);
  forLanes<T>(warp, in.result, [=](uint32_t lane) {
    return Add::apply<T>(Op::template apply<T>(a[lane], b[lane]), c[lane]);
  });
}

template <typename T>
void multiplyWide(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]), *b = warp.read<T>(in.source[1]);
  forLanes<Wide<T>>(warp, in.result,
                    [=](uint32_t lane) { return Wide<T>(a[lane]) * Wide<T>(b[lane]); });
}

template <typename T>
void multiplyAddWide(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]), *b = warp.read<T>(in.source[1]);
  const auto *c = warp.read<Wide<T>>(in.source[2]);
  forLanes<Wide<T>>(warp, in.result, [=](uint32_t lane) {
    return Add::apply<Wide<T>>(Wide<T>(a[lane]) * Wide<T>(b[lane]), c[lane]);
  });
}

template <typename T>
void sumOfAbsoluteDifferences(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]), *b = warp.read<T>(in.source[1]),
          *c = warp.read<T>(in.source[2]);
  forLanes<T>(warp, in.result, [=](uint32_t lane) {
    T difference = a[lane] < b[lane] ? Subtract::apply<T>(b[lane], a[lane])
                                     : Subtract::apply<T>(a[lane], b[lane]);
    return Add::apply<T>(c[lane], difference);
  });
}

/// add.cc, addc, sub.cc, subc: mode bit 0 takes the carry, bit 1 sets it.
template <typename T, bool subtracts>
void withCarry(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]), *b = warp.read<T>(in.source[1]);
  uint32_t carryIn = in.mode & 1 ? warp.carry : 0, carryOut = 0;
  forLanes<T>(warp, in.result, [&](uint32_t lane) {
    T in1 = T((carryIn >> lane) & 1);
    using Double = Wide<T>;
    Double result = subtracts ? Double(a[lane]) - b[lane] - in1 : Double(a[lane]) + b[lane] + in1;
    carryOut |= uint32_t((result >> (8 * sizeof(T))) & 1) << lane;
    return T(result);
  });
  if (in.mode & 2)
    warp.carry = (warp.carry & ~warp.exec) | (carryOut & warp.exec);
}

/// Two 16-bit integers in 32 bits.
template <typename T16, typename Op>
void pairs(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<uint32_t>(in.source[0]), *b = warp.read<uint32_t>(in.source[1]);
  forLanes<uint32_t>(warp, in.result, [=](uint32_t lane) {
    auto half = [&](uint32_t shift) {
      return uint32_t(
          uint16_t(Op::template apply<T16>(T16(a[lane] >> shift), T16(b[lane] >> shift))));
    };
    return half(16) << 16 | half(0);
  });
}

/// The handler of `Op` for a 16, 32 or 64-bit integer type.
template <template <typename, typename> class Chosen, typename Op>
Handler choose(Type type, const Opcode &opcode) {
  switch (type) {
  case Type::U16:
  case Type::B16:
    return Chosen<uint16_t, Op>::run;
  case Type::S16:
    return Chosen<int16_t, Op>::run;
  case Type::U32:
  case Type::B32:
    return Chosen<uint32_t, Op>::run;
  case Type::S32:
    return Chosen<int32_t, Op>::run;
  case Type::U64:
  case Type::B64:
    return Chosen<uint64_t, Op>::run;
  case Type::S64:
    return Chosen<int64_t, Op>::run;
  default:
    opcode.refuseType(type);
  }
}

template <typename T, typename Op>
struct Unary {
  static constexpr Handler run = unary<T, Op>;
};
template <typename T, typename Op>
struct Binary {
  static constexpr Handler run = binary<T, Op>;
};
template <typename T, typename Op>
struct MultiplyAdd {
  static constexpr Handler run = multiplyAdd<T, Op>;
};
template <typename T, typename>
struct Sad {
  static constexpr Handler run = sumOfAbsoluteDifferences<T>;
};

void sources(Decoder &decoder, const Statement &statement, Instruction &in, Type type,
             size_t count) {
  Decoder::expectOperands(statement, count + 1);
  in.result = decoder.destination(statement.operands[0], type, in.line);
  for (size_t i = 0; i < count; ++i)
    in.source[i] = decoder.source(statement.operands[i + 1], type, in.line);
}

template <typename Op>
void decodeBinary(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  in.run = choose<Binary, Op>(type, opcode);
  sources(decoder, statement, in, type, 2);
}

template <typename Op>
void decodeUnary(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  if (!isSignedType(type))
    opcode.refuseType(type);
  in.run = choose<Unary, Op>(type, opcode);
  sources(decoder, statement, in, type, 1);
}

/// Whether the type is a pair of 16-bit integers, which then is decoded.
template <typename Op>
bool decodePair(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  int pair = opcode.takeOneOf({"u16x2", "s16x2"});
  if (pair < 0)
    return false;
  in.run = pair == 0 ? pairs<uint16_t, Op> : pairs<int16_t, Op>;
  sources(decoder, statement, in, Type::B32, 2);
  return true;
}

template <typename Op, typename Saturated, bool subtracts>
void decodeSum(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  if (!subtracts && opcode.name() == "add" && decodePair<Op>(decoder, opcode, statement, in))
    return;
  bool takesCarry = opcode.name().back() == 'c';
  bool setsCarry = opcode.take("cc");
  Type type = opcode.requireType();
  if (takesCarry || setsCarry) {
    in.mode = uint8_t((takesCarry ? 1 : 0) | (setsCarry ? 2 : 0));
    in.run = bytesOf(type) == 4   ? withCarry<uint32_t, subtracts>
             : bytesOf(type) == 8 ? withCarry<uint64_t, subtracts>
                                  : (opcode.refuseType(type), nullptr);
  } else if (opcode.take("sat")) {
    if (type != Type::S32)
      opcode.refuseType(type);
    in.run = binary<int32_t, Saturated>;
  } else {
    in.run = choose<Binary, Op>(type, opcode);
  }
  sources(decoder, statement, in, type, 2);
}

template <typename Op>
void decodeMinMax(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  if (!decodePair<Op>(decoder, opcode, statement, in))
    decodeBinary<Op>(decoder, opcode, statement, in);
}

Type widened(Type type, const Opcode &opcode) {
  switch (type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  case Type::S32:
    return Type::S64;
  default:
    opcode.refuseType(type);
  }
}

/// mul and mad, of which `adds` says which.
template <bool adds>
void decodeProduct(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  int part = opcode.takeOneOf({"lo", "hi", "wide"});
  Type type = opcode.requireType();
  if (part < 0)
    refuse(in.line, "'", opcode.spelling(), "' lacks .lo, .hi or .wide");
  if (part != 2) {
    if (adds)
      in.run = part == 0 ? choose<MultiplyAdd, MultiplyLow>(type, opcode)
                         : choose<MultiplyAdd, MultiplyHigh>(type, opcode);
    else
      in.run = part == 0 ? choose<Binary, MultiplyLow>(type, opcode)
                         : choose<Binary, MultiplyHigh>(type, opcode);
    return sources(decoder, statement, in, type, adds ? 3 : 2);
  }
  Type wide = widened(type, opcode);
  Decoder::expectOperands(statement, adds ? 4 : 3);
  in.result = decoder.destination(statement.operands[0], wide, in.line);
  in.source[0] = decoder.source(statement.operands[1], type, in.line);
  in.source[1] = decoder.source(statement.operands[2], type, in.line);
  if (adds)
    in.source[2] = decoder.source(statement.operands[3], wide, in.line);
  switch (type) {
  case Type::U16:
    in.run = adds ? multiplyAddWide<uint16_t> : multiplyWide<uint16_t>;
    break;
  case Type::S16:
    in.run = adds ? multiplyAddWide<int16_t> : multiplyWide<int16_t>;
    break;
  case Type::U32:
    in.run = adds ? multiplyAddWide<uint32_t> : multiplyWide<uint32_t>;
    break;
  default:
    in.run = adds ? multiplyAddWide<int32_t> : multiplyWide<int32_t>;
    break;
  }
}

void decodeSad(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  in.run = choose<Sad, void>(type, opcode);
  sources(decoder, statement, in, type, 3);
}

} // namespace

const DecodeTable &integerOpcodes() {
  static const DecodeTable table = {
      {"add", decodeSum<Add, AddSaturated, false>},
      {"addc", decodeSum<Add, AddSaturated, false>},
      {"sub", decodeSum<Subtract, SubtractSaturated, true>},
      {"subc", decodeSum<Subtract, SubtractSaturated, true>},
      {"mul", decodeProduct<false>},
      {"mad", decodeProduct<true>},
      {"sad", decodeSad},
      {"div", decodeBinary<Divide>},
      {"rem", decodeBinary<Remainder>},
      {"min", decodeMinMax<Minimum>},
      {"max", decodeMinMax<Maximum>},
      {"neg", decodeUnary<Negate>},
      {"abs", decodeUnary<Absolute>},
  };
  return table;
}

} // namespace ulsc::simulator::ptx

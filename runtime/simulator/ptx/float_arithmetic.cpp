// Arithmetic of f32, f32x2 and f64, rounded to nearest even.
#include "simulator/ptx/float_values.h"
#include "simulator/ptx/warp.h"

#include <limits>

namespace ulsc::simulator::ptx {

namespace {

struct Add {
  template <typename T>
  static T apply(T a, T b, T) {
    return a + b;
  }
};
struct Subtract {
  template <typename T>
  static T apply(T a, T b, T) {
    return a - b;
  }
};
struct Multiply {
  template <typename T>
  static T apply(T a, T b, T) {
    return a * b;
  }
};
struct Fma {
  template <typename T>
  static T apply(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};
struct Divide {
  template <typename T>
  static T apply(T a, T b, T) {
    return a / b;
  }
};
struct SquareRoot {
  template <typename T>
  static T apply(T a, T, T) {
    return std::sqrt(a);
  }
};
struct Reciprocal {
  template <typename T>
  static T apply(T a, T, T) {
    return T(1) / a;
  }
};

/// Unused sources are the first one again. `isPlain`: neither .ftz nor .sat.
template <typename T, typename Op, bool isPlain>
void arithmetic(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]), *b = warp.read<T>(in.source[1]),
          *c = warp.read<T>(in.source[2]);
  if (isPlain) {
    forLanes<T>(warp, in.result, [=](uint32_t lane) {
      return canonical(Op::template apply<T>(a[lane], b[lane], c[lane]));
    });
    return;
  }
  bool flushes = in.flushes, saturates = in.saturates;
  forLanes<T>(warp, in.result, [=](uint32_t lane) {
    T x = a[lane], y = b[lane], z = c[lane];
    if (flushes)
      x = flush(x), y = flush(y), z = flush(z);
    T value = Op::template apply<T>(x, y, z);
    if (flushes)
      value = flush(value);
    return canonical(saturates ? saturate(value) : value);
  });
}

/// Two single-precision numbers in 64 bits.
template <typename Op>
void arithmeticOfPairs(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<uint64_t>(in.source[0]), *b = warp.read<uint64_t>(in.source[1]),
             *c = warp.read<uint64_t>(in.source[2]);
  bool flushes = in.flushes;
  forLanes<uint64_t>(warp, in.result, [=](uint32_t lane) {
    uint64_t result = 0;
    for (int half = 0; half < 64; half += 32) {
      auto x = bitsAs<float>(uint32_t(a[lane] >> half)),
           y = bitsAs<float>(uint32_t(b[lane] >> half)),
           z = bitsAs<float>(uint32_t(c[lane] >> half));
      if (flushes)
        x = flush(x), y = flush(y), z = flush(z);
      float value = Op::template apply<float>(x, y, z);
      result |= uint64_t(bitsAs<uint32_t>(canonical(flushes ? flush(value) : value))) << half;
    }
    return result;
  });
}

/// The factors (of an addition: the first term) have 16 bits, the other term and the result are
/// f32.
template <typename Op, typename E>
void mixedArithmetic(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<uint16_t>(in.source[0]);
  bool saturates = in.saturates, isFma = std::is_same_v<Op, Fma>;
  const auto *b = isFma ? warp.read<uint16_t>(in.source[1]) : a;
  const auto *c = warp.read<float>(in.source[isFma ? 2 : 1]);
  forLanes<float>(warp, in.result, [=](uint32_t lane) {
    float x = E{a[lane]}.value(), y = isFma ? E{b[lane]}.value() : c[lane];
    float value = Op::template apply<float>(x, y, c[lane]);
    return canonical(saturates ? saturate(value) : value);
  });
}

template <typename Op>
void decodeMixed(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in,
                 Type narrow) {
  constexpr bool isFma = std::is_same_v<Op, Fma>,
                 isSum = std::is_same_v<Op, Add> || std::is_same_v<Op, Subtract>;
  if ((!isFma && !isSum) || in.flushes || (narrow != Type::F16 && narrow != Type::BF16))
    opcode.refuseType(narrow);
  size_t count = isFma ? 3 : 2;
  Decoder::expectOperands(statement, count + 1);
  in.result = decoder.destination(statement.operands[0], Type::F32, in.line);
  for (size_t i = 0; i < count; ++i)
    in.source[i] =
        decoder.source(statement.operands[i + 1], i + 1 < count ? narrow : Type::F32, in.line);
  in.run = narrow == Type::F16 ? mixedArithmetic<Op, Half> : mixedArithmetic<Op, BFloat>;
}

#if defined(__x86_64__)
/// Most of the work of a model: with the processor's own instruction where it has one.
__attribute__((target("avx2,fma"))) void fastFma(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<float>(in.source[0]), *b = warp.read<float>(in.source[1]),
             *c = warp.read<float>(in.source[2]);
  alignas(32) float values[warpLanes];
  for (uint32_t lane = 0; lane < warpLanes; ++lane) {
    float value = __builtin_fmaf(a[lane], b[lane], c[lane]);
    values[lane] = value == value ? value : bitsAs<float>(0x7fffffffu);
  }
  auto *target = warp.at<float>(in.result);
  if (warp.exec == ~0u) {
    std::memcpy(target, values, sizeof values);
    return;
  }
  for (uint32_t lane = 0; lane < warpLanes; ++lane)
    target[lane] = (warp.exec >> lane) & 1 ? values[lane] : target[lane];
}

Handler plainFma() {
  static const bool hasFma = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  return hasFma ? fastFma : arithmetic<float, Fma, true>;
}
#else
Handler plainFma() { return arithmetic<float, Fma, true>; }
#endif

template <typename Op>
void decodeArithmetic(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in,
                      Arithmetic operation, size_t count) {
  Rounding rounding = opcode.takeRounding();
  bool isApproximate = opcode.takeOneOf({"approx", "full"}) >= 0;
  in.flushes = opcode.take("ftz");
  in.saturates = opcode.take("sat");
  Type type = opcode.requireType();
  bool isDirected = rounding != Rounding::Nearest;
  if (isApproximate && operation < Arithmetic::Divide)
    refuse(in.line, "'", opcode.spelling(), "' has no approximation");
  if (isHalfType(type)) {
    if (isDirected || isApproximate)
      opcode.refuseType(type);
    return decodeHalf(decoder, opcode, statement, in, type);
  }
  if (Type narrow = opcode.takeType();
      type == Type::F32 && narrow != Type::None && !isDirected && !isApproximate)
    return decodeMixed<Op>(decoder, opcode, statement, in, narrow);
  else if (narrow != Type::None)
    opcode.refuseType(narrow);
  floatOperands(decoder, statement, in, type, count);
  if (type == Type::F32x2) {
    if (isDirected || in.saturates || isApproximate || operation > Arithmetic::Fma)
      opcode.refuseType(type);
    in.run = arithmeticOfPairs<Op>;
  } else if (type != Type::F32 && type != Type::F64) {
    opcode.refuseType(type);
  } else if (isDirected) {
    if (rounding == Rounding::NearestAway)
      opcode.refuseType(type);
    in.mode = uint8_t(rounding);
    in.run = directedArithmetic(operation, type);
  } else if (type == Type::F64) {
    in.run = arithmetic<double, Op, false>;
  } else if (in.flushes || in.saturates) {
    in.run = arithmetic<float, Op, false>;
  } else {
    in.run = operation == Arithmetic::Fma ? plainFma() : arithmetic<float, Op, true>;
  }
}

template <typename Op, Arithmetic operation, size_t count>
void decode(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  decodeArithmetic<Op>(decoder, opcode, statement, in, operation, count);
}

// min, max, neg, abs, copysign.

template <typename T, bool isMaximum>
void minMax(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]), *b = warp.read<T>(in.source[1]),
          *c = warp.read<T>(in.source[2]);
  bool flushes = in.flushes, keepsNan = in.mode & 1, usesXorSign = in.mode & 2;
  bool hasThree = in.count == 3;
  auto pick = [=](T x, T y) {
    if (keepsNan && (x != x || y != y))
      return std::numeric_limits<T>::quiet_NaN();
    if (usesXorSign) {
      T sign = std::copysign(T(1), x) * std::copysign(T(1), y);
      T value =
          isMaximum ? maximumOf(std::fabs(x), std::fabs(y)) : minimumOf(std::fabs(x), std::fabs(y));
      return std::copysign(value, sign);
    }
    return isMaximum ? maximumOf(x, y) : minimumOf(x, y);
  };
  forLanes<T>(warp, in.result, [=](uint32_t lane) {
    T x = a[lane], y = b[lane], z = c[lane];
    if (flushes)
      x = flush(x), y = flush(y), z = flush(z);
    T value = pick(x, y);
    return canonical(hasThree ? pick(value, z) : value);
  });
}

template <bool isMaximum>
void decodeMinMax(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  in.flushes = opcode.take("ftz");
  in.mode = opcode.take("NaN") ? 1 : 0;
  if (opcode.take("xorsign")) {
    if (!opcode.take("abs"))
      refuse(in.line, "'", opcode.spelling(), "' has .xorsign without .abs");
    in.mode |= 2;
  }
  Type type = opcode.requireType();
  if (isHalfType(type))
    return decodeHalf(decoder, opcode, statement, in, type);
  in.count = statement.operands.size() == 4 && type == Type::F32 ? 3 : 2;
  floatOperands(decoder, statement, in, type, in.count);
  in.run = type == Type::F32   ? minMax<float, isMaximum>
           : type == Type::F64 ? minMax<double, isMaximum>
                               : (opcode.refuseType(type), nullptr);
}

/// neg and abs change one bit, also of a NaN.
template <typename T, typename Bits, bool isNegation>
void changeSign(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<T>(in.source[0]);
  bool flushes = in.flushes;
  constexpr Bits sign = Bits(1) << (8 * sizeof(T) - 1);
  forLanes<Bits>(warp, in.result, [=](uint32_t lane) {
    Bits bits = bitsAs<Bits>(flushes ? flush(a[lane]) : a[lane]);
    return isNegation ? bits ^ sign : bits & ~sign;
  });
}

template <bool isNegation>
void decodeSign(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  in.flushes = opcode.take("ftz");
  Type type = opcode.requireType();
  if (isHalfType(type))
    return decodeHalf(decoder, opcode, statement, in, type);
  floatOperands(decoder, statement, in, type, 1);
  in.run = type == Type::F32   ? changeSign<float, uint32_t, isNegation>
           : type == Type::F64 ? changeSign<double, uint64_t, isNegation>
                               : (opcode.refuseType(type), nullptr);
}

template <typename Bits>
void copySign(Warp &warp, const Instruction &in) {
  const Bits *a = warp.read<Bits>(in.source[0]), *b = warp.read<Bits>(in.source[1]);
  constexpr Bits sign = Bits(1) << (8 * sizeof(Bits) - 1);
  forLanes<Bits>(warp, in.result,
                 [=](uint32_t lane) { return (a[lane] & sign) | (b[lane] & ~sign); });
}

void decodeCopySign(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  floatOperands(decoder, statement, in, type, 2);
  in.run = type == Type::F32   ? copySign<uint32_t>
           : type == Type::F64 ? copySign<uint64_t>
                               : (opcode.refuseType(type), nullptr);
}

// Functions that the hardware approximates: here the C library's values.

struct ExponentOf2 {
  static float apply(float x) { return std::exp2(x); }
};
struct LogarithmTo2 {
  static float apply(float x) { return std::log2(x); }
};
struct Sine {
  static float apply(float x) { return std::sin(x); }
};
struct Cosine {
  static float apply(float x) { return std::cos(x); }
};
struct HyperbolicTangent {
  static float apply(float x) { return std::tanh(x); }
};
struct ReciprocalRoot {
  static float apply(float x) { return float(1.0 / std::sqrt(double(x))); }
};

template <typename F>
void approximate(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<float>(in.source[0]);
  float values[warpLanes] = {};
  forActive(warp, [&](uint32_t lane) {
    float value = F::apply(in.flushes ? flush(a[lane]) : a[lane]);
    values[lane] = canonical(in.flushes ? flush(value) : value);
  });
  forLanes<float>(warp, in.result, [&](uint32_t lane) { return values[lane]; });
}

void reciprocalRoot64(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<double>(in.source[0]);
  forLanes<double>(warp, in.result, [=](uint32_t lane) { return 1.0 / std::sqrt(a[lane]); });
}

template <typename F>
void decodeFunction(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  if (!opcode.take("approx"))
    refuse(in.line, "'", opcode.spelling(), "' lacks .approx");
  in.flushes = opcode.take("ftz");
  Type type = opcode.requireType();
  if (isHalfType(type))
    return decodeHalf(decoder, opcode, statement, in, type);
  floatOperands(decoder, statement, in, type, 1);
  if (type == Type::F64 && std::is_same_v<F, ReciprocalRoot>)
    in.run = reciprocalRoot64;
  else
    in.run = type == Type::F32 ? approximate<F> : (opcode.refuseType(type), nullptr);
}

} // namespace

void floatOperands(Decoder &decoder, const Statement &statement, Instruction &in, Type type,
                   size_t count) {
  Decoder::expectOperands(statement, count + 1);
  in.result = decoder.destination(statement.operands[0], type, in.line);
  for (size_t i = 0; i < 3; ++i)
    in.source[i] =
        i < count ? decoder.source(statement.operands[i + 1], type, in.line) : in.source[0];
}

const DecodeTable &floatOpcodes() {
  static const DecodeTable table = {
      {"add", decode<Add, Arithmetic::Add, 2>},
      {"sub", decode<Subtract, Arithmetic::Subtract, 2>},
      {"mul", decode<Multiply, Arithmetic::Multiply, 2>},
      {"fma", decode<Fma, Arithmetic::Fma, 3>},
      {"mad", decode<Fma, Arithmetic::Fma, 3>},
      {"div", decode<Divide, Arithmetic::Divide, 2>},
      {"sqrt", decode<SquareRoot, Arithmetic::SquareRoot, 1>},
      {"rcp", decode<Reciprocal, Arithmetic::Reciprocal, 1>},
      {"min", decodeMinMax<false>},
      {"max", decodeMinMax<true>},
      {"neg", decodeSign<true>},
      {"abs", decodeSign<false>},
      {"copysign", decodeCopySign},
      {"ex2", decodeFunction<ExponentOf2>},
      {"lg2", decodeFunction<LogarithmTo2>},
      {"sin", decodeFunction<Sine>},
      {"cos", decodeFunction<Cosine>},
      {"tanh", decodeFunction<HyperbolicTangent>},
      {"rsqrt", decodeFunction<ReciprocalRoot>},
  };
  return table;
}

} // namespace ulsc::simulator::ptx

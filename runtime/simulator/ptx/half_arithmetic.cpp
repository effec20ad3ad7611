// Arithmetic of f16 and bf16 and of pairs of them: every operation rounds once.
#include "simulator/ptx/float_values.h"
#include "simulator/ptx/warp.h"

namespace ulsc::simulator::ptx {

namespace {

constexpr uint16_t canonicalNan = 0x7fff;

template <typename E>
bool isNan(E a) {
  return a.value() != a.value();
}

// Double holds sums and products of f16 exactly, and products of bf16; its sums are rounded to odd.
struct Add {
  template <typename E>
  static E apply(E a, E b, E, uint8_t) {
    return E::from(fmaToOdd(a.value(), 1, b.value()));
  }
};
struct Subtract {
  template <typename E>
  static E apply(E a, E b, E, uint8_t) {
    return E::from(fmaToOdd(a.value(), 1, -b.value()));
  }
};
struct Multiply {
  template <typename E>
  static E apply(E a, E b, E, uint8_t) {
    return E::from(double(a.value()) * b.value());
  }
};
struct Fma {
  template <typename E>
  static E apply(E a, E b, E c, uint8_t) {
    return E::from(fmaToOdd(a.value(), b.value(), c.value()));
  }
};
template <bool isMaximum>
struct MinMax { // mode as in float_arithmetic.cpp
  template <typename E>
  static E apply(E a, E b, E, uint8_t mode) {
    if ((isNan(a) && isNan(b)) || ((mode & 1) && (isNan(a) || isNan(b))))
      return {canonicalNan};
    float x = a.value(), y = b.value();
    if (!(mode & 2))
      return E::from(isMaximum ? maximumOf(x, y) : minimumOf(x, y));
    float value =
        isMaximum ? maximumOf(std::fabs(x), std::fabs(y)) : minimumOf(std::fabs(x), std::fabs(y));
    return E::from(std::signbit(x) != std::signbit(y) ? -value : value);
  }
};
struct Negate {
  template <typename E>
  static E apply(E a, E, E, uint8_t) {
    return {uint16_t(a.bits ^ 0x8000)};
  }
};
struct Absolute {
  template <typename E>
  static E apply(E a, E, E, uint8_t) {
    return {uint16_t(a.bits & 0x7fff)};
  }
};
struct ExponentOf2 {
  template <typename E>
  static E apply(E a, E, E, uint8_t) {
    return E::from(std::exp2(double(a.value())));
  }
};
struct HyperbolicTangent {
  template <typename E>
  static E apply(E a, E, E, uint8_t) {
    return E::from(std::tanh(double(a.value())));
  }
};

template <typename E>
E flushHalf(E a) {
  constexpr int fraction = std::is_same_v<E, Half> ? 10 : 7;
  bool isSubnormal = ((a.bits & 0x7fff) >> fraction) == 0;
  return isSubnormal ? E{uint16_t(a.bits & 0x8000)} : a;
}

/// .sat, .relu and .ftz around one operation.
template <typename E, typename Op>
uint16_t element(uint16_t a, uint16_t b, uint16_t c, const Instruction &in) {
  E x{a}, y{b}, z{c};
  if (in.flushes)
    x = flushHalf(x), y = flushHalf(y), z = flushHalf(z);
  E result = Op::template apply<E>(x, y, z, in.mode);
  if (in.flushes)
    result = flushHalf(result);
  if (in.saturates)
    result = E::from(saturate(result.value()));
  else if (in.isNegated && !isNan(result) && (result.bits & 0x8000)) // .relu
    result = {0};
  return result.bits;
}

template <typename E, typename Op>
void single(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<uint16_t>(in.source[0]), *b = warp.read<uint16_t>(in.source[1]),
             *c = warp.read<uint16_t>(in.source[2]);
  forLanes<uint16_t>(warp, in.result, [=, &in](uint32_t lane) {
    return element<E, Op>(a[lane], b[lane], c[lane], in);
  });
}

template <typename E, typename Op>
void pairs(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<uint32_t>(in.source[0]), *b = warp.read<uint32_t>(in.source[1]),
             *c = warp.read<uint32_t>(in.source[2]);
  forLanes<uint32_t>(warp, in.result, [=, &in](uint32_t lane) {
    uint32_t low = element<E, Op>(uint16_t(a[lane]), uint16_t(b[lane]), uint16_t(c[lane]), in);
    uint32_t high = element<E, Op>(uint16_t(a[lane] >> 16), uint16_t(b[lane] >> 16),
                                   uint16_t(c[lane] >> 16), in);
    return low | high << 16;
  });
}

template <typename Op>
Handler choose(Type type) {
  switch (type) {
  case Type::F16:
    return single<Half, Op>;
  case Type::BF16:
    return single<BFloat, Op>;
  case Type::F16x2:
    return pairs<Half, Op>;
  default:
    return pairs<BFloat, Op>;
  }
}

struct Row {
  const char *name;
  size_t count;
  Handler (*choose)(Type);
};

constexpr Row rows[] = {
    {"add", 2, choose<Add>},           {"sub", 2, choose<Subtract>},
    {"mul", 2, choose<Multiply>},      {"fma", 3, choose<Fma>},
    {"min", 2, choose<MinMax<false>>}, {"max", 2, choose<MinMax<true>>},
    {"neg", 1, choose<Negate>},        {"abs", 1, choose<Absolute>},
    {"ex2", 1, choose<ExponentOf2>},   {"tanh", 1, choose<HyperbolicTangent>},
};

} // namespace

bool isHalfType(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::F16x2 || type == Type::BF16x2;
}

void decodeHalf(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in,
                Type type) {
  in.isNegated = opcode.take("relu");
  for (const Row &row : rows)
    if (opcode.name() == row.name) {
      floatOperands(decoder, statement, in, type, row.count);
      in.run = row.choose(type);
      return;
    }
  opcode.refuseType(type);
}

} // namespace ulsc::simulator::ptx

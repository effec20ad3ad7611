// Half precision and bfloat16: conversions with one rounding, in software.
#ifndef ULSC_RUNTIME_SIMULATOR_PTX_FLOAT16_H
#define ULSC_RUNTIME_SIMULATOR_PTX_FLOAT16_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace ulsc::simulator::ptx {

enum class Rounding : uint8_t { Nearest, Zero, Down, Up, NearestAway };

template <typename To, typename From>
inline To bitsAs(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

/// A double rounded to a format with `fraction` stored fraction bits and exponents of `exponent`
/// bits, as that format's bits. NaN becomes the canonical NaN with all lower bits set, as PTX says.
template <int fraction, int exponent>
inline uint16_t roundToFormat(double value, Rounding rounding) {
  constexpr int bias = (1 << (exponent - 1)) - 1;
  constexpr uint16_t infinity = uint16_t(((1 << exponent) - 1) << fraction);
  uint64_t bits = bitsAs<uint64_t>(value);
  auto sign = uint16_t((bits >> 63) << 15);
  if (value != value)
    return 0x7fff;
  int power = int((bits >> 52) & 0x7ff) - 1023;
  if (power == 1024)
    return sign | infinity;
  if ((bits << 1) == 0)
    return sign;
  uint64_t mantissa = (bits & 0xfffffffffffffu) | (power == -1023 ? 0 : uint64_t(1) << 52);
  if (power == -1023)
    power = -1022;
  int drop = 52 - fraction; // bits that the format can't hold
  if (power < 1 - bias)
    drop += 1 - bias - power;
  uint64_t kept = drop > 63 ? 0 : mantissa >> drop;
  uint64_t rest = drop > 63 ? 1 : mantissa & ((uint64_t(1) << drop) - 1);
  uint64_t half = drop > 63 ? 2 : uint64_t(1) << (drop - 1);
  bool up = false;
  if (rounding == Rounding::Nearest)
    up = rest > half || (rest == half && (kept & 1));
  else if (rounding == Rounding::NearestAway)
    up = rest >= half;
  else if (rounding == Rounding::Up)
    up = rest && !sign;
  else if (rounding == Rounding::Down)
    up = rest && sign;
  kept += up;
  // The hidden bit of a normal number adds one to the exponent, and so does a carry.
  int stored = power < 1 - bias ? 0 : power + bias - 1;
  uint64_t result = (uint64_t(stored) << fraction) + kept;
  if (result >= infinity) {
    bool away = rounding == Rounding::Nearest || rounding == Rounding::NearestAway ||
                (rounding == Rounding::Up && !sign) || (rounding == Rounding::Down && sign);
    return sign | (away ? infinity : uint16_t(infinity - 1));
  }
  return sign | uint16_t(result);
}

struct Half {
  uint16_t bits;
  static Half from(double value, Rounding rounding = Rounding::Nearest) {
    return {roundToFormat<10, 5>(value, rounding)};
  }
  float value() const {
    uint32_t sign = uint32_t(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
    if (magnitude >= 0x7c00)
      return bitsAs<float>(sign | 0x7f800000u | (magnitude & 0x3ff) << 13);
    // A multiplication by a power of two makes a normal number of a subnormal one.
    float scaled = bitsAs<float>(magnitude << 13) * 0x1p112f;
    return bitsAs<float>(sign | bitsAs<uint32_t>(scaled));
  }
};

struct BFloat {
  uint16_t bits;
  static BFloat from(double value, Rounding rounding = Rounding::Nearest) {
    return {roundToFormat<7, 8>(value, rounding)};
  }
  /// The common case: float to bfloat16, to nearest even.
  static BFloat fromFloat(float value) {
    uint32_t bits = bitsAs<uint32_t>(value);
    uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return {value != value ? uint16_t(0x7fff) : uint16_t(rounded)};
  }
  float value() const { return bitsAs<float>(uint32_t(bits) << 16); }
};

/// a * b + c for products that double holds exactly, rounded to odd: one later rounding to fewer
/// bits is then right.
inline double fmaToOdd(double a, double b, double c) {
  double product = a * b, sum = product + c;
  if (!std::isfinite(sum))
    return sum;
  double shift = sum - product;
  double error = (product - (sum - shift)) + (c - shift);
  uint64_t bits = bitsAs<uint64_t>(sum);
  if (error == 0 || (bits & 1))
    return sum;
  // The sum was rounded to an even neighbour: the odd one lies towards the error.
  return bitsAs<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

} // namespace ulsc::simulator::ptx

#endif // ULSC_RUNTIME_SIMULATOR_PTX_FLOAT16_H

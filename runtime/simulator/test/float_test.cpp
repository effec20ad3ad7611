// Floating-point instructions against exact values that are rounded by search.
#include "instructions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace ulsc::simulator::test;

namespace {

template <typename To, typename From>
To bitsAs(From value) {
  To result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}
float f32(uint64_t bits) { return bitsAs<float>(uint32_t(bits)); }
uint64_t bits32(float value) { return bitsAs<uint32_t>(value); }

using Exact = __float128;

/// A format of 16 bits by its definition.
struct Format {
  const char *name;
  int fraction, bias;
  Exact value(uint64_t bits) const { // not of NaN and infinity
    int exponent = int(bits >> fraction) & ((1 << (15 - fraction)) - 1);
    Exact mantissa =
        Exact(bits & ((1u << fraction) - 1)) + (exponent ? Exact(1u << fraction) : Exact(0));
    int power = std::max(exponent, 1) - bias - fraction;
    Exact result = mantissa;
    for (; power > 0; --power)
      result *= 2;
    for (; power < 0; ++power)
      result /= 2;
    return bits & 0x8000 ? -result : result;
  }
  uint64_t infinity() const { return 0x7fffu >> fraction << fraction; }
  /// The neighbours of a magnitude by search, then the rule of the rounding.
  uint64_t rounded(Exact exact, const std::string &rounding) const {
    bool isNegative = exact < 0;
    Exact magnitude = isNegative ? -exact : exact;
    uint64_t low = 0, high = infinity();
    while (high - low > 1) {
      uint64_t middle = (low + high) / 2;
      (value(middle) <= magnitude ? low : high) = middle;
    }
    uint64_t sign = isNegative ? 0x8000 : 0;
    if (value(low) == magnitude)
      return sign | low;
    if (rounding == "rz" || rounding == (isNegative ? "rp" : "rm"))
      return sign | low;
    if (rounding != "rn")
      return sign | high;
    // Beyond the largest number the next one of the same spacing decides.
    Exact above = high == infinity() ? value(low) * 2 - value(low - 1) : value(high);
    Exact half = (value(low) + above) / 2;
    return sign | (magnitude < half || (magnitude == half && low % 2 == 0) ? low : high);
  }
};

const Format half{"f16", 10, 15}, bfloat{"bf16", 7, 127};

/// Patterns of finite numbers of the format, small and large ones.
Words finite(const Format &format, size_t count, uint64_t seed) {
  Words result = randomWords(count, seed);
  for (uint64_t &bits : result) {
    bits = (bits ^ bits >> 17 ^ bits >> 33) & 0xffff;
    if ((bits & 0x7fff) >= format.infinity())
      bits &= 0xbfff;
  }
  return result;
}

/// Near enough to each other that all of a sum fits into the exact type.
void moderate(const Format &format, Words &words) {
  if (format.fraction == 7)
    for (uint64_t &bits : words)
      bits = (bits & 0x87ff) | 0x3800;
}

class Halves : public testing::TestWithParam<Format> {};

} // namespace

TEST_P(Halves, ConversionsFromSingleRoundOnce) {
  const Format &format = GetParam();
  Words a = randomWords(512, 5);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] &= 0xffffffff;
    if (i % 2) { // halfway between two numbers of the format, and just beside
      auto middle = float(
          (format.value(finite(format, 512, 6)[i]) + format.value(finite(format, 512, 6)[i] ^ 1)) /
          2);
      a[i] = bits32(middle) + i % 3 - 1;
    }
    if (!std::isfinite(f32(a[i])))
      a[i] = bits32(float(i));
  }
  for (const std::string rounding : {"rn", "rz", "rm", "rp"}) {
    std::string text = "cvt." + rounding + "." + format.name + ".f32 %h5, %r2;";
    Words result = evaluate(text, 'h', a, {}, {}, "", 90);
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(result[i], format.rounded(f32(a[i]), rounding) | (a[i] >> 31 << 15))
          << text << " of " << f32(a[i]);
  }
  std::string pair = std::string("cvt.rn.") + format.name + "x2.f32 %r5, %r2, %r3;";
  Words both = evaluate(pair, 'r', a, Words(a.rbegin(), a.rend()));
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(both[i] >> 16, format.rounded(f32(a[i]), "rn") | (a[i] >> 31 << 15));
}

TEST_P(Halves, ArithmeticRoundsOnce) {
  const Format &format = GetParam();
  Words a = finite(format, 1024, 1), b = finite(format, 1024, 2), c = finite(format, 1024, 3);
  for (Words *words : {&a, &b, &c})
    moderate(format, *words);
  auto expectAll = [&](const std::string &opcode, const char *operands,
                       const std::function<Exact(Exact, Exact, Exact)> &f) {
    std::string text = opcode + "." + format.name + " %h5, " + operands + ";";
    Words result = evaluate(text, 'h', a, b, c, "", 90);
    for (size_t i = 0; i < a.size(); ++i) {
      Exact exact = f(format.value(a[i]), format.value(b[i]), format.value(c[i]));
      if (exact != 0) // the sign of a zero has a test of its own
        EXPECT_EQ(result[i], format.rounded(exact, "rn"))
            << text << " of " << a[i] << ", " << b[i] << ", " << c[i];
    }
  };
  expectAll("add.rn", "%h2, %h3", [](Exact x, Exact y, Exact) { return x + y; });
  expectAll("sub.rn", "%h2, %h3", [](Exact x, Exact y, Exact) { return x - y; });
  expectAll("mul.rn", "%h2, %h3", [](Exact x, Exact y, Exact) { return x * y; });
  expectAll("fma.rn", "%h2, %h3, %h4", [](Exact x, Exact y, Exact z) { return x * y + z; });
}

TEST_P(Halves, PairsAreTwoNumbers) {
  const Format &format = GetParam();
  Words a = randomWords(256, 7), b = randomWords(256, 8), highA = a, highB = b;
  for (size_t i = 0; i < a.size(); ++i)
    highA[i] = a[i] >> 16, highB[i] = b[i] >> 16;
  for (const std::string opcode : {"add.rn", "mul.rn", "min", "max.NaN"}) {
    std::string name = opcode + "." + format.name;
    Words low = evaluate(name + " %h5, %h2, %h3;", 'h', a, b, {}, "", 90);
    Words high = evaluate(name + " %h5, %h2, %h3;", 'h', highA, highB, {}, "", 90);
    Words both = evaluate(name + "x2 %r5, %r2, %r3;", 'r', a, b, {}, "", 90);
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(both[i], high[i] << 16 | low[i]) << name;
  }
}

TEST_P(Halves, EveryPatternConvertsToSingleExactly) {
  const Format &format = GetParam();
  for (uint64_t first = 0; first < 0x10000; first += 1024) {
    Words a;
    for (uint64_t i = 0; i < 1024; ++i)
      a.push_back(first + i);
    Words result =
        evaluate(std::string("cvt.f32.") + format.name + " %r5, %h2;", 'r', a, {}, {}, "", 90);
    for (size_t i = 0; i < a.size(); ++i)
      if ((a[i] & 0x7fff) > format.infinity())
        EXPECT_EQ(result[i], 0x7fffffffu);
      else if ((a[i] & 0x7fff) < format.infinity())
        EXPECT_EQ(result[i], bits32(float(format.value(a[i]))) | (a[i] >> 15 << 31)) << a[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Halves, testing::Values(half, bfloat),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Single, DirectedRoundings) {
  Words a, b;
  for (int i = 0; i < 256; ++i) {
    a.push_back(bits32(std::sin(float(i)) * 3 + 1e-3f));
    b.push_back(bits32(std::cos(float(i)) * 2 + 2e-3f));
  }
  auto expectAll = [&](const std::string &opcode, const std::function<double(double, double)> &f) {
    for (const std::string rounding : {"rn", "rz", "rm", "rp"}) {
      Words result = evaluate(opcode + "." + rounding + ".f32 %r5, %r2, %r3;", 'r', a, b);
      for (size_t i = 0; i < a.size(); ++i) {
        double exact = f(f32(a[i]), f32(b[i])); // double holds it
        auto nearest = float(exact);
        float below = double(nearest) <= exact ? nearest : std::nextafter(nearest, -INFINITY);
        float above = double(nearest) >= exact ? nearest : std::nextafter(nearest, INFINITY);
        float expected = rounding == "rn"   ? nearest
                         : rounding == "rm" ? below
                         : rounding == "rp" ? above
                                            : (exact < 0 ? above : below);
        EXPECT_EQ(f32(result[i]), expected) << opcode << "." << rounding;
      }
    }
  };
  expectAll("add", [](double x, double y) { return x + y; });
  expectAll("sub", [](double x, double y) { return x - y; });
  expectAll("mul", [](double x, double y) { return x * y; });
}

TEST(Single, FmaRoundsOnce) {
  Words a = randomWords(512, 21), b = randomWords(512, 22), c = randomWords(512, 23);
  for (Words *words : {&a, &b, &c})
    for (uint64_t &word : *words)
      word = (word & 0x87ffffff) | 0x38000000; // all of the product and sum in 113 bits
  Words result = evaluate("fma.rn.f32 %r5, %r2, %r3, %r4;", 'r', a, b, c);
  Words pairs =
      evaluate("mov.b64 %rd6, {%r2, %r3}; mov.b64 %rd7, {%r3, %r2}; mov.b64 %rd8, {%r4, %r4};"
               "fma.rn.f32x2 %rd5, %rd6, %rd7, %rd8;",
               'd', a, b, c, "", 90);
  for (size_t i = 0; i < a.size(); ++i) {
    auto expected = float(Exact(f32(a[i])) * f32(b[i]) + f32(c[i]));
    EXPECT_EQ(f32(result[i]), expected);
    EXPECT_EQ(pairs[i], bits32(expected) << 32 | bits32(expected));
  }
}

namespace {

struct Case {
  const char *text;
  char result;
  uint64_t a, b, expected;
};

const uint64_t one = 0x3f800000, minusZero = 0x80000000, nan = 0x7fc12345, canonical = 0x7fffffff,
               infinity = 0x7f800000, subnormal = 0x00000123;

const Case cases[] = {
    {"min.f32 %r5, %r2, %r3;", 'r', nan, one, one},
    {"min.f32 %r5, %r2, %r3;", 'r', nan, nan, canonical},
    {"min.NaN.f32 %r5, %r2, %r3;", 'r', nan, one, canonical},
    {"min.f32 %r5, %r2, %r3;", 'r', 0, minusZero, minusZero},
    {"max.f32 %r5, %r2, %r3;", 'r', minusZero, 0, 0},
    {"max.f32 %r5, %r2, %r3, %r2;", 'r', one, 0x40000000, 0x40000000},
    {"max.xorsign.abs.f32 %r5, %r2, %r3;", 'r', 0xc0000000, one, 0xc0000000},
    {"max.f16 %h5, %h2, %h3;", 'h', 0x7e00, 0x3c00, 0x3c00},
    {"max.NaN.bf16 %h5, %h2, %h3;", 'h', 0x7fc0, 0x3f80, 0x7fff},
    {"add.f32 %r5, %r2, %r3;", 'r', nan, one, canonical},
    {"add.f32 %r5, %r2, %r3;", 'r', infinity, 0xff800000, canonical},
    {"add.f32 %r5, %r2, %r3;", 'r', subnormal, 0, subnormal},
    {"add.ftz.f32 %r5, %r2, %r3;", 'r', subnormal, 0, 0},
    {"mul.ftz.f32 %r5, %r2, %r3;", 'r', 0x80000123, one, minusZero},
    {"mul.f32 %r5, %r2, %r3;", 'r', 0x00800000, 0x3f000000, 0x00400000},
    {"mul.ftz.f32 %r5, %r2, %r3;", 'r', 0x00800000, 0x3f000000, 0},
    {"add.sat.f32 %r5, %r2, %r3;", 'r', one, one, one},
    {"add.sat.f32 %r5, %r2, %r3;", 'r', 0xc0000000, one, 0},
    {"add.sat.f32 %r5, %r2, %r3;", 'r', nan, one, 0},
    {"add.rn.f32.f16 %r5, %h2, %r3;", 'r', 0x3c00, 0x40000000, 0x40400000},
    {"sub.rn.f32.bf16 %r5, %h2, %r3;", 'r', 0x3f80, 0x40000000, 0xbf800000},
    {"fma.rn.f32.bf16 %r5, %h2, %h2, %r3;", 'r', 0x4040, 0x3f800000, 0x41200000},
    {"neg.f32 %r5, %r2;", 'r', 0, 0, minusZero},
    {"abs.f32 %r5, %r2;", 'r', 0xbf800000, 0, one},
    {"abs.bf16 %h5, %h2;", 'h', 0xbf80, 0, 0x3f80},
    {"neg.f16x2 %r5, %r2;", 'r', 0x3c00bc00, 0, 0xbc003c00},
    {"copysign.f32 %r5, %r2, %r3;", 'r', minusZero, one, 0xbf800000},
    {"add.rn.f16 %h5, %h2, %h3;", 'h', 0x3c00, 0xbc00, 0},
    {"add.rn.bf16 %h5, %h2, %h3;", 'h', 0x8000, 0x8000, 0x8000},
    {"add.sat.f16 %h5, %h2, %h3;", 'h', 0x3c00, 0x3c00, 0x3c00},
    {"fma.rn.relu.bf16 %h5, %h2, %h3, %h3;", 'h', 0xbf80, 0x4000, 0},
    {"fma.rn.relu.f16 %h5, %h2, %h3, %h3;", 'h', 0xc000, 0x3c00, 0},
    {"div.rn.f32 %r5, %r2, %r3;", 'r', one, 0x40400000, 0x3eaaaaab},
    {"div.rz.f32 %r5, %r2, %r3;", 'r', one, 0x40400000, 0x3eaaaaaa},
    {"sqrt.rn.f32 %r5, %r2;", 'r', 0x40000000, 0, 0x3fb504f3},
    {"sqrt.rp.f32 %r5, %r2;", 'r', 0x40000000, 0, 0x3fb504f4},
    {"rcp.rn.f32 %r5, %r2;", 'r', 0x40400000, 0, 0x3eaaaaab},
    {"ex2.approx.f32 %r5, %r2;", 'r', 0x40400000, 0, 0x41000000},
    {"lg2.approx.f32 %r5, %r2;", 'r', 0x41000000, 0, 0x40400000},
    {"rsqrt.approx.f32 %r5, %r2;", 'r', 0x40800000, 0, 0x3f000000},
    {"tanh.approx.f32 %r5, %r2;", 'r', infinity, 0, one},
    {"ex2.approx.f16 %h5, %h2;", 'h', 0x4200, 0, 0x4800},
    {"add.f64 %rd5, %rd2, %rd3;", 'd', 0x3ff0000000000000, 0x3ff0000000000000, 0x4000000000000000},
    {"div.rm.f64 %rd5, %rd2, %rd3;", 'd', 0x3ff0000000000000, 0x4008000000000000,
     0x3fd5555555555555},
    {"setp.lt.f32 %p1, %r2, %r3;", 'p', nan, one, 0},
    {"setp.ltu.f32 %p1, %r2, %r3;", 'p', nan, one, 1},
    {"setp.ne.f32 %p1, %r2, %r3;", 'p', nan, one, 0},
    {"setp.neu.f32 %p1, %r2, %r3;", 'p', nan, one, 1},
    {"setp.num.f32 %p1, %r2, %r3;", 'p', nan, one, 0},
    {"setp.nan.f32 %p1, %r2, %r3;", 'p', nan, one, 1},
    {"setp.eq.f32 %p1, %r2, %r3;", 'p', 0, minusZero, 1},
    {"setp.eq.ftz.f32 %p1, %r2, %r3;", 'p', subnormal, 0, 1},
    {"setp.gt.bf16 %p1, %h2, %h3;", 'p', 0x3f80, 0xbf80, 1},
    {"setp.lt.f16x2 %p2|%p1, %r2, %r3;", 'p', 0x3c004000, 0x40003c00, 1},
    {"testp.subnormal.f32 %p1, %r2;", 'p', subnormal, 0, 1},
    {"testp.finite.f32 %p1, %r2;", 'p', infinity, 0, 0},
    {"testp.notanumber.f64 %p1, %rd2;", 'p', 0x7ff8000000000000, 0, 1},
    {"slct.f32.f32 %r5, %r2, %r3, %r3;", 'r', one, 0x80000123, 0x80000123},
    {"slct.ftz.f32.f32 %r5, %r2, %r3, %r3;", 'r', one, 0x80000123, one},
    {"cvt.rni.s32.f32 %r5, %r2;", 'r', 0x40200000, 0, 2}, // 2.5
    {"cvt.rni.s32.f32 %r5, %r2;", 'r', 0x40600000, 0, 4}, // 3.5
    {"cvt.rzi.s32.f32 %r5, %r2;", 'r', 0xc0200000, 0, 0xfffffffe},
    {"cvt.rmi.s32.f32 %r5, %r2;", 'r', 0xc0200000, 0, 0xfffffffd},
    {"cvt.rpi.s32.f32 %r5, %r2;", 'r', 0x40200000, 0, 3},
    {"cvt.rzi.s32.f32 %r5, %r2;", 'r', 0x4f800000, 0, 0x7fffffff},
    {"cvt.rzi.u32.f32 %r5, %r2;", 'r', 0xbf800000, 0, 0},
    {"cvt.rzi.s32.f32 %r5, %r2;", 'r', nan, 0, 0},
    {"cvt.rzi.s64.f32 %rd5, %r2;", 'd', nan, 0, 0x8000000000000000},
    {"cvt.rzi.u8.f32 %r5, %r2;", 'r', 0x43c80000, 0, 255},
    {"cvt.rni.f32.f32 %r5, %r2;", 'r', 0x3fc00000, 0, 0x40000000},
    {"cvt.sat.f32.f32 %r5, %r2;", 'r', 0x40000000, 0, one},
    {"cvt.ftz.f64.f32 %rd5, %r2;", 'd', subnormal, 0, 0},
    {"cvt.rn.f32.f64 %r5, %rd2;", 'r', 0x3ff0000010000000, 0, one},
    {"cvt.rp.f32.f64 %r5, %rd2;", 'r', 0x3ff0000010000000, 0, 0x3f800001},
    {"cvt.rn.f32.s32 %r5, %r2;", 'r', 16777217, 0, 0x4b800000},
    {"cvt.rp.f32.u32 %r5, %r2;", 'r', 16777217, 0, 0x4b800001},
    {"cvt.rn.f32.u64 %r5, %rd2;", 'r', 0xffffff7fffffffff, 0, 0x5f7fffff},
    {"cvt.rn.f64.s64 %rd5, %rd2;", 'd', 0xffffffffffffffff, 0, 0xbff0000000000000},
    {"cvt.rn.f16.s32 %h5, %r2;", 'h', 2049, 0, 0x6800},
    {"cvt.rn.f16.u32 %h5, %r2;", 'h', 100000, 0, 0x7c00},
    {"cvt.rn.bf16.f32 %h5, %r2;", 'h', 0x3f808000, 0, 0x3f80},
    {"cvt.rn.bf16.f32 %h5, %r2;", 'h', 0x3f818000, 0, 0x3f82},
    {"cvt.rz.bf16.f32 %h5, %r2;", 'h', 0x3f81ffff, 0, 0x3f81},
    {"cvt.rn.relu.bf16.f32 %h5, %r2;", 'h', 0xbf800000, 0, 0},
    {"cvt.rn.bf16x2.f32 %r5, %r2, %r3;", 'r', one, 0x40000000, 0x3f804000},
    {"cvt.rn.bf16.f32 %h5, %r2;", 'h', nan, 0, 0x7fff},
    {"cvt.rzi.s16.f16 %h5, %h2;", 'h', 0xc100, 0, 0xfffe}, // -2.5
};

} // namespace

TEST(Floats, WorkedOutByHand) {
  for (const Case &each : cases)
    EXPECT_EQ(evaluate(each.text, each.result, {each.a}, {each.b}, {}, "", 90)[0], each.expected)
        << each.text;
}

TEST(Floats, FunctionsAreNearTheTrueOnes) {
  Words a;
  for (int i = 1; i < 512; ++i)
    a.push_back(bits32(float(i) * 0.02f));
  auto expectNear = [&](const std::string &opcode, const std::function<double(double)> &f,
                        double tolerance) {
    Words result = evaluate(opcode + ".approx.f32 %r5, %r2;", 'r', a);
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_NEAR(f32(result[i]), f(f32(a[i])), tolerance * (1 + std::fabs(f(f32(a[i])))))
          << opcode;
  };
  expectNear("ex2", [](double x) { return std::exp2(x); }, 1e-6);
  expectNear("lg2", [](double x) { return std::log2(x); }, 1e-6);
  expectNear("sin", [](double x) { return std::sin(x); }, 1e-6);
  expectNear("cos", [](double x) { return std::cos(x); }, 1e-6);
  expectNear("tanh", [](double x) { return std::tanh(x); }, 1e-6);
  expectNear("rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1e-6);
  expectNear("rcp", [](double x) { return 1 / x; }, 1e-6);
  expectNear("sqrt", [](double x) { return std::sqrt(x); }, 1e-6);
}

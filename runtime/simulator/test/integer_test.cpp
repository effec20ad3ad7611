// Integer instructions against 128-bit arithmetic and against PTX's own bit by bit descriptions.
#include "instructions.h"

#include <gtest/gtest.h>

using namespace ulsc::simulator::test;

namespace {

constexpr size_t count = 256;
using Int = __int128;

struct IntegerType {
  const char *name;
  int bits;
  bool isSigned;
};

Int valueOf(uint64_t word, IntegerType type) {
  if (type.bits < 64)
    word &= (uint64_t(1) << type.bits) - 1;
  if (type.isSigned && (word >> (type.bits - 1)) & 1)
    return Int(word) - (Int(1) << type.bits);
  return Int(word);
}

uint64_t truncated(Int value, int bits) {
  return bits == 64 ? uint64_t(value) : uint64_t(value) & ((uint64_t(1) << bits) - 1);
}

/// Modulo 2 to the 128.
Int product(Int x, Int y) { return Int((unsigned __int128)(x) * (unsigned __int128)(y)); }

/// "%r" with the number for a width.
std::string reg(int bits, int number) {
  return (bits == 16 ? "%h" : bits == 32 ? "%r" : "%rd") + std::to_string(number);
}
char letter(int bits) { return bits == 16 ? 'h' : bits == 32 ? 'r' : 'd'; }

class Integers : public testing::TestWithParam<IntegerType> {
protected:
  void SetUp() override {
    a = randomWords(count, 1);
    b = randomWords(count, 2);
    c = randomWords(count, 3);
  }
  /// `opcode` without its type; `f` gives the result before it is truncated.
  void expectAll(const std::string &opcode, int operands,
                 const std::function<Int(Int, Int, Int)> &f) {
    IntegerType type = GetParam();
    std::string text = opcode + "." + type.name + " " + reg(type.bits, 5);
    for (int i = 0; i < operands; ++i)
      text += ", " + reg(type.bits, 2 + i);
    Words result = evaluate(text + ";", letter(type.bits), a, b, c);
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(
          result[i],
          truncated(f(valueOf(a[i], type), valueOf(b[i], type), valueOf(c[i], type)), type.bits))
          << text << " of " << a[i] << ", " << b[i] << ", " << c[i];
  }
  Words a, b, c;
};

} // namespace

TEST_P(Integers, Arithmetic) {
  int bits = GetParam().bits;
  expectAll("add", 2, [](Int x, Int y, Int) { return x + y; });
  expectAll("sub", 2, [](Int x, Int y, Int) { return x - y; });
  expectAll("mul.lo", 2, [](Int x, Int y, Int) { return product(x, y); });
  expectAll("mul.hi", 2, [=](Int x, Int y, Int) {
    return GetParam().isSigned ? (x * y) >> bits
                               : Int((unsigned __int128)(x) * (unsigned __int128)(y) >> bits);
  });
  expectAll("mad.lo", 3, [](Int x, Int y, Int z) {
    return Int((unsigned __int128)(product(x, y)) + (unsigned __int128)(z));
  });
  expectAll("min", 2, [](Int x, Int y, Int) { return x < y ? x : y; });
  expectAll("max", 2, [](Int x, Int y, Int) { return x < y ? y : x; });
  expectAll("sad", 3, [](Int x, Int y, Int z) { return (x < y ? y - x : x - y) + z; });
  for (uint64_t &word : b) // division by zero is unspecified
    word |= 1;
  expectAll("div", 2, [](Int x, Int y, Int) { return x / y; });
  expectAll("rem", 2, [](Int x, Int y, Int) { return x % y; });
  if (GetParam().isSigned) {
    expectAll("neg", 1, [](Int x, Int, Int) { return -x; });
    expectAll("abs", 1, [](Int x, Int, Int) { return x < 0 ? -x : x; });
  }
}

TEST_P(Integers, ShiftsBeyondTheWidth) {
  IntegerType type = GetParam();
  for (size_t i = 0; i < count; ++i)
    b[i] = i % 80;
  std::string five = reg(type.bits, 5), two = reg(type.bits, 2);
  Words right = evaluate(std::string("shr.") + type.name + " " + five + ", " + two + ", %r3;",
                         letter(type.bits), a, b);
  Words left = evaluate("shl.b" + std::to_string(type.bits) + " " + five + ", " + two + ", %r3;",
                        letter(type.bits), a, b);
  for (size_t i = 0; i < count; ++i) {
    Int x = valueOf(a[i], type);
    EXPECT_EQ(right[i], truncated(x >> b[i], type.bits));
    EXPECT_EQ(left[i], int(b[i]) >= type.bits
                           ? 0
                           : truncated(Int((unsigned __int128)(x) << b[i]), type.bits));
  }
}

TEST_P(Integers, WideProducts) {
  IntegerType type = GetParam();
  if (type.bits == 64)
    return;
  int wide = 2 * type.bits;
  Words product = evaluate(std::string("mul.wide.") + type.name + " " + reg(wide, 5) + ", " +
                               reg(type.bits, 2) + ", " + reg(type.bits, 3) + ";",
                           letter(wide), a, b);
  Words sum = evaluate(std::string("mad.wide.") + type.name + " " + reg(wide, 5) + ", " +
                           reg(type.bits, 2) + ", " + reg(type.bits, 3) + ", " + reg(wide, 4) + ";",
                       letter(wide), a, b, c);
  for (size_t i = 0; i < count; ++i) {
    Int exact = valueOf(a[i], type) * valueOf(b[i], type);
    EXPECT_EQ(product[i], truncated(exact, wide));
    EXPECT_EQ(sum[i], truncated(exact + Int(c[i]), wide));
  }
}

TEST_P(Integers, ComparisonsOfAllKinds) {
  IntegerType type = GetParam();
  for (size_t i = 0; i < count; i += 3)
    b[i] = a[i];
  auto compare = [&](const char *name, const std::function<bool(Int, Int)> &f) {
    Words result = evaluate(std::string("setp.") + name + "." + type.name + " %p1, " +
                                reg(type.bits, 2) + ", " + reg(type.bits, 3) + ";",
                            'p', a, b);
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(result[i], uint64_t(f(valueOf(a[i], type), valueOf(b[i], type)))) << name;
  };
  compare("eq", [](Int x, Int y) { return x == y; });
  compare("ne", [](Int x, Int y) { return x != y; });
  compare("lt", [](Int x, Int y) { return x < y; });
  compare("le", [](Int x, Int y) { return x <= y; });
  compare("gt", [](Int x, Int y) { return x > y; });
  compare("ge", [](Int x, Int y) { return x >= y; });
}

TEST_P(Integers, BitFields) {
  IntegerType type = GetParam();
  if (type.bits == 16)
    return;
  for (size_t i = 0; i < count; ++i)
    b[i] = (i * 7) % 70, c[i] = (i * 5) % 70;
  std::string two = reg(type.bits, 2), five = reg(type.bits, 5);
  Words extracted =
      evaluate(std::string("bfe.") + type.name + " " + five + ", " + two + ", %r3, %r4;",
               letter(type.bits), a, b, c);
  for (size_t i = 0; i < count; ++i) { // as the PTX manual words it
    int last = type.bits - 1, position = int(b[i]), length = int(c[i]);
    bool sign = type.isSigned && length && (a[i] >> std::min(position + length - 1, last)) & 1;
    uint64_t expected = 0;
    for (int bit = 0; bit <= last; ++bit)
      expected |=
          uint64_t(bit < length && position + bit <= last ? (a[i] >> (position + bit)) & 1 : sign)
          << bit;
    EXPECT_EQ(extracted[i], expected) << position << ", " << length;
  }
  Words leading = evaluate(std::string("bfind.") + type.name + " %r5, " + two + ";", 'r', a);
  Words shift = evaluate(std::string("bfind.shiftamt.") + type.name + " %r5, " + two + ";", 'r', a);
  for (size_t i = 0; i < count; ++i) {
    Int value = valueOf(a[i], type);
    if (value < 0)
      value = ~value;
    uint64_t expected = 0xffffffff;
    for (int bit = 0; bit < type.bits; ++bit)
      if ((value >> bit) & 1)
        expected = uint64_t(bit);
    EXPECT_EQ(leading[i], expected);
    EXPECT_EQ(shift[i], expected == 0xffffffff ? expected : uint64_t(type.bits - 1) - expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Types, Integers,
    testing::Values(IntegerType{"u16", 16, false}, IntegerType{"s16", 16, true},
                    IntegerType{"u32", 32, false}, IntegerType{"s32", 32, true},
                    IntegerType{"u64", 64, false}, IntegerType{"s64", 64, true}),
    [](const auto &info) { return std::string(info.param.name); });

namespace {

struct Case {
  const char *text;
  char result;
  uint64_t a, b, c, expected;
};

/// Values from the manual's descriptions, worked out by hand.
const Case cases[] = {
    {"prmt.b32 %r5, %r2, %r3, 0x3456;", 'r', 0x33221100, 0x77665544, 0, 0x33445566},
    {"prmt.b32 %r5, %r2, %r3, 0xb189;", 'r', 0xb3221180, 0, 0, 0xff11ff00},
    {"prmt.b32.f4e %r5, %r2, %r3, 1;", 'r', 0x33221100, 0x77665544, 0, 0x44332211},
    {"prmt.b32.b4e %r5, %r2, %r3, 1;", 'r', 0x33221100, 0x77665544, 0, 0x66770011},
    {"prmt.b32.rc8 %r5, %r2, %r3, 2;", 'r', 0x33221100, 0x77665544, 0, 0x22222222},
    {"prmt.b32.ecl %r5, %r2, %r3, 2;", 'r', 0x33221100, 0x77665544, 0, 0x33222222},
    {"prmt.b32.ecr %r5, %r2, %r3, 2;", 'r', 0x33221100, 0x77665544, 0, 0x22221100},
    {"prmt.b32.rc16 %r5, %r2, %r3, 1;", 'r', 0x33221100, 0x77665544, 0, 0x33223322},
    {"shf.l.wrap.b32 %r5, %r2, %r3, 36;", 'r', 0x89abcdef, 0x01234567, 0, 0x12345678},
    {"shf.l.clamp.b32 %r5, %r2, %r3, 36;", 'r', 0x89abcdef, 0x01234567, 0, 0x89abcdef},
    {"shf.r.wrap.b32 %r5, %r2, %r3, 4;", 'r', 0x89abcdef, 0x01234567, 0, 0x789abcde},
    {"shf.r.clamp.b32 %r5, %r2, %r3, 40;", 'r', 0x89abcdef, 0x01234567, 0, 0x01234567},
    {"lop3.b32 %r5, %r2, %r3, %r4, 0xe8;", 'r', 0xf0f0, 0xcccc, 0xaaaa, 0xe8e8},
    {"lop3.b32 %r5, %r2, %r3, %r4, 0x96;", 'r', 0xff00, 0x0ff0, 0x3c3c, 0xcccc},
    {"bfi.b32 %r5, %r2, %r3, 8, 4;", 'r', 0xabcd, 0x11111111, 0, 0x11111d11},
    {"bfi.b64 %rd5, %rd2, %rd3, 60, 20;", 'd', 0xabcd, 1, 0, 0xd000000000000001},
    {"bfi.b32 %r5, %r2, %r3, 32, 4;", 'r', 0xabcd, 0x22, 0, 0x22},
    {"brev.b32 %r5, %r2;", 'r', 0x80000001, 0, 0, 0x80000001},
    {"brev.b64 %rd5, %rd2;", 'd', 0xf, 0, 0, 0xf000000000000000},
    {"popc.b64 %r5, %rd2;", 'r', 0xff00ff, 0, 0, 16},
    {"clz.b32 %r5, %r2;", 'r', 0, 0, 0, 32},
    {"clz.b64 %r5, %rd2;", 'r', 1, 0, 0, 63},
    {"not.b16 %h5, %h2;", 'h', 0x00ff, 0, 0, 0xff00},
    {"cnot.b32 %r5, %r2;", 'r', 0, 0, 0, 1},
    {"add.sat.s32 %r5, %r2, %r3;", 'r', 0x7fffffff, 1, 0, 0x7fffffff},
    {"sub.sat.s32 %r5, %r2, %r3;", 'r', 0x80000000, 1, 0, 0x80000000},
    {"add.cc.u32 %r5, %r2, %r3; addc.u32 %r5, %r4, 0;", 'r', 0xffffffff, 1, 5, 6},
    {"sub.cc.u64 %rd5, %rd2, %rd3; subc.u64 %rd5, %rd4, 0;", 'd', 0, 1, 5, 4},
    {"add.s16x2 %r5, %r2, %r3;", 'r', 0xffff0001, 0x00017fff, 0, 0x00008000},
    {"max.s16x2 %r5, %r2, %r3;", 'r', 0xffff0001, 0x00018000, 0, 0x00010001},
    {"min.u16x2 %r5, %r2, %r3;", 'r', 0xffff0001, 0x00018000, 0, 0x00010001},
    {"mov.b32 %r5, {%h2, %h3};", 'r', 0x1234, 0x5678, 0, 0x56781234},
    {"mov.b64 %rd5, {%r2, %r3};", 'd', 0x12345678, 0x9abcdef0, 0, 0x9abcdef012345678},
    {"mov.b64 {_, %r5}, %rd2;", 'r', 0x123456789abcdef0, 0, 0, 0x12345678},
    {"mov.b64 {%h5, %h6, %h7, %h8}, %rd2; mov.b16 %h5, %h8;", 'h', 0x123456789abcdef0, 0, 0,
     0x1234},
    {"selp.b32 %r5, %r2, %r3, %p0;", 'r', 1, 2, 0, 2},
    {"setp.lt.and.s32 %p1|%p2, %r2, %r3, %p0; not.pred %p1, %p2;", 'p', 2, 1, 0, 1},
    {"setp.ge.xor.s32 %p1, %r2, %r3, !%p0;", 'p', 2, 1, 0, 0},
    {"set.lt.u32.s32 %r5, %r2, %r3;", 'r', 0xffffffff, 1, 0, 0xffffffff},
    {"set.lt.f32.s32 %r5, %r2, %r3;", 'r', 0xffffffff, 1, 0, 0x3f800000},
    {"slct.u32.s32 %r5, %r2, %r3, %r4;", 'r', 1, 2, 0x80000000, 2},
    {"cvt.u16.u8 %h5, %h2;", 'h', 0xabcd, 0, 0, 0xcd},
    {"cvt.s32.s8 %r5, %h2;", 'r', 0xabcd, 0, 0, 0xffffffcd},
    {"cvt.s64.s32 %rd5, %r2;", 'd', 0x80000000, 0, 0, 0xffffffff80000000},
    {"cvt.sat.u8.s32 %r5, %r2;", 'r', 300, 0, 0, 255},
    {"cvt.sat.u8.s32 %r5, %r2;", 'r', 0xffffffff, 0, 0, 0},
    {"cvt.sat.s16.s32 %h5, %r2;", 'h', 0x12345, 0, 0, 0x7fff},
    {"cvt.sat.s8.s64 %r5, %rd2;", 'r', 0xffffffff00000000, 0, 0, 0xffffff80},
    {"@%p0 mov.u32 %r5, 1;\n@!%p0 mov.u32 %r5, 2;", 'r', 0, 0, 0, 2},
};

} // namespace

TEST(Instructions, WorkedOutByHand) {
  for (const Case &each : cases)
    EXPECT_EQ(evaluate(each.text, each.result, {each.a}, {each.b}, {each.c})[0], each.expected)
        << each.text;
}

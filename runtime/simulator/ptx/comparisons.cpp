// Comparisons and selections.
#include "simulator/ptx/decoder.h"
#include "simulator/ptx/warp.h"

namespace ulsc::simulator::ptx {

namespace {

/// In the order of the modifiers below; lo, ls, hi, hs are the unsigned names.
enum Comparison : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };

float valueOf(float value) { return value; }
double valueOf(double value) { return value; }
float valueOf(Half value) { return value.value(); }
float valueOf(BFloat value) { return value.value(); }
template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
T valueOf(T value) {
  return value;
}

template <typename T>
T flushed(T value, bool flushes) {
  if constexpr (std::is_same_v<T, float>)
    return flushes && std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
  return value;
}

template <typename T, typename F>
uint32_t gather(const T *a, const T *b, bool flushes, F compare) {
  uint32_t bits = 0;
  for (uint32_t lane = 0; lane < warpLanes; ++lane)
    bits |=
        uint32_t(compare(flushed(valueOf(a[lane]), flushes), flushed(valueOf(b[lane]), flushes)))
        << lane;
  return bits;
}

template <typename T>
uint32_t compare(uint8_t comparison, const T *a, const T *b, bool flushes) {
  auto isNan = [](auto x, auto y) { return x != x || y != y; };
  switch (comparison) {
  case Eq:
    return gather(a, b, flushes, [](auto x, auto y) { return x == y; });
  case Ne:
    return gather(a, b, flushes, [=](auto x, auto y) { return x != y && !isNan(x, y); });
  case Lt:
    return gather(a, b, flushes, [](auto x, auto y) { return x < y; });
  case Le:
    return gather(a, b, flushes, [](auto x, auto y) { return x <= y; });
  case Gt:
    return gather(a, b, flushes, [](auto x, auto y) { return x > y; });
  case Ge:
    return gather(a, b, flushes, [](auto x, auto y) { return x >= y; });
  case Equ:
    return gather(a, b, flushes, [=](auto x, auto y) { return x == y || isNan(x, y); });
  case Neu:
    return gather(a, b, flushes, [](auto x, auto y) { return x != y; });
  case Ltu:
    return gather(a, b, flushes, [](auto x, auto y) { return !(x >= y); });
  case Leu:
    return gather(a, b, flushes, [](auto x, auto y) { return !(x > y); });
  case Gtu:
    return gather(a, b, flushes, [](auto x, auto y) { return !(x <= y); });
  case Geu:
    return gather(a, b, flushes, [](auto x, auto y) { return !(x < y); });
  case Num:
    return gather(a, b, flushes, [=](auto x, auto y) { return !isNan(x, y); });
  default:
    return gather(a, b, flushes, [=](auto x, auto y) { return isNan(x, y); });
  }
}

/// How setp combines with a predicate: the low bits of `count`.
enum Combination : uint32_t { Alone, CombineAnd, CombineOr, CombineXor };

uint32_t combined(uint32_t bits, uint32_t combination, uint32_t with) {
  switch (combination) {
  case CombineAnd:
    return bits & with;
  case CombineOr:
    return bits | with;
  case CombineXor:
    return bits ^ with;
  default:
    return bits;
  }
}

template <typename T>
void setPredicates(Warp &warp, const Instruction &in) {
  uint32_t bits =
      compare(in.mode, warp.read<T>(in.source[0]), warp.read<T>(in.source[1]), in.flushes);
  uint32_t with = 0;
  if (in.count != Alone)
    with = in.isNegated ? ~warp.predicateOf(in.source[2]) : warp.predicateOf(in.source[2]);
  setPredicate(warp, in.result, combined(bits, in.count, with));
  setPredicate(warp, in.second, combined(~bits, in.count, with));
}

/// Both halves of pairs: p from the low ones, q from the high ones.
template <typename E>
void setPredicatesOfPairs(Warp &warp, const Instruction &in) {
  E low[2][warpLanes], high[2][warpLanes];
  for (int side = 0; side < 2; ++side)
    for (uint32_t lane = 0; lane < warpLanes; ++lane) {
      uint32_t both = warp.read<uint32_t>(in.source[side])[lane];
      low[side][lane] = {uint16_t(both)};
      high[side][lane] = {uint16_t(both >> 16)};
    }
  setPredicate(warp, in.result, compare(in.mode, low[0], low[1], in.flushes));
  setPredicate(warp, in.second, compare(in.mode, high[0], high[1], in.flushes));
}

/// set: all bits or 1.0 where the comparison holds.
template <typename T>
void setValues(Warp &warp, const Instruction &in) {
  uint32_t bits =
      compare(in.mode, warp.read<T>(in.source[0]), warp.read<T>(in.source[1]), in.flushes);
  uint32_t truth = in.saturates ? 0x3f800000u : ~0u;
  forLanes<uint32_t>(warp, in.result,
                     [=](uint32_t lane) { return (bits >> lane) & 1 ? truth : 0u; });
}

template <typename T>
void select(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]), *b = warp.read<T>(in.source[1]);
  uint32_t bits = warp.predicateOf(in.source[2]);
  forLanes<T>(warp, in.result,
              [=](uint32_t lane) { return (bits >> lane) & 1 ? a[lane] : b[lane]; });
}

template <typename T, typename C>
void selectBySign(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]), *b = warp.read<T>(in.source[1]);
  const C *c = warp.read<C>(in.source[2]);
  bool flushes = in.flushes; // makes -0 of a small negative number, which is not below 0
  forLanes<T>(warp, in.result,
              [=](uint32_t lane) { return flushed(c[lane], flushes) >= 0 ? a[lane] : b[lane]; });
}

/// testp: finite, infinite, number, notanumber, normal, subnormal.
template <typename T>
void testProperty(Warp &warp, const Instruction &in) {
  const T *a = warp.read<T>(in.source[0]);
  uint32_t bits = 0;
  for (uint32_t lane = 0; lane < warpLanes; ++lane) {
    int kind = std::fpclassify(a[lane]);
    bool is = false;
    switch (in.mode) {
    case 0:
      is = kind != FP_NAN && kind != FP_INFINITE;
      break;
    case 1:
      is = kind == FP_INFINITE;
      break;
    case 2:
      is = kind != FP_NAN;
      break;
    case 3:
      is = kind == FP_NAN;
      break;
    case 4:
      is = kind == FP_NORMAL;
      break;
    default:
      is = kind == FP_SUBNORMAL;
      break;
    }
    bits |= uint32_t(is) << lane;
  }
  setPredicate(warp, in.result, bits);
}

#define ULSC_BY_COMPARED_TYPE(FUNCTION)                                                            \
  switch (type) {                                                                                  \
  case Type::B16:                                                                                  \
  case Type::U16:                                                                                  \
    return FUNCTION<uint16_t>;                                                                     \
  case Type::S16:                                                                                  \
    return FUNCTION<int16_t>;                                                                      \
  case Type::B32:                                                                                  \
  case Type::U32:                                                                                  \
    return FUNCTION<uint32_t>;                                                                     \
  case Type::S32:                                                                                  \
    return FUNCTION<int32_t>;                                                                      \
  case Type::B64:                                                                                  \
  case Type::U64:                                                                                  \
    return FUNCTION<uint64_t>;                                                                     \
  case Type::S64:                                                                                  \
    return FUNCTION<int64_t>;                                                                      \
  case Type::F32:                                                                                  \
    return FUNCTION<float>;                                                                        \
  case Type::F64:                                                                                  \
    return FUNCTION<double>;                                                                       \
  case Type::F16:                                                                                  \
    return FUNCTION<Half>;                                                                         \
  case Type::BF16:                                                                                 \
    return FUNCTION<BFloat>;                                                                       \
  default:                                                                                         \
    opcode.refuseType(type);                                                                       \
  }

Handler setpHandler(Type type, const Opcode &opcode) {
  if (type == Type::F16x2)
    return setPredicatesOfPairs<Half>;
  if (type == Type::BF16x2)
    return setPredicatesOfPairs<BFloat>;
  ULSC_BY_COMPARED_TYPE(setPredicates)
}

Handler setHandler(Type type, const Opcode &opcode){ULSC_BY_COMPARED_TYPE(setValues)}

uint8_t takeComparison(Opcode &opcode) {
  int unsignedName = opcode.takeOneOf({"lo", "ls", "hi", "hs"});
  if (unsignedName >= 0)
    return uint8_t(Lt + unsignedName);
  int found = opcode.takeOneOf(
      {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  if (found < 0)
    refuse(opcode.line(), "'", opcode.spelling(), "' has no comparison that is simulated");
  return uint8_t(found);
}

void decodeSetPredicate(Decoder &decoder, Opcode &opcode, const Statement &statement,
                        Instruction &in) {
  in.mode = takeComparison(opcode);
  in.count = uint32_t(opcode.takeOneOf({"and", "or", "xor"}) + 1);
  in.flushes = opcode.take("ftz");
  Type type = opcode.requireType();
  in.run = setpHandler(type, opcode);
  if (in.count != Alone && (type == Type::F16x2 || type == Type::BF16x2))
    opcode.refuseType(type);
  Decoder::expectOperands(statement, in.count == Alone ? 3 : 4);
  decoder.predicates(statement.operands[0], in);
  in.source[0] = decoder.source(statement.operands[1], type, in.line);
  in.source[1] = decoder.source(statement.operands[2], type, in.line);
  if (in.count != Alone) {
    in.source[2] = decoder.predicate(statement.operands[3], in.line);
    in.isNegated = statement.operands[3].isNegated;
  }
}

void decodeSet(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  in.mode = takeComparison(opcode);
  in.flushes = opcode.take("ftz");
  Type result = opcode.requireType(), type = opcode.requireType();
  if (result != Type::U32 && result != Type::S32 && result != Type::F32)
    opcode.refuseType(result);
  in.saturates = result == Type::F32;
  in.run = setHandler(type, opcode);
  Decoder::expectOperands(statement, 3);
  in.result = decoder.destination(statement.operands[0], result, in.line);
  in.source[0] = decoder.source(statement.operands[1], type, in.line);
  in.source[1] = decoder.source(statement.operands[2], type, in.line);
}

void decodeSelect(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  Type type = opcode.requireType();
  switch (bytesOf(type)) {
  case 2:
    in.run = select<uint16_t>;
    break;
  case 4:
    in.run = select<uint32_t>;
    break;
  case 8:
    in.run = select<uint64_t>;
    break;
  default:
    opcode.refuseType(type);
  }
  Decoder::expectOperands(statement, 4);
  in.result = decoder.destination(statement.operands[0], type, in.line);
  in.source[0] = decoder.source(statement.operands[1], type, in.line);
  in.source[1] = decoder.source(statement.operands[2], type, in.line);
  in.source[2] = decoder.predicate(statement.operands[3], in.line);
}

void decodeSelectBySign(Decoder &decoder, Opcode &opcode, const Statement &statement,
                        Instruction &in) {
  in.flushes = opcode.take("ftz");
  Type type = opcode.requireType(), sign = opcode.requireType();
  if (sign != Type::S32 && sign != Type::F32)
    opcode.refuseType(sign);
  bool isFloat = sign == Type::F32;
  switch (bytesOf(type)) {
  case 2:
    in.run = isFloat ? selectBySign<uint16_t, float> : selectBySign<uint16_t, int32_t>;
    break;
  case 4:
    in.run = isFloat ? selectBySign<uint32_t, float> : selectBySign<uint32_t, int32_t>;
    break;
  case 8:
    in.run = isFloat ? selectBySign<uint64_t, float> : selectBySign<uint64_t, int32_t>;
    break;
  default:
    opcode.refuseType(type);
  }
  Decoder::expectOperands(statement, 4);
  in.result = decoder.destination(statement.operands[0], type, in.line);
  in.source[0] = decoder.source(statement.operands[1], type, in.line);
  in.source[1] = decoder.source(statement.operands[2], type, in.line);
  in.source[2] = decoder.source(statement.operands[3], sign, in.line);
}

void decodeTestProperty(Decoder &decoder, Opcode &opcode, const Statement &statement,
                        Instruction &in) {
  int property =
      opcode.takeOneOf({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Type type = opcode.requireType();
  if (property < 0 || (type != Type::F32 && type != Type::F64))
    opcode.refuseType(type);
  in.mode = uint8_t(property);
  in.run = type == Type::F32 ? testProperty<float> : testProperty<double>;
  Decoder::expectOperands(statement, 2);
  in.result = decoder.predicate(statement.operands[0], in.line);
  in.source[0] = decoder.source(statement.operands[1], type, in.line);
}

} // namespace

const DecodeTable &comparisonOpcodes() {
  static const DecodeTable table = {{"setp", decodeSetPredicate},
                                    {"set", decodeSet},
                                    {"selp", decodeSelect},
                                    {"slct", decodeSelectBySign},
                                    {"testp", decodeTestProperty}};
  return table;
}

} // namespace ulsc::simulator::ptx

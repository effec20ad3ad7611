// cvt: a value goes through a 64-bit integer or a double, which hold every source exactly, and is
// rounded once.
#include "simulator/ptx/decoder.h"
#include "simulator/ptx/float_values.h"
#include "simulator/ptx/warp.h"

#include <cfenv>

namespace ulsc::simulator::ptx {

namespace {

struct Conversion {
  Type from, to;
  uint32_t fromBytes, toBytes; ///< Of the registers.
  int toInteger;               ///< .rni .rzi .rmi .rpi in this order; -1: none.
  Rounding rounding;
  bool flushes, saturates, isRelu;
};

// An instruction has no room for all of this: it is packed into its free fields.
Conversion conversionOf(const Instruction &in) {
  return {Type(in.count & 255),
          Type((in.count >> 8) & 255),
          (in.count >> 16) & 255,
          in.count >> 24,
          int8_t(in.elementBytes),
          Rounding(in.mode),
          in.flushes,
          in.saturates,
          in.isNegated};
}

/// A lane of a register of any width, truncated to the type.
uint64_t lowBits(const Warp &warp, Place place, uint32_t bytes, uint32_t lane) {
  switch (bytes) {
  case 2:
    return warp.read<uint16_t>(place)[lane];
  case 4:
    return warp.read<uint32_t>(place)[lane];
  default:
    return warp.read<uint64_t>(place)[lane];
  }
}

uint64_t extended(uint64_t bits, Type type) {
  uint32_t width = 8 * bytesOf(type);
  if (width == 64)
    return bits;
  bits &= (uint64_t(1) << width) - 1;
  if (isSignedType(type) && ((bits >> (width - 1)) & 1))
    bits |= ~uint64_t(0) << width;
  return bits;
}

double floatValue(uint64_t bits, Type type) {
  switch (type) {
  case Type::F16:
    return Half{uint16_t(bits)}.value();
  case Type::BF16:
    return BFloat{uint16_t(bits)}.value();
  case Type::F32:
    return bitsAs<float>(uint32_t(bits));
  default:
    return bitsAs<double>(bits);
  }
}

/// Of single precision; the processor rounds.
float toSingle(double value, Rounding rounding) {
  if (rounding == Rounding::Nearest)
    return float(value);
  volatile double exact = value;
  std::fesetround(rounding == Rounding::Zero   ? FE_TOWARDZERO
                  : rounding == Rounding::Down ? FE_DOWNWARD
                                               : FE_UPWARD);
  volatile float result = float(exact);
  std::fesetround(FE_TONEAREST);
  return result;
}

uint64_t floatBits(double value, Type type, Rounding rounding) {
  switch (type) {
  case Type::F16:
    return Half::from(value, rounding).bits;
  case Type::BF16:
    return BFloat::from(value, rounding).bits;
  case Type::F32:
    return bitsAs<uint32_t>(canonical(toSingle(value, rounding)));
  default:
    return bitsAs<uint64_t>(value);
  }
}

double roundToInteger(double value, int how) {
  switch (how) {
  case 0:
    return std::nearbyint(value);
  case 1:
    return std::trunc(value);
  case 2:
    return std::floor(value);
  default:
    return std::ceil(value);
  }
}

uint64_t integerOf(double value, Type type, bool isDouble) {
  uint32_t width = 8 * bytesOf(type);
  if (value != value)
    return isDouble || width == 64 ? uint64_t(1) << (width - 1) : 0;
  bool isSigned = isSignedType(type);
  double lowest = isSigned ? -std::ldexp(1.0, int(width) - 1) : 0;
  double beyond = std::ldexp(1.0, int(width) - (isSigned ? 1 : 0));
  if (value >= beyond)
    return isSigned ? (uint64_t(1) << (width - 1)) - 1
                    : (width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1);
  if (value <= lowest)
    return isSigned ? extended(uint64_t(1) << (width - 1), type) : 0;
  return isSigned ? uint64_t(int64_t(value)) : uint64_t(value);
}

uint64_t saturatedInteger(uint64_t bits, bool isSigned, Type to) {
  uint32_t width = 8 * bytesOf(to);
  bool isNegative = isSigned && int64_t(bits) < 0;
  if (isSignedType(to)) {
    auto highest = int64_t((uint64_t(1) << (width - 1)) - 1), lowest = -highest - 1;
    if (isNegative)
      return uint64_t(std::max(int64_t(bits), lowest));
    return bits > uint64_t(highest) ? uint64_t(highest) : bits;
  }
  if (isNegative)
    return 0;
  uint64_t highest = width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  return std::min(bits, highest);
}

/// An integer as a double that rounds to fewer bits as the integer itself would: what a double
/// can't hold becomes one sticky bit.
double doubleOf(uint64_t bits, bool isSigned) {
  bool isNegative = isSigned && int64_t(bits) < 0;
  uint64_t magnitude = isNegative ? 0 - bits : bits;
  if (magnitude >> 53)
    magnitude = (magnitude & ~uint64_t(0xfff)) | (magnitude & 0xfff ? 0x800 : 0);
  return isNegative ? -double(magnitude) : double(magnitude);
}

uint64_t fromInteger(uint64_t bits, const Conversion &how) {
  bool isSigned = isSignedType(how.from);
  if (!isFloatType(how.to))
    return how.saturates ? saturatedInteger(bits, isSigned, how.to) : bits;
  if (how.to == Type::F64) {
    volatile uint64_t exact = bits;
    if (how.rounding != Rounding::Nearest)
      std::fesetround(how.rounding == Rounding::Zero   ? FE_TOWARDZERO
                      : how.rounding == Rounding::Down ? FE_DOWNWARD
                                                       : FE_UPWARD);
    volatile double result = isSigned ? double(int64_t(exact)) : double(exact);
    std::fesetround(FE_TONEAREST);
    return bitsAs<uint64_t>(double(result));
  }
  double value = doubleOf(bits, isSigned);
  return floatBits(how.saturates ? saturate(value) : value, how.to, how.rounding);
}

uint64_t fromFloat(double value, const Conversion &how) {
  if (how.flushes && how.from == Type::F32)
    value = flush(float(value));
  if (how.toInteger >= 0)
    value = roundToInteger(value, how.toInteger);
  if (!isFloatType(how.to))
    return integerOf(value, how.to, how.from == Type::F64);
  if (how.saturates)
    value = saturate(value);
  if (how.isRelu && value < 0)
    value = 0;
  uint64_t bits = floatBits(value, how.to, how.rounding);
  if (how.flushes && how.to == Type::F32)
    bits = bitsAs<uint32_t>(flush(bitsAs<float>(uint32_t(bits))));
  return how.isRelu && bits == 0x8000 ? 0 : bits;
}

void writeBits(Warp &warp, Place place, uint32_t bytes, const uint64_t *bits) {
  if (bytes == 2)
    forLanes<uint16_t>(warp, place, [=](uint32_t lane) { return uint16_t(bits[lane]); });
  else if (bytes == 4)
    forLanes<uint32_t>(warp, place, [=](uint32_t lane) { return uint32_t(bits[lane]); });
  else
    forLanes<uint64_t>(warp, place, [=](uint32_t lane) { return bits[lane]; });
}

void convert(Warp &warp, const Instruction &in) {
  Conversion how = conversionOf(in);
  uint64_t results[warpLanes] = {};
  forActive(warp, [&](uint32_t lane) {
    uint64_t bits = lowBits(warp, in.source[0], how.fromBytes, lane);
    uint64_t result = isFloatType(how.from) ? fromFloat(floatValue(bits, how.from), how)
                                            : fromInteger(extended(bits, how.from), how);
    // A wider register holds the value extended as its type says.
    results[lane] = isFloatType(how.to) ? result : extended(result, how.to);
  });
  writeBits(warp, in.result, how.toBytes, results);
}

/// Two floats to a pair: the first operand becomes the upper half.
void convertToPair(Warp &warp, const Instruction &in) {
  Conversion how = conversionOf(in);
  Conversion one = how;
  one.to = how.to == Type::F16x2 ? Type::F16 : Type::BF16;
  const auto *a = warp.read<float>(in.source[0]), *b = warp.read<float>(in.source[1]);
  forLanes<uint32_t>(warp, in.result, [=](uint32_t lane) {
    return uint32_t(fromFloat(a[lane], one)) << 16 | uint32_t(fromFloat(b[lane], one));
  });
}

// The conversions that fill models, without the general way.

template <typename To, typename From>
void convertPlainly(Warp &warp, const Instruction &in) {
  const From *a = warp.read<From>(in.source[0]);
  forLanes<To>(warp, in.result, [=](uint32_t lane) { return To(a[lane]); });
}

void bfloatToSingle(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<uint16_t>(in.source[0]);
  forLanes<float>(warp, in.result,
                  [=](uint32_t lane) { return canonical(BFloat{a[lane]}.value()); });
}

void halfToSingle(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<uint16_t>(in.source[0]);
  forLanes<float>(warp, in.result, [=](uint32_t lane) { return canonical(Half{a[lane]}.value()); });
}

void singleToBfloat(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<float>(in.source[0]);
  forLanes<uint16_t>(warp, in.result,
                     [=](uint32_t lane) { return BFloat::fromFloat(a[lane]).bits; });
}

void singleToBfloatPair(Warp &warp, const Instruction &in) {
  const auto *a = warp.read<float>(in.source[0]), *b = warp.read<float>(in.source[1]);
  forLanes<uint32_t>(warp, in.result, [=](uint32_t lane) {
    return uint32_t(BFloat::fromFloat(a[lane]).bits) << 16 | BFloat::fromFloat(b[lane]).bits;
  });
}

Handler quickConversion(const Conversion &how) {
  if (how.saturates || how.isRelu || how.flushes || how.toInteger >= 0 ||
      how.rounding != Rounding::Nearest)
    return nullptr;
  if (how.to == Type::BF16x2)
    return singleToBfloatPair;
  if (how.fromBytes != bytesOf(how.from) || how.toBytes != bytesOf(how.to))
    return nullptr;
  auto is = [&](Type to, Type from) { return how.to == to && how.from == from; };
  if (is(Type::F32, Type::BF16))
    return bfloatToSingle;
  if (is(Type::F32, Type::F16))
    return halfToSingle;
  if (is(Type::BF16, Type::F32))
    return singleToBfloat;
  if (is(Type::F32, Type::S32))
    return convertPlainly<float, int32_t>;
  if (is(Type::F32, Type::U32))
    return convertPlainly<float, uint32_t>;
  if ((how.to == Type::U64 || how.to == Type::S64) && how.from == Type::U32)
    return convertPlainly<uint64_t, uint32_t>;
  if ((how.to == Type::U64 || how.to == Type::S64) && how.from == Type::S32)
    return convertPlainly<uint64_t, int32_t>;
  if (bytesOf(how.to) == 4 && !isFloatType(how.to) && bytesOf(how.from) == 8 &&
      !isFloatType(how.from))
    return convertPlainly<uint32_t, uint64_t>;
  return nullptr;
}

void checkTypes(const Opcode &opcode, const Conversion &how) {
  for (Type type : {how.from, how.to})
    if (type == Type::Pred || type == Type::F32x2 || type == Type::B128 ||
        (isPlainBits(type) && type < Type::U8))
      opcode.refuseType(type);
  bool isPair = how.to == Type::F16x2 || how.to == Type::BF16x2;
  if (how.from == Type::F16x2 || how.from == Type::BF16x2 || (isPair && how.from != Type::F32))
    opcode.refuseType(how.from);
  bool fromFloat = isFloatType(how.from);
  if (fromFloat && !isFloatType(how.to) && how.toInteger < 0)
    refuse(opcode.line(), "'", opcode.spelling(), "' lacks a rounding to an integer");
  if (!fromFloat && how.toInteger >= 0)
    refuse(opcode.line(), "'", opcode.spelling(), "' rounds an integer");
  bool isSixteen = how.to == Type::F16 || how.to == Type::BF16 || isPair;
  if (how.rounding == Rounding::NearestAway && !isSixteen)
    refuse(opcode.line(), "'", opcode.spelling(), "': .rna is simulated only for 16-bit results");
  if (how.isRelu && !isSixteen)
    refuse(opcode.line(), "'", opcode.spelling(), "': .relu is simulated only for 16-bit results");
}

void decodeConversion(Decoder &decoder, Opcode &opcode, const Statement &statement,
                      Instruction &in) {
  Conversion how{};
  how.toInteger = opcode.takeOneOf({"rni", "rzi", "rmi", "rpi"});
  how.rounding = opcode.takeRounding();
  how.flushes = opcode.take("ftz");
  how.saturates = opcode.take("sat");
  how.isRelu = opcode.take("relu");
  how.to = opcode.requireType();
  how.from = opcode.requireType();
  checkTypes(opcode, how);
  bool isPair = how.to == Type::F16x2 || how.to == Type::BF16x2;
  Decoder::expectOperands(statement, isPair ? 3 : 2);
  in.result = decoder.wideDestination(statement.operands[0], how.to, in.line, how.toBytes);
  in.source[0] = decoder.wideSource(statement.operands[1], how.from, in.line, how.fromBytes);
  if (isPair)
    in.source[1] = decoder.source(statement.operands[2], how.from, in.line);
  in.count = uint32_t(how.from) | uint32_t(how.to) << 8 | how.fromBytes << 16 | how.toBytes << 24;
  in.elementBytes = uint8_t(how.toInteger);
  in.mode = uint8_t(how.rounding);
  in.flushes = how.flushes;
  in.saturates = how.saturates;
  in.isNegated = how.isRelu;
  in.run = quickConversion(how);
  if (!in.run)
    in.run = isPair ? convertToPair : convert;
}

} // namespace

const DecodeTable &conversionOpcodes() {
  static const DecodeTable table = {{"cvt", decodeConversion}};
  return table;
}

} // namespace ulsc::simulator::ptx

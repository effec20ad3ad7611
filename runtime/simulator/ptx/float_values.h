// Rules for single results that the floating-point instructions share.
#ifndef ULSC_RUNTIME_SIMULATOR_PTX_FLOAT_VALUES_H
#define ULSC_RUNTIME_SIMULATOR_PTX_FLOAT_VALUES_H

#include "simulator/ptx/decoder.h"
#include "simulator/ptx/float16.h"

namespace ulsc::simulator::ptx {

/// PTX keeps no payload in single precision: every NaN result has these bits.
inline float canonical(float value) { return value == value ? value : bitsAs<float>(0x7fffffffu); }
inline double canonical(double value) { return value; }

/// .ftz: subnormal numbers become zeros of their sign.
inline float flush(float value) {
  return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
}
inline double flush(double value) { return value; }

/// .sat: into [0, 1]; NaN becomes +0.
template <typename T>
inline T saturate(T value) {
  return value > T(0) ? (value < T(1) ? value : T(1)) : T(0);
}

/// min and max: NaN gives way to a number, -0 is below +0.
template <typename T>
inline T minimumOf(T a, T b) {
  if (a != a)
    return b;
  if (a == b)
    return std::signbit(a) ? a : b;
  return b < a ? b : a;
}
template <typename T>
inline T maximumOf(T a, T b) {
  if (a != a)
    return b;
  if (a == b)
    return std::signbit(a) ? b : a;
  return b > a ? b : a;
}

/// Operands of one type behind a result of that type.
void floatOperands(Decoder &decoder, const Statement &statement, Instruction &instruction,
                   Type type, size_t count);

/// What the directed roundings compute: directed_rounding.cpp.
enum class Arithmetic : uint8_t { Add, Subtract, Multiply, Fma, Divide, SquareRoot, Reciprocal };
/// A handler for f32 or f64 that reads the rounding from `mode`.
Handler directedArithmetic(Arithmetic operation, Type type);

/// Decoders of the 16-bit types, chosen by float_arithmetic.cpp: half_arithmetic.cpp.
void decodeHalf(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in,
                Type type);
bool isHalfType(Type type);

} // namespace ulsc::simulator::ptx

#endif // ULSC_RUNTIME_SIMULATOR_PTX_FLOAT_VALUES_H

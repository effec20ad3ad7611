// Element types and their conversions. All rounding is to nearest, ties to even.
#ifndef ULSC_RUNTIME_CORE_NUMERIC_H
#define ULSC_RUNTIME_CORE_NUMERIC_H

#include "ulsc/RuntimeABI.h"

#include <cstring>
#include <optional>
#include <string>

namespace ulsc::runtime {

inline int64_t dtypeSize(int32_t dtype) {
  switch (dtype) {
  case ULSC_BF16:
  case ULSC_F16:
    return 2;
  case ULSC_I64:
    return 8;
  default:
    return 4;
  }
}

inline bool isFloatingPoint(int32_t dtype) {
  return dtype == ULSC_F32 || dtype == ULSC_BF16 || dtype == ULSC_F16;
}

/// "f32", as the manifest spells it.
const char *dtypeName(int32_t dtype);
/// "F32", as safetensors spells it.
const char *safetensorsName(int32_t dtype);
std::optional<ulsc_dtype> parseDtype(const std::string &name);
std::optional<ulsc_dtype> parseSafetensorsDtype(const std::string &name);

inline float bf16ToFloat(uint16_t value) {
  uint32_t bits = static_cast<uint32_t>(value) << 16;
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

inline uint16_t floatToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  // Rounding could carry a NaN's mantissa into infinity; keep it a quiet NaN.
  uint32_t quiet = (bits >> 16) | 0x40;
  bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>(isNan ? quiet : rounded);
}

float f16ToFloat(uint16_t value);
uint16_t floatToF16(float value);

/// `count` elements of any floating-point type to f32, and back.
void toFloat(const void *source, int32_t dtype, float *target, int64_t count);
void fromFloat(const float *source, void *target, int32_t dtype, int64_t count);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_NUMERIC_H

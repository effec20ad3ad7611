#include "core/numeric.h"

namespace ulsc::runtime {

namespace {
struct DtypeNames {
  ulsc_dtype dtype;
  const char *name;
  const char *safetensors;
};
constexpr DtypeNames names[] = {{ULSC_F32, "f32", "F32"},
                                {ULSC_BF16, "bf16", "BF16"},
                                {ULSC_F16, "f16", "F16"},
                                {ULSC_I32, "i32", "I32"},
                                {ULSC_I64, "i64", "I64"}};
} // namespace

const char *dtypeName(int32_t dtype) {
  for (const DtypeNames &entry : names)
    if (entry.dtype == dtype)
      return entry.name;
  return "unknown";
}

const char *safetensorsName(int32_t dtype) {
  for (const DtypeNames &entry : names)
    if (entry.dtype == dtype)
      return entry.safetensors;
  return "unknown";
}

std::optional<ulsc_dtype> parseDtype(const std::string &name) {
  for (const DtypeNames &entry : names)
    if (name == entry.name)
      return entry.dtype;
  return std::nullopt;
}

std::optional<ulsc_dtype> parseSafetensorsDtype(const std::string &name) {
  for (const DtypeNames &entry : names)
    if (name == entry.safetensors)
      return entry.dtype;
  return std::nullopt;
}

float f16ToFloat(uint16_t value) {
  uint32_t sign = static_cast<uint32_t>(value & 0x8000) << 16;
  uint32_t exponent = (value >> 10) & 0x1f, mantissa = value & 0x3ff, bits;
  if (exponent == 0x1f) {
    bits = sign | 0x7f800000 | (mantissa << 13);
  } else if (exponent) {
    bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
  } else { // zero or subnormal: mantissa * 2^-24 is exact in f32
    float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    std::memcpy(&bits, &magnitude, 4);
    bits |= sign;
  }
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

uint16_t floatToF16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  uint32_t sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) // NaN
    return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000) // rounds to at least 2^16
    return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) { // below 2^-14: adding 0.5 lets the FPU round at 2^-24
    float absolute;
    std::memcpy(&absolute, &magnitude, 4);
    float shifted = absolute + 0.5f;
    uint32_t shiftedBits;
    std::memcpy(&shiftedBits, &shifted, 4);
    return static_cast<uint16_t>(sign | (shiftedBits - 0x3f000000));
  }
  uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23);
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

void toFloat(const void *source, int32_t dtype, float *target, int64_t count) {
  const uint16_t *half = static_cast<const uint16_t *>(source);
  switch (dtype) {
  case ULSC_BF16:
    for (int64_t i = 0; i < count; ++i)
      target[i] = bf16ToFloat(half[i]);
    break;
  case ULSC_F16:
    for (int64_t i = 0; i < count; ++i)
      target[i] = f16ToFloat(half[i]);
    break;
  default:
    std::memcpy(target, source, count * sizeof(float));
  }
}

void fromFloat(const float *source, void *target, int32_t dtype, int64_t count) {
  uint16_t *half = static_cast<uint16_t *>(target);
  switch (dtype) {
  case ULSC_BF16:
    for (int64_t i = 0; i < count; ++i)
      half[i] = floatToBf16(source[i]);
    break;
  case ULSC_F16:
    for (int64_t i = 0; i < count; ++i)
      half[i] = floatToF16(source[i]);
    break;
  default:
    std::memcpy(target, source, count * sizeof(float));
  }
}

} // namespace ulsc::runtime

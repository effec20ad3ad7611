// The table of PTX types.
#include "simulator/ptx/syntax.h"

namespace ulsc::simulator::ptx {

namespace {

struct Row {
  Type type;
  const char *name;
  uint32_t bytes;
};

constexpr Row rows[] = {
    {Type::None, "", 0},         {Type::Pred, "pred", 0},   {Type::B8, "b8", 1},
    {Type::B16, "b16", 2},       {Type::B32, "b32", 4},     {Type::B64, "b64", 8},
    {Type::B128, "b128", 16},    {Type::U8, "u8", 1},       {Type::U16, "u16", 2},
    {Type::U32, "u32", 4},       {Type::U64, "u64", 8},     {Type::S8, "s8", 1},
    {Type::S16, "s16", 2},       {Type::S32, "s32", 4},     {Type::S64, "s64", 8},
    {Type::F16, "f16", 2},       {Type::F16x2, "f16x2", 4}, {Type::BF16, "bf16", 2},
    {Type::BF16x2, "bf16x2", 4}, {Type::F32, "f32", 4},     {Type::F32x2, "f32x2", 8},
    {Type::F64, "f64", 8},
};

} // namespace

Type typeOfName(const std::string &name) {
  for (const Row &row : rows)
    if (name == row.name && !name.empty())
      return row.type;
  return Type::None;
}

const char *nameOf(Type type) { return rows[size_t(type)].name; }
uint32_t bytesOf(Type type) { return rows[size_t(type)].bytes; }
bool isSignedType(Type type) { return type >= Type::S8 && type <= Type::S64; }
bool isFloatType(Type type) { return type >= Type::F16; }
bool isPlainBits(Type type) { return type >= Type::B8 && type <= Type::U64; }

} // namespace ulsc::simulator::ptx

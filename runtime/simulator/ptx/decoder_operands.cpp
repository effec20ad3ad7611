// Places of registers, constants and special registers: what the operands of statements become.
#include "simulator/ptx/decoder.h"

#include "simulator/ptx/warp.h"

#include <algorithm>

namespace ulsc::simulator::ptx {

namespace {

constexpr uint32_t placeAlign = 64; // a cache line

} // namespace

Place Decoder::scratch(uint32_t bytes) {
  Place result = kernel.registerBytes;
  uint64_t end = uint64_t(result) + (bytes + placeAlign - 1) / placeAlign * placeAlign;
  if (end > (64u << 20))
    refuse(current().line, "'", kernel.name, "' has too many registers to simulate");
  kernel.registerBytes = uint32_t(end);
  return result;
}

const std::pair<Type, Place> &Decoder::find(const std::string &name, uint32_t line) const {
  auto found = registers.find(name);
  if (found == registers.end())
    refuse(line, "register '", name, "' is not declared");
  return found->second;
}

Place Decoder::constant(uint64_t bits, uint32_t bytes) {
  if (bytes < 8)
    bits &= (uint64_t(1) << (bytes * 8)) - 1;
  auto [found, isNew] = constants.try_emplace({bits, bytes}, 0);
  if (!isNew)
    return found->second;
  auto offset = uint32_t(kernel.constants.size());
  kernel.constants.resize(offset + (warpLanes * bytes + placeAlign - 1) / placeAlign * placeAlign);
  for (uint32_t lane = 0; lane < warpLanes; ++lane)
    std::memcpy(kernel.constants.data() + offset + lane * bytes, &bits, bytes);
  return found->second = offset | constantPlace;
}

namespace {

/// The bits of an immediate for a type. A floating-point literal of 32 bits may stand for any
/// 32-bit type; one of 64 bits is converted where an f32 is wanted.
uint64_t immediateBits(const Operand &operand, Type type, uint32_t line) {
  if (operand.kind == Operand::Integer) {
    if (type == Type::F32 || type == Type::F64)
      refuse(line, "an integer where a ", nameOf(type), " is needed");
    return operand.value;
  }
  if (operand.kind == Operand::Float32) {
    if (bytesOf(type) == 8 && type != Type::F64)
      refuse(line, "a 32-bit floating-point literal where a ", nameOf(type), " is needed");
    if (type == Type::F64)
      return bitsAs<uint64_t>(double(bitsAs<float>(uint32_t(operand.value))));
    return operand.value;
  }
  auto value = bitsAs<double>(operand.value);
  if (type == Type::F32)
    return bitsAs<uint32_t>(float(value));
  if (bytesOf(type) != 8)
    refuse(line, "a 64-bit floating-point literal where a ", nameOf(type), " is needed");
  return operand.value;
}

bool isImmediate(const Operand &operand) {
  return operand.kind == Operand::Integer || operand.kind == Operand::Float32 ||
         operand.kind == Operand::Float64;
}

} // namespace

Place Decoder::wideSource(const Operand &operand, Type type, uint32_t line, uint32_t &bytes) {
  bytes = bytesOf(type);
  if (operand.isNegated)
    refuse(line, "'!' before an operand that is no predicate");
  if (isImmediate(operand)) {
    bytes = std::max(bytes, 2u);
    return constant(immediateBits(operand, type, line), bytes);
  }
  if (operand.kind == Operand::Register) {
    if (auto found = registers.find(operand.name); found != registers.end()) {
      auto [declared, place] = found->second;
      if (declared == Type::Pred || bytesOf(declared) < bytes)
        refuse(line, "register '", operand.name, "' of type .", nameOf(declared), " where a .",
               nameOf(type), " is needed");
      bytes = bytesOf(declared);
      return place;
    }
    return special(operand.name, bytes, line);
  }
  if (operand.kind == Operand::Symbol) {
    if (bytes != 8 && bytes != 4)
      refuse(line, "the address of '", operand.name, "' as a .", nameOf(type));
    Symbol found = symbol(operand.name, line);
    return constant(found.address + uint64_t(operand.offset), bytes);
  }
  refuse(line, "an operand of this kind is not legal here");
}

Place Decoder::source(const Operand &operand, Type type, uint32_t line) {
  uint32_t bytes = 0;
  if (type == Type::Pred)
    return predicate(operand, line);
  Place result = wideSource(operand, type, line, bytes);
  if (bytes != bytesOf(type) && operand.kind == Operand::Register)
    refuse(line, "register '", operand.name, "' has ", bytes, " bytes where a .", nameOf(type),
           " is needed");
  return result;
}

Place Decoder::wideDestination(const Operand &operand, Type type, uint32_t line, uint32_t &bytes) {
  if (operand.kind == Operand::Sink) {
    bytes = std::max(bytesOf(type), 2u);
    return scratch(warpLanes * bytes);
  }
  if (operand.kind != Operand::Register || operand.isNegated)
    refuse(line, "the result must be a register");
  auto [declared, place] = find(operand.name, line);
  bytes = bytesOf(declared);
  if (declared == Type::Pred || bytes < bytesOf(type))
    refuse(line, "register '", operand.name, "' of type .", nameOf(declared), " where a .",
           nameOf(type), " is needed");
  return place;
}

Place Decoder::destination(const Operand &operand, Type type, uint32_t line) {
  if (type == Type::Pred)
    return predicate(operand, line);
  uint32_t bytes = 0;
  Place result = wideDestination(operand, type, line, bytes);
  if (bytes != bytesOf(type))
    refuse(line, "register '", operand.name, "' has ", bytes, " bytes where a .", nameOf(type),
           " is needed");
  return result;
}

Place Decoder::predicate(const Operand &operand, uint32_t line) {
  if (operand.kind == Operand::Integer)
    return constant(operand.value ? ~uint64_t(0) : 0, 4);
  if (operand.kind == Operand::Sink)
    return scratch(4);
  if (operand.kind != Operand::Register)
    refuse(line, "a predicate is needed");
  auto [declared, place] = find(operand.name, line);
  if (declared != Type::Pred)
    refuse(line, "register '", operand.name, "' is no predicate");
  return place;
}

void Decoder::predicates(const Operand &operand, Instruction &instruction) {
  Operand first = operand;
  first.elements.clear();
  instruction.result = predicate(first, instruction.line);
  if (!operand.elements.empty())
    instruction.second = predicate(operand.elements[0], instruction.line);
}

Symbol Decoder::symbol(const std::string &name, uint32_t line) const {
  if (auto found = symbols.find(name); found != symbols.end())
    return found->second;
  if (auto found = globals.find(name); found != globals.end())
    return found->second;
  refuse(line, "'", name, "' is no variable that is known here");
}

bool Decoder::hasSymbol(const std::string &name) const {
  return symbols.count(name) || globals.count(name);
}

const Operand &Decoder::operand(const Statement &statement, size_t index) {
  if (index >= statement.operands.size())
    refuse(statement.line, "'", statement.opcode, "' has too few operands");
  return statement.operands[index];
}

void Decoder::expectOperands(const Statement &statement, size_t count) {
  if (statement.operands.size() != count)
    refuse(statement.line, "'", statement.opcode, "' has ", statement.operands.size(),
           " operands instead of ", count);
}

void Decoder::address(const Operand &operand, Instruction &instruction) {
  if (operand.kind != Operand::Address)
    refuse(instruction.line, "an address in brackets is needed");
  instruction.offset = operand.offset;
  if (operand.name.empty()) {
    instruction.source[0] = constant(0, 8);
    return;
  }
  if (!operand.isRegisterBase) {
    Symbol found = symbol(operand.name, instruction.line);
    if (instruction.space == Space::Param)
      instruction.space = found.space; // parameters of functions lie in local memory
    else if (instruction.space == Space::Generic && found.space == Space::Shared)
      found.address += sharedWindow;
    else if (instruction.space == Space::Generic && found.space == Space::Local)
      found.address += localWindow;
    else if (instruction.space != Space::Generic && instruction.space != found.space)
      refuse(instruction.line, "'", operand.name, "' is in another space");
    instruction.source[0] = constant(found.address, 8);
    return;
  }
  if (instruction.space == Space::Param && !current().isEntry)
    refuse(instruction.line, "parameters of functions by address are not simulated");
  auto [declared, place] = find(operand.name, instruction.line);
  if (declared == Type::Pred || bytesOf(declared) < 4)
    refuse(instruction.line, "register '", operand.name, "' can't be an address");
  instruction.source[0] = place;
  instruction.isNegated = bytesOf(declared) == 4; // a 32-bit address, of shared memory
}

void Decoder::noteAccess(Space space, uint32_t bytes) {
  if (space == Space::Global || space == Space::Const || space == Space::Generic)
    kernel.narrowestGlobal = std::min(kernel.narrowestGlobal, bytes);
  if (space == Space::Shared || space == Space::Generic)
    kernel.narrowestShared = std::min(kernel.narrowestShared, bytes);
}

Place Decoder::special(const std::string &name, uint32_t bytes, uint32_t line) {
  static const std::unordered_map<std::string, Special> names = {
      {"%tid.x", Special::TidX},
      {"%tid.y", Special::TidY},
      {"%tid.z", Special::TidZ},
      {"%ntid.x", Special::NtidX},
      {"%ntid.y", Special::NtidY},
      {"%ntid.z", Special::NtidZ},
      {"%ctaid.x", Special::CtaidX},
      {"%ctaid.y", Special::CtaidY},
      {"%ctaid.z", Special::CtaidZ},
      {"%nctaid.x", Special::NctaidX},
      {"%nctaid.y", Special::NctaidY},
      {"%nctaid.z", Special::NctaidZ},
      {"%laneid", Special::LaneId},
      {"%warpid", Special::WarpId},
      {"%nwarpid", Special::NWarpId},
      {"%lanemask_eq", Special::LaneMaskEq},
      {"%lanemask_le", Special::LaneMaskLe},
      {"%lanemask_lt", Special::LaneMaskLt},
      {"%lanemask_ge", Special::LaneMaskGe},
      {"%lanemask_gt", Special::LaneMaskGt},
      {"%dynamic_smem_size", Special::DynamicShared},
      {"%total_smem_size", Special::TotalShared},
      {"%gridid", Special::GridId},
      {"%smid", Special::SmId},
      {"%nsmid", Special::NSmId},
  };
  auto found = names.find(name);
  if (found == names.end())
    refuse(line, "register '", name,
           "' is neither declared nor a special register that is simulated");
  auto [place, isNew] = specials.try_emplace({int(found->second), bytes}, 0);
  if (isNew) {
    if (bytes != 4 && bytes != 8 && bytes != 2)
      refuse(line, "special register '", name, "' in ", bytes, " bytes");
    place->second = scratch(warpLanes * bytes);
    kernel.specials.push_back({found->second, bytes, place->second});
  }
  return place->second;
}

} // namespace ulsc::simulator::ptx

// Where variables lie in shared and local memory and among the parameters.
#include "simulator/ptx/decoder.h"

#include <algorithm>

namespace ulsc::simulator::ptx {

namespace {

uint32_t placeBytes(Type type) { return type == Type::Pred ? 4 : warpLanes * bytesOf(type); }

/// A place with exactly the alignment that was asked for: what works only where the linker happened
/// to place a variable better is found.
uint64_t placeExactly(uint64_t next, uint64_t align) {
  align = std::max<uint64_t>(align, 4);
  uint64_t place = (next + align - 1) / align * align;
  if (place % (2 * align) == 0)
    place += align;
  return place;
}

constexpr uint64_t gap = 16; // between variables, which belongs to none

} // namespace

void Decoder::layOutShared(const Variable &variable) {
  bool isDynamic = variable.isExtern || variable.isUnsized;
  symbols[variable.name] = {Space::Shared, 0};
  if (isDynamic) {
    kernel.hasDynamicShared = true;
    dynamicNames.push_back(variable.name);
    return;
  }
  uint64_t place = placeExactly(kernel.sharedExtent + gap, variable.align);
  if (variable.bytes() > (1u << 20))
    refuse(variable.line, "'", variable.name, "' has ", variable.bytes(),
           " bytes of shared memory");
  kernel.shared.push_back({variable.name, place, variable.bytes()});
  kernel.sharedExtent = place + variable.bytes();
  kernel.sharedBytes =
      uint32_t((kernel.sharedBytes + variable.align - 1) / variable.align * variable.align +
               variable.bytes());
  symbols[variable.name].address = place;
}

void Decoder::layOutLocal(const Function &function, const Variable &variable) {
  if (variable.isUnsized || variable.bytes() > (1u << 20))
    refuse(variable.line, "'", variable.name, "' has no size that is simulated");
  uint64_t place = placeExactly(kernel.localBytes + gap, variable.align);
  PlacedVariable placed{variable.name, place, variable.bytes()};
  kernel.local.push_back(placed);
  kernel.localBytes = uint32_t(place + variable.bytes());
  if (kernel.localBytes > (4u << 20))
    refuse(variable.line, "more than 4 MiB of local memory");
  symbols[variable.name] = {Space::Local, place};
  if (variable.space == Space::Param)
    parametersOf[{function.name, variable.name}] = placed;
}

void Decoder::layOut(const Function &function) {
  for (const auto &[name, type] : function.registers)
    registers[name] = {type, scratch(placeBytes(type))};
  for (const Variable &variable : function.variables)
    if (variable.space == Space::Shared)
      layOutShared(variable);
    else
      layOutLocal(function, variable);
  if (!function.isEntry) {
    for (const auto *list : {&function.parameters, &function.results})
      for (const Variable &variable : *list)
        layOutLocal(function, variable);
    return;
  }
  for (const Variable &variable : function.parameters) {
    uint64_t offset =
        (kernel.parameterBytes + variable.align - 1) / variable.align * variable.align;
    if (variable.isUnsized || offset + variable.bytes() > 32764)
      refuse(variable.line, "parameter '", variable.name,
             "' doesn't fit into the 32764 bytes of parameters");
    kernel.parameters.push_back({uint32_t(offset), uint32_t(variable.bytes())});
    kernel.parameterBytes = uint32_t(offset + variable.bytes());
    symbols[variable.name] = {Space::Param, offset};
  }
}

/// Dynamic shared memory comes last; all extern arrays name it. Its place is needed before the end
/// of the others is known, so it has a range of its own.
void Decoder::placeDynamicShared() {
  if (kernel.hasDynamicShared)
    kernel.shared.push_back(
        {dynamicNames.front(), dynamicSharedBegin + kernel.dynamicSharedAlign, 0});
}

} // namespace ulsc::simulator::ptx

// Modifiers that loads, stores, atomics and copies share.
#ifndef ULSC_RUNTIME_SIMULATOR_PTX_MEMORY_MODIFIERS_H
#define ULSC_RUNTIME_SIMULATOR_PTX_MEMORY_MODIFIERS_H

#include "simulator/ptx/opcode.h"

namespace ulsc::simulator::ptx {

/// Generic where none is named.
Space takeMemorySpace(Opcode &opcode);
/// The order and its scope. True for accesses that don't race with others of their kind.
bool takeOrdering(Opcode &opcode);
/// Hints for caches, which are not simulated.
void takeCacheHints(Opcode &opcode);

} // namespace ulsc::simulator::ptx

#endif // ULSC_RUNTIME_SIMULATOR_PTX_MEMORY_MODIFIERS_H

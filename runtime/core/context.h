// The runtime's context of a rank; generated code sees its head, ulsc_context.
#ifndef ULSC_RUNTIME_CORE_CONTEXT_H
#define ULSC_RUNTIME_CORE_CONTEXT_H

#include "comm/communicator.h"
#include "device/device.h"
#include "ulsc/RuntimeABI.h"

#include <array>

namespace ulsc::runtime {

class Trace;

constexpr int collectiveKinds = ULSC_RECEIVE + 1;

struct Context : ulsc_context {
  Device *device = nullptr;
  Communicator *communicator = nullptr;
  Trace *trace = nullptr;                            // null: nothing is recorded
  std::array<int, 64> slotKinds{};                   // ulsc_collective_kind of what a slot holds
  std::array<double, collectiveKinds> waitSeconds{}; // of this step, by kind
};

/// The manifest's spelling of a collective kind.
const char *collectiveKindName(int kind);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_CONTEXT_H

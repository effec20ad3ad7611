// The runtime's context of a rank; generated code sees its head, ulsc_context.
#ifndef ULSC_RUNTIME_CORE_CONTEXT_H
#define ULSC_RUNTIME_CORE_CONTEXT_H

#include "comm/communicator.h"
#include "device/device.h"
#include "ulsc/RuntimeABI.h"

namespace ulsc::runtime {

class Exposure;
class Trace;

constexpr int collectiveKinds = ULSC_RECEIVE + 1;

struct Context : ulsc_context {
  Device *device = nullptr;
  Collectives *collectives = nullptr;
  Exposure *exposure = nullptr;
  Trace *trace = nullptr; // null: nothing is recorded
};

/// The manifest's spelling of a collective kind.
const char *collectiveKindName(int kind);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_CONTEXT_H

// Handles of communicators, and the errors that calls leave behind.
#ifndef ULSC_RUNTIME_SIMULATOR_NCCL_HANDLES_H
#define ULSC_RUNTIME_SIMULATOR_NCCL_HANDLES_H

#include "cuda/nccl_api.h"
#include "simulator/nccl/communicator.h"

namespace ulsc::nccl {

// Definitions must have the signatures that the runtime calls.
#define ULSC_DECLARE(name, result, parameters)                                                     \
  extern "C" __attribute__((visibility("default"))) result name parameters;
ULSC_NCCL_FUNCTIONS(ULSC_DECLARE)
#undef ULSC_DECLARE

} // namespace ulsc::nccl

namespace ulsc::simulator {

inline nccl::Comm handleOf(const Communicator &communicator) {
  return reinterpret_cast<nccl::Comm>(const_cast<Communicator *>(&communicator));
}

/// Null for a null handle; one that was destroyed, or never made, is reported.
std::shared_ptr<Communicator> findCommunicator(nccl::Comm comm);

/// Keeps the reason for ncclGetLastError (of this thread where there is no communicator), logs it
/// where NCCL_DEBUG asks for warnings, and returns `result`.
nccl::Result noteError(Communicator *communicator, nccl::Result result, const std::string &reason);
/// The latest reason of this thread.
const char *threadError();

/// Once, before anything waits: tells the core what to ask when nothing can run.
void registerWithCore();

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_NCCL_HANDLES_H

// What the files of the simulated libcuda share: the context, handles and error codes.
#ifndef ULSC_RUNTIME_SIMULATOR_DRIVER_DRIVER_H
#define ULSC_RUNTIME_SIMULATOR_DRIVER_DRIVER_H

#include "cuda/driver_api.h"
#include "simulator/core/graphs.h"
#include "simulator/core/streams.h"
#include "simulator/ptx/program.h"

#include <memory>

/// Everything else of the library is hidden.
#define ULSC_EXPORT extern "C" __attribute__((visibility("default")))

namespace ulsc::simulator::driver {

using cuda::Result;

/// A function of a loaded module. Launches that are still queued keep the module alive.
struct KernelHandle {
  std::shared_ptr<ptx::LoadedModule> module;
  const ptx::Kernel *kernel = nullptr;
  int maximumDynamicShared = 0; ///< As set by cuFuncSetAttribute; 0: 48 KiB with the static ones.
};

Result resultOf(Status status);
/// Success once cuInit was called and a context is current on this thread.
Result checkContext();
void setInitialised();
bool isInitialised();
cuda::Context currentContext();
void setCurrentContext(cuda::Context context);
bool isContext(cuda::Context context);
cuda::Context contextOf(cuda::Device device);
bool isDevice(cuda::Device device);
int attributeOf(cuda::DeviceAttribute attribute, bool &isKnown);

inline StreamHandle streamOf(cuda::Stream stream) { return reinterpret_cast<StreamHandle>(stream); }
inline EventHandle eventOf(cuda::Event event) { return reinterpret_cast<EventHandle>(event); }

/// The name that reports give to what a call enqueues: `otherwise`, or that of the runtime
/// library's call around it.
const char *callName(const char *otherwise);

} // namespace ulsc::simulator::driver

#endif // ULSC_RUNTIME_SIMULATOR_DRIVER_DRIVER_H

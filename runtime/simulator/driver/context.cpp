// The context of a process and the error codes.
#include "simulator/driver/driver.h"

#include "simulator/core/settings.h"

#include <atomic>

namespace ulsc::simulator::driver {

namespace {

std::atomic<bool> initialised{false};
char contexts[64]; // one per device; only their addresses matter
thread_local cuda::Context current = nullptr;
thread_local const char *outermostCall = nullptr;

struct ErrorRow {
  Result result;
  const char *name, *text;
};

constexpr ErrorRow errors[] = {
    {cuda::Success, "CUDA_SUCCESS", "no error"},
    {cuda::InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {cuda::OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {cuda::NotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "cuInit has not been called"},
    {cuda::NoDevice, "CUDA_ERROR_NO_DEVICE", "no device is there"},
    {cuda::InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "no device has this number"},
    {cuda::InvalidImage, "CUDA_ERROR_INVALID_IMAGE", "the module is no PTX text"},
    {cuda::InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "no context is current"},
    {cuda::NoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "the module was made for another architecture"},
    {cuda::InvalidPtx, "CUDA_ERROR_INVALID_PTX", "the PTX text is wrong"},
    {cuda::InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "the handle names nothing that is alive"},
    {cuda::NotFound, "CUDA_ERROR_NOT_FOUND", "the name was not found"},
    {cuda::NotReady, "CUDA_ERROR_NOT_READY", "work is still queued"},
    {cuda::LaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many threads, registers or shared memory for a block"},
    {cuda::NotSupported, "CUDA_ERROR_NOT_SUPPORTED", "the simulated device doesn't do this"},
    {cuda::CaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "this may not be done while a stream is captured"},
    {cuda::CaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "an earlier call has spoilt the capture"},
    {cuda::CaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "this would join two captures"},
    {cuda::CaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "the capture was not begun on this stream"},
    {cuda::CaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "a stream that was forked off in the capture has not been joined"},
    {cuda::CaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "a captured stream can't wait for an event from outside the capture"},
    {cuda::CaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "the default stream would have to wait for a capture"},
    {cuda::CapturedEvent, "CUDA_ERROR_CAPTURED_EVENT", "the event was last recorded in a capture"},
};

const ErrorRow *find(Result result) {
  for (const ErrorRow &row : errors)
    if (row.result == result)
      return &row;
  return nullptr;
}

} // namespace

Result resultOf(Status status) {
  switch (status) {
  case Status::Success:
    return cuda::Success;
  case Status::NotReady:
    return cuda::NotReady;
  case Status::InvalidHandle:
    return cuda::InvalidHandle;
  case Status::CaptureUnsupported:
    return cuda::CaptureUnsupported;
  case Status::CaptureInvalidated:
    return cuda::CaptureInvalidated;
  case Status::CaptureMerge:
    return cuda::CaptureMerge;
  case Status::CaptureUnmatched:
    return cuda::CaptureUnmatched;
  case Status::CaptureUnjoined:
    return cuda::CaptureUnjoined;
  case Status::CaptureIsolation:
    return cuda::CaptureIsolation;
  case Status::CaptureImplicit:
    return cuda::CaptureImplicit;
  case Status::CapturedEvent:
    return cuda::CapturedEvent;
  }
  return cuda::InvalidValue;
}

void setInitialised() { initialised = true; }
bool isInitialised() { return initialised; }

Result checkContext() {
  if (!initialised)
    return cuda::NotInitialized;
  return current ? cuda::Success : cuda::InvalidContext;
}

cuda::Context currentContext() { return current; }
void setCurrentContext(cuda::Context context) { current = context; }
cuda::Context contextOf(cuda::Device device) {
  return reinterpret_cast<cuda::Context>(&contexts[device]);
}
bool isContext(cuda::Context context) {
  for (int device = 0; device < settings().devices; ++device)
    if (context == contextOf(device))
      return true;
  return false;
}
bool isDevice(cuda::Device device) { return device >= 0 && device < settings().devices; }

const char *callName(const char *otherwise) { return outermostCall ? outermostCall : otherwise; }

} // namespace ulsc::simulator::driver

using namespace ulsc;
using namespace ulsc::simulator::driver;

ULSC_EXPORT void ulsc_simulator_begin_call(const char *name) { outermostCall = name; }
ULSC_EXPORT void ulsc_simulator_end_call() { outermostCall = nullptr; }

ULSC_EXPORT Result cuGetErrorName(Result error, const char **name) {
  const ErrorRow *row = find(error);
  if (!name || !row)
    return cuda::InvalidValue;
  *name = row->name;
  return cuda::Success;
}

ULSC_EXPORT Result cuGetErrorString(Result error, const char **text) {
  const ErrorRow *row = find(error);
  if (!text || !row)
    return cuda::InvalidValue;
  *text = row->text;
  return cuda::Success;
}

ULSC_EXPORT Result cuDevicePrimaryCtxRetain(cuda::Context *context, cuda::Device device) {
  if (!isInitialised())
    return cuda::NotInitialized;
  if (!context || !isDevice(device))
    return context ? cuda::InvalidDevice : cuda::InvalidValue;
  *context = contextOf(device);
  return cuda::Success;
}

ULSC_EXPORT Result cuDevicePrimaryCtxRelease_v2(cuda::Device device) {
  return isDevice(device) ? cuda::Success : cuda::InvalidDevice;
}

/// How the host waits and what is mapped: up to 0x1f, without effect here.
ULSC_EXPORT Result cuDevicePrimaryCtxSetFlags_v2(cuda::Device device, unsigned flags) {
  if (flags > 0x1f)
    return cuda::InvalidValue;
  return isDevice(device) ? cuda::Success : cuda::InvalidDevice;
}

ULSC_EXPORT Result cuCtxSetCurrent(cuda::Context context) {
  if (!isInitialised())
    return cuda::NotInitialized;
  if (context && !isContext(context))
    return cuda::InvalidContext;
  setCurrentContext(context);
  return cuda::Success;
}

ULSC_EXPORT Result cuCtxGetCurrent(cuda::Context *context) {
  if (!isInitialised())
    return cuda::NotInitialized;
  if (!context)
    return cuda::InvalidValue;
  *context = currentContext();
  return cuda::Success;
}

ULSC_EXPORT Result cuCtxGetDevice(cuda::Device *device) {
  if (Result result = checkContext(); result != cuda::Success)
    return result;
  for (*device = 0; contextOf(*device) != currentContext();)
    ++*device;
  return cuda::Success;
}

ULSC_EXPORT Result cuCtxSynchronize() {
  if (Result result = checkContext(); result != cuda::Success)
    return result;
  return resultOf(simulator::synchronizeDevice());
}

ULSC_EXPORT Result cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return cuda::Success;
}

#include "cuda/driver.h"

#include "core/error.h"

namespace ulsc::runtime {

CudaDriver::CudaDriver(int localRank) {
  setSource =
      reinterpret_cast<void (*)(const char *)>(library.findOptional("ulsc_simulator_set_source"));
  check(cuInit(0), "cuInit");
  int count = 0;
  check(cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (count == 0)
    raise("this machine has no GPU that the driver shows; start the program where there is one, or "
          "look at CUDA_VISIBLE_DEVICES");
  // A launcher may show each rank its own GPU alone.
  if (localRank >= count && count > 1)
    raise("this machine has ", count, " GPUs, but this is its rank ", localRank,
          "; start at most one rank for each GPU");
  cuda::Device device = 0;
  check(cuDeviceGet(&device, localRank % count), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

void CudaDriver::recordForHost(cuda::Event event, cuda::Stream stream) const {
  check(isCapturing ? cuEventRecordWithFlags(event, stream, cuda::EventRecordExternal)
                    : cuEventRecord(event, stream),
        "cuEventRecord");
}

void CudaDriver::check(cuda::Result result, const char *operation) const {
  if (result == cuda::Success)
    return;
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  raise(operation, " failed: ", text ? text : "unknown error", " (", name ? name : "?", ")");
}

} // namespace ulsc::runtime

#include "cuda/driver.h"

#include "core/error.h"

#include <string>
#include <type_traits>

namespace ulsc::runtime {

CudaDriver::CudaDriver(int localRank) {
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(library.findOptional(name));
  };
  find(setSource, "ulsc_simulator_set_source");
  find(setBuffers, "ulsc_simulator_declare_buffers");
  find(forgetBytes, "ulsc_simulator_forget");
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
  check(cuDeviceGet(&device, localRank % count), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

int CudaDriver::computeCapability() const {
  int major = 0, minor = 0;
  check(cuDeviceGetAttribute(&major, cuda::ComputeCapabilityMajor, device), "cuDeviceGetAttribute");
  check(cuDeviceGetAttribute(&minor, cuda::ComputeCapabilityMinor, device), "cuDeviceGetAttribute");
  return major * 10 + minor;
}

void CudaDriver::recordForHost(cuda::Event event, cuda::Stream stream) const {
  check(isCapturing ? cuEventRecordWithFlags(event, stream, cuda::EventRecordExternal)
                    : cuEventRecord(event, stream),
        "cuEventRecord");
}

/// In a block that layers share, "model.layers.*.mlp" is "model.layers.3.mlp" when it is called for
/// "layer.3".
void CudaDriver::announceInside(const char *source) const {
  std::string text = source ? source : "";
  if (text.empty() || places.empty())
    return setSource(text.c_str());
  std::string place = places.back().source ? places.back().source : "";
  size_t digits = place.find_last_not_of("0123456789") + 1;
  size_t dot = digits > 0 && place[digits - 1] == '.' ? digits : place.size();
  std::string number = place.substr(dot);
  for (size_t at = 0; !number.empty() && (at = text.find(".*", at)) != std::string::npos;)
    text.replace(at, 2, "." + number);
  setSource((text + " in " + places.back().block).c_str());
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

// Launches of kernels and of host functions.
#include "simulator/driver/driver.h"

#include "simulator/ptx/launch.h"

#include <cstring>

namespace ulsc::simulator::driver {

namespace {

using Bytes = std::vector<uint8_t>;

/// What the program declared for its next launch on this thread.
thread_local std::vector<ptx::LaunchBuffer> declaredBuffers;

/// The limits that the hardware has for a launch.
Result checkLaunch(const KernelHandle &handle, ptx::Dimensions grid, ptx::Dimensions block,
                   unsigned dynamicShared) {
  const ptx::Kernel &kernel = *handle.kernel;
  bool isEmpty = grid.product() == 0 || block.product() == 0;
  bool isTooLarge = block.x > 1024 || block.y > 1024 || block.z > 64 || block.product() > 1024 ||
                    grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535;
  if (isEmpty || isTooLarge)
    return cuda::InvalidValue;
  const uint32_t *most = kernel.maximumThreads, *exact = kernel.requiredThreads;
  if (most[0] && block.product() > uint64_t(most[0]) * most[1] * most[2])
    return cuda::InvalidValue;
  if (exact[0] && (block.x != exact[0] || block.y != exact[1] || block.z != exact[2]))
    return cuda::InvalidValue;
  uint64_t allowed = handle.maximumDynamicShared
                         ? uint64_t(handle.maximumDynamicShared)
                         : (48 << 10) - std::min(kernel.sharedBytes, 48u << 10);
  if (kernel.sharedBytes > 48 << 10 || dynamicShared > allowed)
    return cuda::InvalidValue;
  return cuda::Success;
}

Result gatherParameters(const ptx::Kernel &kernel, void **parameters, void **extra, Bytes &bytes) {
  bytes.resize(kernel.parameterBytes + 32);
  if (parameters) {
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
      if (!parameters[i])
        return cuda::InvalidValue;
      std::memcpy(bytes.data() + kernel.parameters[i].offset, parameters[i],
                  kernel.parameters[i].bytes);
    }
    return cuda::Success;
  }
  if (!extra)
    return kernel.parameters.empty() ? cuda::Success : cuda::InvalidValue;
  const void *buffer = nullptr;
  size_t size = 0;
  for (; *extra != cuda::launchParameterEnd; extra += 2) {
    if (extra[0] == cuda::launchParameterBuffer)
      buffer = extra[1];
    else if (extra[0] == cuda::launchParameterBufferSize)
      size = *static_cast<const size_t *>(extra[1]);
    else
      return cuda::InvalidValue;
  }
  if (!buffer || size < kernel.parameterBytes)
    return cuda::InvalidValue;
  std::memcpy(bytes.data(), buffer, kernel.parameterBytes);
  return cuda::Success;
}

} // namespace

} // namespace ulsc::simulator::driver

using namespace ulsc;
using namespace ulsc::simulator;
using namespace ulsc::simulator::driver;

ULSC_EXPORT Result cuLaunchKernel(cuda::Function function, unsigned gridX, unsigned gridY,
                                  unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ,
                                  unsigned dynamicShared, cuda::Stream stream, void **parameters,
                                  void **extra) {
  if (Result result = checkContext(); result != cuda::Success)
    return result;
  if (!function)
    return cuda::InvalidHandle;
  KernelHandle handle = *reinterpret_cast<KernelHandle *>(function);
  ptx::Dimensions grid{gridX, gridY, gridZ}, block{blockX, blockY, blockZ};
  if (Result result = checkLaunch(handle, grid, block, dynamicShared); result != cuda::Success)
    return result;
  Bytes bytes;
  if (Result result = gatherParameters(*handle.kernel, parameters, extra, bytes);
      result != cuda::Success)
    return result;
  Operation operation;
  operation.name = handle.kernel->name;
  operation.run = [=, buffers = std::move(declaredBuffers)] {
    ptx::runKernel(*handle.kernel, grid, block, dynamicShared, bytes.data(), buffers);
  };
  declaredBuffers.clear();
  return resultOf(enqueue(streamOf(stream), std::move(operation)));
}

// Only the simulated device has this; the runtime finds it by name.
ULSC_EXPORT void ulsc_simulator_declare_buffers(void *const *buffers, const int64_t *bytes,
                                                int count, int outputs) {
  declaredBuffers.clear();
  for (int i = count - 1; i >= 0; --i)
    declaredBuffers.push_back({uint64_t(buffers[i]), uint64_t(bytes[i]), i >= count - outputs});
}

ULSC_EXPORT Result cuLaunchHostFunc(cuda::Stream stream, void (*function)(void *), void *data) {
  if (Result result = checkContext(); result != cuda::Success)
    return result;
  if (!function)
    return cuda::InvalidValue;
  Operation operation;
  operation.name = "host function";
  operation.run = [=] { function(data); };
  return resultOf(enqueue(streamOf(stream), std::move(operation)));
}

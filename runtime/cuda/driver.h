// The CUDA driver of the machine, found when a program starts. The runtime needs no other library
// of CUDA for memory, streams and kernels: the driver's interface is the one that every version
// has.
#ifndef ULSC_RUNTIME_CUDA_DRIVER_H
#define ULSC_RUNTIME_CUDA_DRIVER_H

#include "cuda/driver_api.h"
#include "cuda/vendor_library.h"

namespace ulsc::runtime {

// clang-format off
/// FUNCTION(name, result, (parameters)) for each function used, under the names of their current
/// versions.
#define ULSC_CUDA_DRIVER_FUNCTIONS(FUNCTION)                                                       \
  FUNCTION(cuInit, cuda::Result, (unsigned flags))                                                 \
  FUNCTION(cuDriverGetVersion, cuda::Result, (int *version))                                       \
  FUNCTION(cuDeviceGet, cuda::Result, (cuda::Device *device, int number))                          \
  FUNCTION(cuDeviceGetCount, cuda::Result, (int *count))                                           \
  FUNCTION(cuDeviceGetName, cuda::Result, (char *name, int bytes, cuda::Device device))            \
  FUNCTION(cuDeviceGetAttribute, cuda::Result,                                                     \
           (int *value, cuda::DeviceAttribute attribute, cuda::Device device))                     \
  FUNCTION(cuDevicePrimaryCtxRetain, cuda::Result,                                                 \
           (cuda::Context *context, cuda::Device device))                                          \
  FUNCTION(cuDevicePrimaryCtxRelease_v2, cuda::Result, (cuda::Device device))                      \
  FUNCTION(cuCtxSetCurrent, cuda::Result, (cuda::Context context))                                 \
  FUNCTION(cuModuleLoadDataEx, cuda::Result,                                                       \
           (cuda::Module *module, const void *image, unsigned options, uint32_t *names,            \
            void **values))                                                                        \
  FUNCTION(cuModuleUnload, cuda::Result, (cuda::Module module))                                    \
  FUNCTION(cuModuleGetFunction, cuda::Result,                                                      \
           (cuda::Function *function, cuda::Module module, const char *name))                      \
  FUNCTION(cuLaunchKernel, cuda::Result,                                                           \
           (cuda::Function function, unsigned gridX, unsigned gridY, unsigned gridZ,               \
            unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,               \
            cuda::Stream stream, void **parameters, void **extra))                                 \
  FUNCTION(cuMemAlloc_v2, cuda::Result, (cuda::DevicePointer *pointer, size_t bytes))              \
  FUNCTION(cuMemFree_v2, cuda::Result, (cuda::DevicePointer pointer))                              \
  FUNCTION(cuMemGetInfo_v2, cuda::Result, (size_t *free, size_t *total))                           \
  FUNCTION(cuMemAllocHost_v2, cuda::Result, (void **pointer, size_t bytes))                        \
  FUNCTION(cuMemFreeHost, cuda::Result, (void *pointer))                                           \
  FUNCTION(cuMemcpyHtoDAsync_v2, cuda::Result,                                                     \
           (cuda::DevicePointer target, const void *source, size_t bytes, cuda::Stream stream))    \
  FUNCTION(cuMemcpyDtoHAsync_v2, cuda::Result,                                                     \
           (void *target, cuda::DevicePointer source, size_t bytes, cuda::Stream stream))          \
  FUNCTION(cuMemcpyDtoDAsync_v2, cuda::Result,                                                     \
           (cuda::DevicePointer target, cuda::DevicePointer source, size_t bytes,                  \
            cuda::Stream stream))                                                                  \
  FUNCTION(cuMemsetD8Async, cuda::Result,                                                          \
           (cuda::DevicePointer target, unsigned char value, size_t count, cuda::Stream stream))   \
  FUNCTION(cuMemsetD16Async, cuda::Result,                                                         \
           (cuda::DevicePointer target, unsigned short value, size_t count, cuda::Stream stream))  \
  FUNCTION(cuMemsetD32Async, cuda::Result,                                                         \
           (cuda::DevicePointer target, unsigned value, size_t count, cuda::Stream stream))        \
  FUNCTION(cuStreamCreate, cuda::Result, (cuda::Stream *stream, unsigned flags))                   \
  FUNCTION(cuStreamDestroy_v2, cuda::Result, (cuda::Stream stream))                                \
  FUNCTION(cuStreamSynchronize, cuda::Result, (cuda::Stream stream))                               \
  FUNCTION(cuStreamWaitEvent, cuda::Result,                                                        \
           (cuda::Stream stream, cuda::Event event, unsigned flags))                               \
  FUNCTION(cuEventCreate, cuda::Result, (cuda::Event *event, unsigned flags))                      \
  FUNCTION(cuEventDestroy_v2, cuda::Result, (cuda::Event event))                                   \
  FUNCTION(cuEventRecord, cuda::Result, (cuda::Event event, cuda::Stream stream))                  \
  FUNCTION(cuEventSynchronize, cuda::Result, (cuda::Event event))                                  \
  FUNCTION(cuEventElapsedTime, cuda::Result, (float *ms, cuda::Event begin, cuda::Event end))      \
  FUNCTION(cuGetErrorName, cuda::Result, (cuda::Result result, const char **name))                 \
  FUNCTION(cuGetErrorString, cuda::Result, (cuda::Result result, const char **text))
// clang-format on

/// One process has one device: that of its rank on the machine.
class CudaDriver {
public:
  /// Makes device `localRank` current; the error says what is missing where there is none.
  explicit CudaDriver(int localRank);

  VendorLibrary library{cuda::driverLibraryName,
                        "the NVIDIA driver brings it: this program was compiled with --target cuda "
                        "and needs a GPU; compile with --target cpu, or run it on the simulated "
                        "device (docs/simulator.md)"};
  ULSC_CUDA_DRIVER_FUNCTIONS(ULSC_VENDOR_FUNCTION)

  /// Ends the job with what `operation` failed of.
  void check(cuda::Result result, const char *operation) const;

  /// What the simulated device wants to know about what is enqueued next; does nothing on others.
  void announce(const char *source) const {
    if (setSource)
      setSource(source);
  }

private:
  void (*setSource)(const char *) = nullptr;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_DRIVER_H

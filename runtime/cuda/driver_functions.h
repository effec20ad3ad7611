// The functions of the CUDA driver that programs call.
#ifndef ULSC_RUNTIME_CUDA_DRIVER_FUNCTIONS_H
#define ULSC_RUNTIME_CUDA_DRIVER_FUNCTIONS_H

#include "cuda/driver_api.h"

// clang-format off
/// FUNCTION(name, result, (parameters)) for each function used, under the names of their current
/// versions.
#define ULSC_CUDA_DRIVER_FUNCTIONS(FUNCTION)                                                       \
  FUNCTION(cuInit, ::ulsc::cuda::Result, (unsigned flags))                                         \
  FUNCTION(cuDriverGetVersion, ::ulsc::cuda::Result, (int *version))                               \
  FUNCTION(cuDeviceGet, ::ulsc::cuda::Result, (::ulsc::cuda::Device *device, int number))          \
  FUNCTION(cuDeviceGetCount, ::ulsc::cuda::Result, (int *count))                                   \
  FUNCTION(cuDeviceGetName, ::ulsc::cuda::Result, (char *name, int bytes, ::ulsc::cuda::Device device)) \
  FUNCTION(cuDeviceGetAttribute, ::ulsc::cuda::Result,                                             \
           (int *value, ::ulsc::cuda::DeviceAttribute attribute, ::ulsc::cuda::Device device))     \
  FUNCTION(cuDevicePrimaryCtxRetain, ::ulsc::cuda::Result,                                         \
           (::ulsc::cuda::Context *context, ::ulsc::cuda::Device device))                          \
  FUNCTION(cuDevicePrimaryCtxRelease_v2, ::ulsc::cuda::Result, (::ulsc::cuda::Device device))      \
  FUNCTION(cuCtxSetCurrent, ::ulsc::cuda::Result, (::ulsc::cuda::Context context))                 \
  FUNCTION(cuModuleLoadDataEx, ::ulsc::cuda::Result,                                               \
           (::ulsc::cuda::Module *module, const void *image, unsigned options, uint32_t *names,    \
            void **values))                                                                        \
  FUNCTION(cuModuleUnload, ::ulsc::cuda::Result, (::ulsc::cuda::Module module))                    \
  FUNCTION(cuModuleGetFunction, ::ulsc::cuda::Result,                                              \
           (::ulsc::cuda::Function *function, ::ulsc::cuda::Module module, const char *name))      \
  FUNCTION(cuLaunchKernel, ::ulsc::cuda::Result,                                                   \
           (::ulsc::cuda::Function function, unsigned gridX, unsigned gridY, unsigned gridZ,       \
            unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,               \
            ::ulsc::cuda::Stream stream, void **parameters, void **extra))                         \
  FUNCTION(cuMemAlloc_v2, ::ulsc::cuda::Result, (::ulsc::cuda::DevicePointer *pointer, size_t bytes)) \
  FUNCTION(cuMemFree_v2, ::ulsc::cuda::Result, (::ulsc::cuda::DevicePointer pointer))              \
  FUNCTION(cuMemGetInfo_v2, ::ulsc::cuda::Result, (size_t *free, size_t *total))                   \
  FUNCTION(cuMemAllocHost_v2, ::ulsc::cuda::Result, (void **pointer, size_t bytes))                \
  FUNCTION(cuMemFreeHost, ::ulsc::cuda::Result, (void *pointer))                                   \
  FUNCTION(cuMemcpyHtoDAsync_v2, ::ulsc::cuda::Result,                                             \
           (::ulsc::cuda::DevicePointer target, const void *source, size_t bytes, ::ulsc::cuda::Stream stream)) \
  FUNCTION(cuMemcpyDtoHAsync_v2, ::ulsc::cuda::Result,                                             \
           (void *target, ::ulsc::cuda::DevicePointer source, size_t bytes, ::ulsc::cuda::Stream stream)) \
  FUNCTION(cuMemcpyDtoDAsync_v2, ::ulsc::cuda::Result,                                             \
           (::ulsc::cuda::DevicePointer target, ::ulsc::cuda::DevicePointer source, size_t bytes,  \
            ::ulsc::cuda::Stream stream))                                                          \
  FUNCTION(cuMemsetD8Async, ::ulsc::cuda::Result,                                                  \
           (::ulsc::cuda::DevicePointer target, unsigned char value, size_t count, ::ulsc::cuda::Stream stream)) \
  FUNCTION(cuMemsetD16Async, ::ulsc::cuda::Result,                                                 \
           (::ulsc::cuda::DevicePointer target, unsigned short value, size_t count, ::ulsc::cuda::Stream stream)) \
  FUNCTION(cuMemsetD32Async, ::ulsc::cuda::Result,                                                 \
           (::ulsc::cuda::DevicePointer target, unsigned value, size_t count, ::ulsc::cuda::Stream stream)) \
  FUNCTION(cuStreamCreate, ::ulsc::cuda::Result, (::ulsc::cuda::Stream *stream, unsigned flags))   \
  FUNCTION(cuStreamDestroy_v2, ::ulsc::cuda::Result, (::ulsc::cuda::Stream stream))                \
  FUNCTION(cuStreamSynchronize, ::ulsc::cuda::Result, (::ulsc::cuda::Stream stream))               \
  FUNCTION(cuStreamWaitEvent, ::ulsc::cuda::Result,                                                \
           (::ulsc::cuda::Stream stream, ::ulsc::cuda::Event event, unsigned flags))               \
  FUNCTION(cuEventCreate, ::ulsc::cuda::Result, (::ulsc::cuda::Event *event, unsigned flags))      \
  FUNCTION(cuEventDestroy_v2, ::ulsc::cuda::Result, (::ulsc::cuda::Event event))                   \
  FUNCTION(cuEventRecord, ::ulsc::cuda::Result, (::ulsc::cuda::Event event, ::ulsc::cuda::Stream stream)) \
  FUNCTION(cuEventRecordWithFlags, ::ulsc::cuda::Result,                                           \
           (::ulsc::cuda::Event event, ::ulsc::cuda::Stream stream, unsigned flags))               \
  FUNCTION(cuStreamBeginCapture_v2, ::ulsc::cuda::Result,                                          \
           (::ulsc::cuda::Stream stream, ::ulsc::cuda::CaptureMode mode))                          \
  FUNCTION(cuStreamEndCapture, ::ulsc::cuda::Result, (::ulsc::cuda::Stream stream, ::ulsc::cuda::Graph *graph)) \
  FUNCTION(cuGraphInstantiateWithFlags, ::ulsc::cuda::Result,                                      \
           (::ulsc::cuda::GraphExec *exec, ::ulsc::cuda::Graph graph, unsigned long long flags))   \
  FUNCTION(cuGraphLaunch, ::ulsc::cuda::Result, (::ulsc::cuda::GraphExec exec, ::ulsc::cuda::Stream stream)) \
  FUNCTION(cuGraphExecDestroy, ::ulsc::cuda::Result, (::ulsc::cuda::GraphExec exec))               \
  FUNCTION(cuGraphDestroy, ::ulsc::cuda::Result, (::ulsc::cuda::Graph graph))                      \
  FUNCTION(cuEventQuery, ::ulsc::cuda::Result, (::ulsc::cuda::Event event))                        \
  FUNCTION(cuEventSynchronize, ::ulsc::cuda::Result, (::ulsc::cuda::Event event))                  \
  FUNCTION(cuEventElapsedTime, ::ulsc::cuda::Result, (float *ms, ::ulsc::cuda::Event begin, ::ulsc::cuda::Event end)) \
  FUNCTION(cuGetErrorName, ::ulsc::cuda::Result, (::ulsc::cuda::Result result, const char **name)) \
  FUNCTION(cuGetErrorString, ::ulsc::cuda::Result, (::ulsc::cuda::Result result, const char **text))
// clang-format on

#endif // ULSC_RUNTIME_CUDA_DRIVER_FUNCTIONS_H

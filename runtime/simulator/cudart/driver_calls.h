// The functions of the simulated libcuda that the simulated runtime library calls.
#ifndef ULSC_RUNTIME_SIMULATOR_CUDART_DRIVER_CALLS_H
#define ULSC_RUNTIME_SIMULATOR_CUDART_DRIVER_CALLS_H

#include "simulator/driver/driver.h"

extern "C" {
using namespace ulsc;
using cuda::Result;
Result cuInit(unsigned flags);
Result cuDeviceGetCount(int *count);
Result cuDeviceGetAttribute(int *value, cuda::DeviceAttribute attribute, cuda::Device device);
Result cuDevicePrimaryCtxRetain(cuda::Context *context, cuda::Device device);
Result cuCtxSetCurrent(cuda::Context context);
Result cuCtxGetCurrent(cuda::Context *context);
Result cuCtxGetDevice(cuda::Device *device);
Result cuCtxSynchronize();
Result cuMemAlloc_v2(cuda::DevicePointer *pointer, size_t bytes);
Result cuMemFree_v2(cuda::DevicePointer pointer);
Result cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags);
Result cuMemFreeHost(void *pointer);
Result cuMemGetInfo_v2(size_t *free, size_t *total);
Result cuMemcpyAsync(cuda::DevicePointer target, cuda::DevicePointer source, size_t bytes,
                     cuda::Stream stream);
Result cuMemcpyHtoDAsync_v2(cuda::DevicePointer target, const void *source, size_t bytes,
                            cuda::Stream stream);
Result cuMemcpyDtoHAsync_v2(void *target, cuda::DevicePointer source, size_t bytes,
                            cuda::Stream stream);
Result cuMemcpyDtoDAsync_v2(cuda::DevicePointer target, cuda::DevicePointer source, size_t bytes,
                            cuda::Stream stream);
Result cuMemsetD8Async(cuda::DevicePointer pointer, unsigned char value, size_t count,
                       cuda::Stream stream);
Result cuStreamCreateWithPriority(cuda::Stream *stream, unsigned flags, int priority);
Result cuStreamDestroy_v2(cuda::Stream stream);
Result cuStreamSynchronize(cuda::Stream stream);
Result cuStreamQuery(cuda::Stream stream);
Result cuStreamWaitEvent(cuda::Stream stream, cuda::Event event, unsigned flags);
Result cuStreamGetPriority(cuda::Stream stream, int *priority);
Result cuStreamGetFlags(cuda::Stream stream, unsigned *flags);
Result cuEventCreate(cuda::Event *event, unsigned flags);
Result cuEventDestroy_v2(cuda::Event event);
Result cuEventRecordWithFlags(cuda::Event event, cuda::Stream stream, unsigned flags);
Result cuEventQuery(cuda::Event event);
Result cuEventSynchronize(cuda::Event event);
Result cuEventElapsedTime_v2(float *milliseconds, cuda::Event begin, cuda::Event end);
Result cuStreamBeginCapture_v2(cuda::Stream stream, cuda::CaptureMode mode);
Result cuStreamEndCapture(cuda::Stream stream, cuda::Graph *graph);
Result cuStreamIsCapturing(cuda::Stream stream, cuda::CaptureStatus *status);
Result cuGraphInstantiateWithFlags(cuda::GraphExec *exec, cuda::Graph graph,
                                   unsigned long long flags);
Result cuGraphLaunch(cuda::GraphExec exec, cuda::Stream stream);
Result cuGraphExecDestroy(cuda::GraphExec exec);
Result cuGraphDestroy(cuda::Graph graph);
Result cuLaunchHostFunc(cuda::Stream stream, void (*function)(void *), void *data);
Result cuGetErrorString(Result error, const char **text);
/// Of the simulated libcuda alone: reports name the operations of this thread's next call so.
void ulsc_simulator_begin_call(const char *name);
void ulsc_simulator_end_call();
}

#endif // ULSC_RUNTIME_SIMULATOR_CUDART_DRIVER_CALLS_H

// The simulated libcudart: names of the runtime library over the simulated driver. The first call
// that needs it makes the primary context current; the latest error is kept for cudaGetLastError.
#include "simulator/cudart/driver_calls.h"

namespace {

thread_local Result latest = cuda::Success;

Result keep(Result result) {
  if (result != cuda::Success && result != cuda::NotReady)
    latest = result;
  return result;
}

Result makeCurrent(int device) {
  cuda::Context context = nullptr;
  if (Result result = cuInit(0); result != cuda::Success)
    return result;
  if (Result result = cuDevicePrimaryCtxRetain(&context, device); result != cuda::Success)
    return result;
  return cuCtxSetCurrent(context);
}

Result prepare() {
  cuda::Context context = nullptr;
  if (cuCtxGetCurrent(&context) == cuda::Success && context)
    return cuda::Success;
  return makeCurrent(0);
}

/// One call of the driver with a context, under the runtime library's name.
template <typename F>
Result call(const char *name, F function) {
  Result result = prepare();
  if (result == cuda::Success) {
    ulsc_simulator_begin_call(name);
    result = function();
    ulsc_simulator_end_call();
  }
  return keep(result);
}

cuda::DevicePointer pointerOf(const void *pointer) { return cuda::DevicePointer(pointer); }

Result copy(void *target, const void *source, size_t bytes, cuda::CopyKind kind,
            cuda::Stream stream) {
  switch (kind) {
  case cuda::CopyHostToDevice:
    return cuMemcpyHtoDAsync_v2(pointerOf(target), source, bytes, stream);
  case cuda::CopyDeviceToHost:
    return cuMemcpyDtoHAsync_v2(target, pointerOf(source), bytes, stream);
  case cuda::CopyDeviceToDevice:
    return cuMemcpyDtoDAsync_v2(pointerOf(target), pointerOf(source), bytes, stream);
  case cuda::CopyHostToHost:
  case cuda::CopyDefault:
    return cuMemcpyAsync(pointerOf(target), pointerOf(source), bytes, stream);
  }
  return cuda::InvalidValue;
}

} // namespace

#define ULSC_CALL(FUNCTION, CALL) call(#FUNCTION, [&] { return CALL; })

// Devices and errors.

ULSC_EXPORT Result cudaRuntimeGetVersion(int *version) {
  if (!version)
    return keep(cuda::InvalidValue);
  *version = cuda::versionCode;
  return cuda::Success;
}
ULSC_EXPORT Result cudaDriverGetVersion(int *version) { return cudaRuntimeGetVersion(version); }
ULSC_EXPORT Result cudaGetDeviceCount(int *count) {
  Result result = cuInit(0);
  return keep(result == cuda::Success ? cuDeviceGetCount(count) : result);
}
ULSC_EXPORT Result cudaSetDevice(int device) { return keep(makeCurrent(device)); }
ULSC_EXPORT Result cudaGetDevice(int *device) {
  return ULSC_CALL(cudaGetDevice, device ? cuCtxGetDevice(device) : cuda::InvalidValue);
}
ULSC_EXPORT Result cudaDeviceGetAttribute(int *value, cuda::DeviceAttribute attribute, int device) {
  return ULSC_CALL(cudaDeviceGetAttribute, cuDeviceGetAttribute(value, attribute, device));
}
ULSC_EXPORT Result cudaDeviceSynchronize() {
  return ULSC_CALL(cudaDeviceSynchronize, cuCtxSynchronize());
}
ULSC_EXPORT const char *cudaGetErrorString(Result error) {
  const char *text = nullptr;
  return cuGetErrorString(error, &text) == cuda::Success ? text : "unknown error";
}
ULSC_EXPORT Result cudaGetLastError() {
  Result result = latest;
  latest = cuda::Success;
  return result;
}
ULSC_EXPORT Result cudaPeekAtLastError() { return latest; }

// Memory.

ULSC_EXPORT Result cudaMalloc(void **pointer, size_t bytes) {
  if (!pointer)
    return keep(cuda::InvalidValue);
  *pointer = nullptr;
  if (bytes == 0)
    return cuda::Success;
  return ULSC_CALL(cudaMalloc,
                   cuMemAlloc_v2(reinterpret_cast<cuda::DevicePointer *>(pointer), bytes));
}
ULSC_EXPORT Result cudaFree(void *pointer) {
  return ULSC_CALL(cudaFree, cuMemFree_v2(pointerOf(pointer)));
}
ULSC_EXPORT Result cudaHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  return ULSC_CALL(cudaHostAlloc, cuMemHostAlloc(pointer, bytes, flags));
}
ULSC_EXPORT Result cudaMallocHost(void **pointer, size_t bytes) {
  return ULSC_CALL(cudaMallocHost, cuMemHostAlloc(pointer, bytes, 0));
}
ULSC_EXPORT Result cudaFreeHost(void *pointer) {
  return ULSC_CALL(cudaFreeHost, cuMemFreeHost(pointer));
}
ULSC_EXPORT Result cudaMemGetInfo(size_t *free, size_t *total) {
  return ULSC_CALL(cudaMemGetInfo, cuMemGetInfo_v2(free, total));
}
ULSC_EXPORT Result cudaMemcpyAsync(void *target, const void *source, size_t bytes,
                                   cuda::CopyKind kind, cuda::Stream stream) {
  return ULSC_CALL(cudaMemcpyAsync, copy(target, source, bytes, kind, stream));
}
ULSC_EXPORT Result cudaMemcpy(void *target, const void *source, size_t bytes, cuda::CopyKind kind) {
  Result result = ULSC_CALL(cudaMemcpy, copy(target, source, bytes, kind, nullptr));
  return result == cuda::Success ? keep(cuStreamSynchronize(nullptr)) : result;
}
ULSC_EXPORT Result cudaMemsetAsync(void *pointer, int value, size_t bytes, cuda::Stream stream) {
  return ULSC_CALL(
      cudaMemsetAsync,
      cuMemsetD8Async(pointerOf(pointer), static_cast<unsigned char>(value), bytes, stream));
}
ULSC_EXPORT Result cudaMemset(void *pointer, int value, size_t bytes) {
  return ULSC_CALL(cudaMemset, cuMemsetD8Async(pointerOf(pointer),
                                               static_cast<unsigned char>(value), bytes, nullptr));
}

// Streams and events.

ULSC_EXPORT Result cudaStreamCreate(cuda::Stream *stream) {
  return ULSC_CALL(cudaStreamCreate, cuStreamCreateWithPriority(stream, 0, 0));
}
ULSC_EXPORT Result cudaStreamCreateWithFlags(cuda::Stream *stream, unsigned flags) {
  return ULSC_CALL(cudaStreamCreateWithFlags, cuStreamCreateWithPriority(stream, flags, 0));
}
ULSC_EXPORT Result cudaStreamCreateWithPriority(cuda::Stream *stream, unsigned flags,
                                                int priority) {
  return ULSC_CALL(cudaStreamCreateWithPriority,
                   cuStreamCreateWithPriority(stream, flags, priority));
}
ULSC_EXPORT Result cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return cuda::Success;
}
ULSC_EXPORT Result cudaStreamDestroy(cuda::Stream stream) {
  return ULSC_CALL(cudaStreamDestroy, cuStreamDestroy_v2(stream));
}
ULSC_EXPORT Result cudaStreamSynchronize(cuda::Stream stream) {
  return ULSC_CALL(cudaStreamSynchronize, cuStreamSynchronize(stream));
}
ULSC_EXPORT Result cudaStreamQuery(cuda::Stream stream) {
  return ULSC_CALL(cudaStreamQuery, cuStreamQuery(stream));
}
ULSC_EXPORT Result cudaStreamWaitEvent(cuda::Stream stream, cuda::Event event, unsigned flags) {
  return ULSC_CALL(cudaStreamWaitEvent, cuStreamWaitEvent(stream, event, flags));
}
ULSC_EXPORT Result cudaStreamGetPriority(cuda::Stream stream, int *priority) {
  return ULSC_CALL(cudaStreamGetPriority, cuStreamGetPriority(stream, priority));
}
ULSC_EXPORT Result cudaStreamGetFlags(cuda::Stream stream, unsigned *flags) {
  return ULSC_CALL(cudaStreamGetFlags, cuStreamGetFlags(stream, flags));
}
ULSC_EXPORT Result cudaLaunchHostFunc(cuda::Stream stream, void (*function)(void *), void *data) {
  return ULSC_CALL(cudaLaunchHostFunc, cuLaunchHostFunc(stream, function, data));
}
ULSC_EXPORT Result cudaEventCreate(cuda::Event *event) {
  return ULSC_CALL(cudaEventCreate, cuEventCreate(event, 0));
}
ULSC_EXPORT Result cudaEventCreateWithFlags(cuda::Event *event, unsigned flags) {
  return ULSC_CALL(cudaEventCreateWithFlags, cuEventCreate(event, flags));
}
ULSC_EXPORT Result cudaEventDestroy(cuda::Event event) {
  return ULSC_CALL(cudaEventDestroy, cuEventDestroy_v2(event));
}
ULSC_EXPORT Result cudaEventRecord(cuda::Event event, cuda::Stream stream) {
  return ULSC_CALL(cudaEventRecord, cuEventRecordWithFlags(event, stream, 0));
}
ULSC_EXPORT Result cudaEventRecordWithFlags(cuda::Event event, cuda::Stream stream,
                                            unsigned flags) {
  return ULSC_CALL(cudaEventRecordWithFlags, cuEventRecordWithFlags(event, stream, flags));
}
ULSC_EXPORT Result cudaEventQuery(cuda::Event event) {
  return ULSC_CALL(cudaEventQuery, cuEventQuery(event));
}
ULSC_EXPORT Result cudaEventSynchronize(cuda::Event event) {
  return ULSC_CALL(cudaEventSynchronize, cuEventSynchronize(event));
}
ULSC_EXPORT Result cudaEventElapsedTime(float *milliseconds, cuda::Event begin, cuda::Event end) {
  return ULSC_CALL(cudaEventElapsedTime, cuEventElapsedTime_v2(milliseconds, begin, end));
}

// Capture and graphs.

ULSC_EXPORT Result cudaStreamBeginCapture(cuda::Stream stream, cuda::CaptureMode mode) {
  return ULSC_CALL(cudaStreamBeginCapture, cuStreamBeginCapture_v2(stream, mode));
}
ULSC_EXPORT Result cudaStreamEndCapture(cuda::Stream stream, cuda::Graph *graph) {
  return ULSC_CALL(cudaStreamEndCapture, cuStreamEndCapture(stream, graph));
}
ULSC_EXPORT Result cudaStreamIsCapturing(cuda::Stream stream, cuda::CaptureStatus *status) {
  return ULSC_CALL(cudaStreamIsCapturing, cuStreamIsCapturing(stream, status));
}
ULSC_EXPORT Result cudaGraphInstantiate(cuda::GraphExec *exec, cuda::Graph graph,
                                        unsigned long long flags) {
  return ULSC_CALL(cudaGraphInstantiate, cuGraphInstantiateWithFlags(exec, graph, flags));
}
ULSC_EXPORT Result cudaGraphLaunch(cuda::GraphExec exec, cuda::Stream stream) {
  return ULSC_CALL(cudaGraphLaunch, cuGraphLaunch(exec, stream));
}
ULSC_EXPORT Result cudaGraphExecDestroy(cuda::GraphExec exec) {
  return ULSC_CALL(cudaGraphExecDestroy, cuGraphExecDestroy(exec));
}
ULSC_EXPORT Result cudaGraphDestroy(cuda::Graph graph) {
  return ULSC_CALL(cudaGraphDestroy, cuGraphDestroy(graph));
}

// What this project uses of the CUDA driver's C interface, in our own words: the runtime finds the
// functions in the vendor's library when a program starts, the simulated device implements them.
// Values equal those of CUDA 13; runtime/simulator/test/vendor_driver_test.cpp holds them against
// the vendor's header where one is installed.
#ifndef ULSC_RUNTIME_CUDA_DRIVER_API_H
#define ULSC_RUNTIME_CUDA_DRIVER_API_H

#include <cstddef>
#include <cstdint>

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;

namespace ulsc::cuda {

/// The files that programs load.
inline constexpr const char *driverLibraryName = "libcuda.so.1";
inline constexpr const char *runtimeLibraryName = "libcudart.so.13";

/// major * 1000 + minor * 10
inline constexpr int versionCode = 13000;

/// Of the driver. The runtime library's errors have the same values as far as this project uses
/// them.
enum Result : uint32_t {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  LaunchOutOfResources = 701,
  NotSupported = 801,
  CaptureUnsupported = 900,
  CaptureInvalidated = 901,
  CaptureMerge = 902,
  CaptureUnmatched = 903,
  CaptureUnjoined = 904,
  CaptureIsolation = 905,
  CaptureImplicit = 906,
  CapturedEvent = 907,
};

enum DeviceAttribute : uint32_t {
  MaxThreadsPerBlock = 1,
  MaxBlockDimX = 2,
  MaxBlockDimY = 3,
  MaxBlockDimZ = 4,
  MaxGridDimX = 5,
  MaxGridDimY = 6,
  MaxGridDimZ = 7,
  MaxSharedMemoryPerBlock = 8,
  TotalConstantMemory = 9,
  WarpSize = 10,
  MaxRegistersPerBlock = 12,
  ClockRate = 13,
  MultiprocessorCount = 16,
  Integrated = 18,
  CanMapHostMemory = 19,
  ComputeMode = 20,
  ConcurrentKernels = 31,
  EccEnabled = 32,
  PciBusId = 33,
  PciDeviceId = 34,
  MemoryClockRate = 36,
  GlobalMemoryBusWidth = 37,
  L2CacheSize = 38,
  MaxThreadsPerMultiprocessor = 39,
  AsyncEngineCount = 40,
  UnifiedAddressing = 41,
  PciDomainId = 50,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  StreamPrioritiesSupported = 78,
  MaxSharedMemoryPerMultiprocessor = 81,
  MaxRegistersPerMultiprocessor = 82,
  ManagedMemory = 83,
  CooperativeLaunch = 95,
  MaxSharedMemoryPerBlockOptin = 97,
  MaxBlocksPerMultiprocessor = 106,
  ReservedSharedMemoryPerBlock = 111,
  MemoryPoolsSupported = 115,
  ClusterLaunch = 120,
};

enum FunctionAttribute : uint32_t {
  FunctionMaxThreadsPerBlock = 0,
  FunctionSharedSizeBytes = 1,
  FunctionConstSizeBytes = 2,
  FunctionLocalSizeBytes = 3,
  FunctionNumRegs = 4,
  FunctionPtxVersion = 5,
  FunctionBinaryVersion = 6,
  FunctionMaxDynamicSharedSizeBytes = 8,
  FunctionPreferredSharedMemoryCarveout = 9,
};

/// Of cuModuleLoadDataEx; those between are ptxas's.
enum JitOption : uint32_t { JitInfoLogBuffer = 3, JitErrorLogBuffer = 5, JitCacheMode = 14 };

enum GraphInstantiateFlags : uint32_t { GraphDeviceLaunch = 4 };
enum HostAllocFlags : uint32_t {
  HostAllocPortable = 1,
  HostAllocDeviceMap = 2,
  HostAllocWriteCombined = 4
};

enum StreamFlags : uint32_t { StreamDefault = 0, StreamNonBlocking = 1 };
enum EventRecordFlags : uint32_t { EventRecordDefault = 0, EventRecordExternal = 1 };
enum EventFlags : uint32_t { EventDefault = 0, EventBlockingSync = 1, EventDisableTiming = 2 };
enum CaptureMode : uint32_t { CaptureGlobal = 0, CaptureThreadLocal = 1, CaptureRelaxed = 2 };
enum CaptureStatus : uint32_t { CaptureNone = 0, CaptureActive = 1, CaptureStatusInvalidated = 2 };

/// Of the runtime library.
enum CopyKind : uint32_t {
  CopyHostToHost = 0,
  CopyHostToDevice = 1,
  CopyDeviceToHost = 2,
  CopyDeviceToDevice = 3,
  CopyDefault = 4,
};

using Device = int;
using DevicePointer = unsigned long long;
using Context = CUctx_st *;
using Module = CUmod_st *;
using Function = CUfunc_st *;
using Stream = CUstream_st *;
using Event = CUevent_st *;
using Graph = CUgraph_st *;
using GraphExec = CUgraphExec_st *;

/// Keys of cuLaunchKernel's `extra`.
inline void *const launchParameterEnd = nullptr;
inline void *const launchParameterBuffer = reinterpret_cast<void *>(uintptr_t(1));
inline void *const launchParameterBufferSize = reinterpret_cast<void *>(uintptr_t(2));

} // namespace ulsc::cuda

#endif // ULSC_RUNTIME_CUDA_DRIVER_API_H

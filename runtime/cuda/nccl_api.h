// What this project uses of NCCL's C interface, in our own words: the runtime finds the functions
// in the vendor's library when a program starts, the simulated device implements them. Values and
// layouts equal those of version 2.28; runtime/simulator/test/libraries/vendor_interfaces_test.cpp
// holds them against the vendor's header where one is installed.
#ifndef ULSC_RUNTIME_CUDA_NCCL_API_H
#define ULSC_RUNTIME_CUDA_NCCL_API_H

#include <climits>
#include <cstddef>
#include <cstdint>

struct CUstream_st;

namespace ulsc::nccl {

/// The file that programs load.
inline constexpr const char *libraryName = "libnccl.so.2";

/// major * 10000 + minor * 100 + patch
inline constexpr int versionCode = 22809;

enum Result : uint32_t {
  Success = 0,
  UnhandledCudaError = 1,
  SystemError = 2,
  InternalError = 3,
  InvalidArgument = 4,
  InvalidUsage = 5,
  RemoteError = 6,
  InProgress = 7,
};

enum DataType : uint32_t {
  TypeInt8 = 0,
  TypeUint8 = 1,
  TypeInt32 = 2,
  TypeUint32 = 3,
  TypeInt64 = 4,
  TypeUint64 = 5,
  TypeFloat16 = 6,
  TypeFloat32 = 7,
  TypeFloat64 = 8,
  TypeBfloat16 = 9,
  TypeFloat8E4M3 = 10,
  TypeFloat8E5M2 = 11,
};

enum Reduction : uint32_t { Sum = 0, Product = 1, Max = 2, Min = 3, Average = 4 };

/// The color of a rank that joins no group of a split.
inline constexpr int splitNoColor = -1;

inline constexpr int undefinedInt = INT_MIN;
inline constexpr unsigned configMagic = 0xcafebeef;

/// What the ranks of a communicator agree on before they meet; rank 0 makes it, the program spreads
/// it.
struct UniqueId {
  char internal[128];
};

/// Options of a communicator. Undefined values are undefinedInt and null.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = configMagic;
  unsigned version = versionCode;
  int blocking = undefinedInt;
  int cgaClusterSize = undefinedInt;
  int minCTAs = undefinedInt;
  int maxCTAs = undefinedInt;
  const char *netName = nullptr;
  int splitShare = undefinedInt;
  int trafficClass = undefinedInt;
  const char *commName = nullptr;
  int collnetEnable = undefinedInt;
  int CTAPolicy = undefinedInt;
  int shrinkShare = undefinedInt;
  int nvlsCTAs = undefinedInt;
  int nChannelsPerNetPeer = undefinedInt;
  int nvlinkCentricSched = undefinedInt;
};

using Comm = struct CommContents *;
using Stream = CUstream_st *;

// clang-format off
/// FUNCTION(name, result, (parameters)) for each function used. Counts are elements.
#define ULSC_NCCL_FUNCTIONS(FUNCTION)                                                              \
  FUNCTION(ncclGetVersion, Result, (int *version))                                                 \
  FUNCTION(ncclGetUniqueId, Result, (UniqueId *id))                                                \
  FUNCTION(ncclCommInitRank, Result, (Comm *comm, int ranks, UniqueId id, int rank))               \
  FUNCTION(ncclCommInitRankConfig, Result,                                                         \
           (Comm *comm, int ranks, UniqueId id, int rank, Config *config))                         \
  FUNCTION(ncclCommSplit, Result,                                                                  \
           (Comm comm, int color, int key, Comm *created, Config *config))                         \
  FUNCTION(ncclCommFinalize, Result, (Comm comm))                                                  \
  FUNCTION(ncclCommDestroy, Result, (Comm comm))                                                   \
  FUNCTION(ncclCommAbort, Result, (Comm comm))                                                     \
  FUNCTION(ncclCommCount, Result, (Comm comm, int *count))                                         \
  FUNCTION(ncclCommUserRank, Result, (Comm comm, int *rank))                                       \
  FUNCTION(ncclCommCuDevice, Result, (Comm comm, int *device))                                     \
  FUNCTION(ncclCommGetAsyncError, Result, (Comm comm, Result *error))                              \
  FUNCTION(ncclGetErrorString, const char *, (Result result))                                      \
  FUNCTION(ncclGetLastError, const char *, (Comm comm))                                            \
  FUNCTION(ncclAllReduce, Result,                                                                  \
           (const void *send, void *receive, size_t count, DataType type, Reduction reduction,     \
            Comm comm, Stream stream))                                                             \
  FUNCTION(ncclReduceScatter, Result,                                                              \
           (const void *send, void *receive, size_t count, DataType type, Reduction reduction,     \
            Comm comm, Stream stream))                                                             \
  FUNCTION(ncclAllGather, Result,                                                                  \
           (const void *send, void *receive, size_t count, DataType type, Comm comm,               \
            Stream stream))                                                                        \
  FUNCTION(ncclAlltoAll, Result,                                                                   \
           (const void *send, void *receive, size_t count, DataType type, Comm comm,               \
            Stream stream))                                                                        \
  FUNCTION(ncclBroadcast, Result,                                                                  \
           (const void *send, void *receive, size_t count, DataType type, int root, Comm comm,     \
            Stream stream))                                                                        \
  FUNCTION(ncclReduce, Result,                                                                     \
           (const void *send, void *receive, size_t count, DataType type, Reduction reduction,     \
            int root, Comm comm, Stream stream))                                                   \
  FUNCTION(ncclSend, Result,                                                                       \
           (const void *send, size_t count, DataType type, int peer, Comm comm, Stream stream))    \
  FUNCTION(ncclRecv, Result,                                                                       \
           (void *receive, size_t count, DataType type, int peer, Comm comm, Stream stream))       \
  FUNCTION(ncclGroupStart, Result, ())                                                             \
  FUNCTION(ncclGroupEnd, Result, ())
// clang-format on

} // namespace ulsc::nccl

#endif // ULSC_RUNTIME_CUDA_NCCL_API_H

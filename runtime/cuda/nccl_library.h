// NCCL as this process has loaded it.
#ifndef ULSC_RUNTIME_CUDA_NCCL_LIBRARY_H
#define ULSC_RUNTIME_CUDA_NCCL_LIBRARY_H

#include "core/error.h"
#include "cuda/nccl_collectives.h"
#include "core/vendor_library.h"

namespace ulsc::runtime {

/// The names of results and types are NCCL's in here.
struct NcclCollectives::Library {
  using Result = nccl::Result;
  using Comm = nccl::Comm;
  using UniqueId = nccl::UniqueId;
  using Config = nccl::Config;
  using DataType = nccl::DataType;
  using Reduction = nccl::Reduction;
  using Stream = nccl::Stream;

  VendorLibrary library{
      nccl::libraryName,
      "ranks on GPUs talk through NCCL: install libnccl2 or nvidia-nccl-cu13, its "
      "folder has to be in LD_LIBRARY_PATH"};
  ULSC_NCCL_FUNCTIONS(ULSC_VENDOR_FUNCTION)

  void check(Result result, const std::string &operation, Comm comm = nullptr) const {
    if (result != nccl::Success)
      endJob(operation, concat(ncclGetErrorString(result), ": ", ncclGetLastError(comm)));
  }
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_NCCL_LIBRARY_H

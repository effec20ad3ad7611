#include "comm/mpi_library.h"
#include "core/vendor_library.h"

namespace ulsc::runtime {

// Handles of Open MPI are addresses of its variables, so that no other MPI can stand in for it:
// MPICH's library has another name.
MpiLibrary loadMpi() {
  VendorLibrary library(
      "libmpi.so.40",
      "it is Open MPI's (Debian: libopenmpi3), which the launcher of this program belongs to; "
      "install it on all machines, or start the program without MPI, by 'torchrun --no-python' or "
      "'srun --mpi=none' (docs/program.md)");
  MpiLibrary mpi;
#define ULSC_MPI_LOADED(name)                                                                      \
  mpi.name = reinterpret_cast<decltype(mpi.name)>(library.find("MPI_" #name));
  ULSC_MPI_FUNCTIONS(ULSC_MPI_LOADED)
#undef ULSC_MPI_LOADED
  auto find = [&](auto &handle, const char *name) {
    handle = reinterpret_cast<std::decay_t<decltype(handle)>>(library.find(name));
  };
  find(mpi.world, "ompi_mpi_comm_world");
  find(mpi.bytes, "ompi_mpi_byte");
  find(mpi.int64, "ompi_mpi_int64_t");
  find(mpi.uint64, "ompi_mpi_uint64_t");
  find(mpi.float64, "ompi_mpi_double");
  find(mpi.minimum, "ompi_mpi_op_min");
  find(mpi.maximum, "ompi_mpi_op_max");
  find(mpi.returnErrors, "ompi_mpi_errors_return");
  find(mpi.noInfo, "ompi_mpi_info_null");
  return mpi;
}

} // namespace ulsc::runtime

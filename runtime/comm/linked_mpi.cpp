#include "comm/mpi_library.h"

namespace ulsc::runtime {

MpiLibrary linkedMpi() {
  MpiLibrary mpi;
#define ULSC_MPI_LINKED(name) mpi.name = MPI_##name;
  ULSC_MPI_FUNCTIONS(ULSC_MPI_LINKED)
#undef ULSC_MPI_LINKED
  mpi.world = MPI_COMM_WORLD;
  mpi.bytes = MPI_BYTE;
  mpi.int64 = MPI_INT64_T;
  mpi.uint64 = MPI_UINT64_T;
  mpi.float64 = MPI_DOUBLE;
  mpi.minimum = MPI_MIN;
  mpi.maximum = MPI_MAX;
  mpi.returnErrors = MPI_ERRORS_RETURN;
  mpi.noInfo = MPI_INFO_NULL;
  return mpi;
}

} // namespace ulsc::runtime

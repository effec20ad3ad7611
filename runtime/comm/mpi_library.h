// MPI's functions and handles behind pointers. Programs whose data does not travel through MPI load
// it only where one of its launchers started them: they run on machines that have none.
#ifndef ULSC_RUNTIME_COMM_MPI_LIBRARY_H
#define ULSC_RUNTIME_COMM_MPI_LIBRARY_H

#include <mpi.h>

#include <string>

namespace ulsc::runtime {

/// What communication around the steps calls, by MPI's names without their prefix.
#define ULSC_MPI_FUNCTIONS(X)                                                                      \
  X(Abort)                                                                                         \
  X(Allgather)                                                                                     \
  X(Allreduce)                                                                                     \
  X(Barrier)                                                                                       \
  X(Bcast)                                                                                         \
  X(Comm_free)                                                                                     \
  X(Comm_rank)                                                                                     \
  X(Comm_set_errhandler)                                                                           \
  X(Comm_size)                                                                                     \
  X(Comm_split_type)                                                                               \
  X(Error_string)                                                                                  \
  X(Finalize)                                                                                      \
  X(Init_thread)                                                                                   \
  X(Recv)                                                                                          \
  X(Send)

struct MpiLibrary {
#define ULSC_MPI_MEMBER(name) decltype(&MPI_##name) name = nullptr;
  ULSC_MPI_FUNCTIONS(ULSC_MPI_MEMBER)
#undef ULSC_MPI_MEMBER
  MPI_Comm world = nullptr;
  MPI_Datatype bytes = nullptr, int64 = nullptr, uint64 = nullptr, float64 = nullptr;
  MPI_Op minimum = nullptr, maximum = nullptr;
  MPI_Errhandler returnErrors = nullptr;
  MPI_Info noInfo = nullptr;
};

/// The one that the program is linked with.
MpiLibrary linkedMpi();

/// Open MPI's, which is loaded now. Throws an Error that says how to do without where it is
/// missing.
MpiLibrary loadMpi();

/// Ends the job if an MPI call failed, of the library with which its communicator was created.
void checkMpi(int code, const std::string &operation);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_COMM_MPI_LIBRARY_H

// Counts what a program really sends, through MPI's profiling interface, summed per logical
// collective.
//
// The runtime announces a logical collective with MPI_Pcontrol(1, "<identifier>") before its first
// MPI call, goes on with it by MPI_Pcontrol(2, "<identifier>"), and leaves it by MPI_Pcontrol(0).
// MPI calls elsewhere are summed under "outside". Preload the library and set ULSC_PMPI_OUT
// (output.h); each rank writes
//
//   {"rank": 0, "ranks": 2, "collectives": {"0": {"calls": 3, "bytes": 96, "wire_bytes": 96,
//     "mpi": {"MPI_Ialltoallv": {"calls": 3, "bytes": 96}, ...}}}, "outside": {...}}
//
// `calls` counts logical calls. `bytes` is the report's: the larger of one rank's input and output,
// summed over calls. A logical call may take several MPI functions one after the other (all-reduce:
// exchange, then gather), each moving the whole payload, so it is the largest sum of any one
// function. `wire_bytes` uses nccl-tests' factors: 2(n-1)/n of the payload for all-reduce, (n-1)/n
// for the others, 1 for a message, which counts on the side that sends it and on the side that
// receives it; where a logical call does both, as a permute does, the larger sum counts.
#include "output.h"

#include <mpi.h>

#include <algorithm>
#include <cstdarg>
#include <map>

namespace {

struct FunctionCount {
  long calls = 0;
  double bytes = 0;
};

struct LogicalCount {
  long calls = 0;
  double collectiveBytes = 0, sentBytes = 0, receivedBytes = 0; // on the wire
  std::map<std::string, FunctionCount> functions;

  double wireBytes() const { return collectiveBytes + std::max(sentBytes, receivedBytes); }

  double bytes() const {
    double largest = 0;
    for (const auto &entry : functions)
      largest = std::max(largest, entry.second.bytes);
    return largest;
  }
};

std::map<std::string, LogicalCount> counts;
LogicalCount outside;
std::string current;
bool isInside = false;

LogicalCount &count(const char *function, double bytes) {
  LogicalCount &logical = isInside ? counts[current] : outside;
  FunctionCount &entry = logical.functions[function];
  ++entry.calls;
  entry.bytes += bytes;
  return logical;
}

int sizeOf(MPI_Comm communicator) {
  int size = 1;
  PMPI_Comm_size(communicator, &size);
  return size;
}

double bytesOf(double elements, MPI_Datatype type) {
  MPI_Count size = 0;
  PMPI_Type_size_x(type, &size);
  return elements * static_cast<double>(size);
}

double sum(const int *counts, MPI_Comm communicator) {
  double total = 0;
  for (int rank = 0; rank < sizeOf(communicator); ++rank)
    total += counts[rank];
  return total;
}

void countCollective(const char *function, double bytes, MPI_Comm communicator, double factor = 1) {
  double ranks = sizeOf(communicator);
  count(function, bytes).collectiveBytes += factor * bytes * (ranks - 1) / ranks;
}

void countSent(const char *function, double bytes) { count(function, bytes).sentBytes += bytes; }

// What the receive has room for; the runtime refuses a message of another size.
void countReceived(const char *function, double bytes) {
  count(function, bytes).receivedBytes += bytes;
}

void writeCount(std::FILE *file, const LogicalCount &logical) {
  std::fprintf(file, "{\"calls\": %ld, \"bytes\": %.0f, \"wire_bytes\": %.17g, \"mpi\": {",
               logical.calls, logical.bytes(), logical.wireBytes());
  const char *separator = "";
  for (const auto &entry : logical.functions) {
    std::fprintf(file, "%s\"%s\": {\"calls\": %ld, \"bytes\": %.0f}", separator,
                 entry.first.c_str(), entry.second.calls, entry.second.bytes);
    separator = ", ";
  }
  std::fprintf(file, "}}");
}

void writeAll() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::FILE *file = openOutput("ULSC_PMPI_OUT", rank);
  if (!file)
    return;
  std::fprintf(file, "{\"rank\": %d, \"ranks\": %d, \"collectives\": {", rank,
               sizeOf(MPI_COMM_WORLD));
  const char *separator = "";
  for (const auto &entry : counts) {
    std::fprintf(file, "%s\n  \"%s\": ", separator, entry.first.c_str());
    writeCount(file, entry.second);
    separator = ",";
  }
  std::fprintf(file, "},\n \"outside\": ");
  writeCount(file, outside);
  std::fprintf(file, "}\n");
  std::fclose(file);
}

} // namespace

extern "C" {

int MPI_Pcontrol(const int level, ...) {
  isInside = level != 0;
  if (isInside) {
    va_list arguments;
    va_start(arguments, level);
    current = va_arg(arguments, const char *);
    va_end(arguments);
    counts[current].calls += level == 1;
  }
  return MPI_SUCCESS;
}

int MPI_Finalize(void) {
  writeAll();
  return PMPI_Finalize();
}

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  countCollective("MPI_Allreduce", bytesOf(n, type), comm, 2);
  return PMPI_Allreduce(in, out, n, type, op, comm);
}

int MPI_Iallreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request) {
  countCollective("MPI_Iallreduce", bytesOf(n, type), comm, 2);
  return PMPI_Iallreduce(in, out, n, type, op, comm, request);
}

int MPI_Reduce_scatter_block(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  countCollective("MPI_Reduce_scatter_block", bytesOf(n, type) * sizeOf(comm), comm);
  return PMPI_Reduce_scatter_block(in, out, n, type, op, comm);
}

int MPI_Ireduce_scatter_block(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request *request) {
  countCollective("MPI_Ireduce_scatter_block", bytesOf(n, type) * sizeOf(comm), comm);
  return PMPI_Ireduce_scatter_block(in, out, n, type, op, comm, request);
}

int MPI_Allgather(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype outType,
                  MPI_Comm comm) {
  countCollective("MPI_Allgather", bytesOf(m, outType) * sizeOf(comm), comm);
  return PMPI_Allgather(in, n, type, out, m, outType, comm);
}

int MPI_Iallgather(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype outType,
                   MPI_Comm comm, MPI_Request *request) {
  countCollective("MPI_Iallgather", bytesOf(m, outType) * sizeOf(comm), comm);
  return PMPI_Iallgather(in, n, type, out, m, outType, comm, request);
}

int MPI_Allgatherv(const void *in, int n, MPI_Datatype type, void *out, const int *outCounts,
                   const int *offsets, MPI_Datatype outType, MPI_Comm comm) {
  countCollective("MPI_Allgatherv", bytesOf(sum(outCounts, comm), outType), comm);
  return PMPI_Allgatherv(in, n, type, out, outCounts, offsets, outType, comm);
}

int MPI_Iallgatherv(const void *in, int n, MPI_Datatype type, void *out, const int *outCounts,
                    const int *offsets, MPI_Datatype outType, MPI_Comm comm, MPI_Request *request) {
  countCollective("MPI_Iallgatherv", bytesOf(sum(outCounts, comm), outType), comm);
  return PMPI_Iallgatherv(in, n, type, out, outCounts, offsets, outType, comm, request);
}

int MPI_Alltoall(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype outType,
                 MPI_Comm comm) {
  countCollective("MPI_Alltoall", bytesOf(n, type) * sizeOf(comm), comm);
  return PMPI_Alltoall(in, n, type, out, m, outType, comm);
}

int MPI_Ialltoall(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype outType,
                  MPI_Comm comm, MPI_Request *request) {
  countCollective("MPI_Ialltoall", bytesOf(n, type) * sizeOf(comm), comm);
  return PMPI_Ialltoall(in, n, type, out, m, outType, comm, request);
}

int MPI_Alltoallv(const void *in, const int *inCounts, const int *inOffsets, MPI_Datatype type,
                  void *out, const int *outCounts, const int *outOffsets, MPI_Datatype outType,
                  MPI_Comm comm) {
  countCollective("MPI_Alltoallv", bytesOf(sum(inCounts, comm), type), comm);
  return PMPI_Alltoallv(in, inCounts, inOffsets, type, out, outCounts, outOffsets, outType, comm);
}

int MPI_Ialltoallv(const void *in, const int *inCounts, const int *inOffsets, MPI_Datatype type,
                   void *out, const int *outCounts, const int *outOffsets, MPI_Datatype outType,
                   MPI_Comm comm, MPI_Request *request) {
  countCollective("MPI_Ialltoallv", bytesOf(sum(inCounts, comm), type), comm);
  return PMPI_Ialltoallv(in, inCounts, inOffsets, type, out, outCounts, outOffsets, outType, comm,
                         request);
}

int MPI_Bcast(void *buffer, int n, MPI_Datatype type, int root, MPI_Comm comm) {
  countCollective("MPI_Bcast", bytesOf(n, type), comm);
  return PMPI_Bcast(buffer, n, type, root, comm);
}

int MPI_Send(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  countSent("MPI_Send", bytesOf(n, type));
  return PMPI_Send(buffer, n, type, to, tag, comm);
}

int MPI_Isend(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
  countSent("MPI_Isend", bytesOf(n, type));
  return PMPI_Isend(buffer, n, type, to, tag, comm, request);
}

int MPI_Recv(void *buffer, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status) {
  countReceived("MPI_Recv", bytesOf(n, type));
  return PMPI_Recv(buffer, n, type, from, tag, comm, status);
}

int MPI_Irecv(void *buffer, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request) {
  countReceived("MPI_Irecv", bytesOf(n, type));
  return PMPI_Irecv(buffer, n, type, from, tag, comm, request);
}

} // extern "C"

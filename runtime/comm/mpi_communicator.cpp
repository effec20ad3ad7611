// The MPI backend of Communicator.
#include "comm/communicator.h"
#include "comm/mpi_library.h"
#include "core/error.h"

#include <cstdlib>

namespace ulsc::runtime {

namespace {

MpiLibrary mpi; // of the process, as MPI's own state is

void abortAll(int exitCode, const std::string &) { mpi.Abort(mpi.world, exitCode); }

class MpiCommunicator final : public Communicator {
public:
  MpiCommunicator(int *argc, char ***argv) {
    // A lone process needs no daemon beside it, which takes half a second to start.
    if (!std::getenv("PMIX_RANK") && !std::getenv("OMPI_COMM_WORLD_SIZE"))
      setenv("OMPI_MCA_ess_singleton_isolated", "1", /*overwrite=*/0);
    int provided = 0;
    mpi.Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    mpi.Comm_set_errhandler(mpi.world, mpi.returnErrors);
    mpi.Comm_rank(mpi.world, &worldRank);
    mpi.Comm_size(mpi.world, &worldRanks);
    MPI_Comm local;
    mpi.Comm_split_type(mpi.world, MPI_COMM_TYPE_SHARED, 0, mpi.noInfo, &local);
    mpi.Comm_size(local, &machineRanks);
    mpi.Comm_rank(local, &machineRank);
    mpi.Comm_free(&local);
    setAbort(abortAll);
    setMessageRank(worldRank, worldRanks);
  }

  int rank() const override { return worldRank; }
  int ranks() const override { return worldRanks; }
  int localRanks() const override { return machineRanks; }
  int localRank() const override { return machineRank; }

  void barrier() override { checkMpi(mpi.Barrier(mpi.world), "barrier"); }

  int64_t minimum(int64_t value) override {
    int64_t result = value;
    checkMpi(mpi.Allreduce(&value, &result, 1, mpi.int64, mpi.minimum, mpi.world), "minimum");
    return result;
  }

  double maximum(double value) override {
    double result = value;
    checkMpi(mpi.Allreduce(&value, &result, 1, mpi.float64, mpi.maximum, mpi.world), "maximum");
    return result;
  }

  std::vector<uint64_t> gather(uint64_t value) override {
    std::vector<uint64_t> values(worldRanks);
    checkMpi(mpi.Allgather(&value, 1, mpi.uint64, values.data(), 1, mpi.uint64, mpi.world),
             "gather");
    return values;
  }

  void send(const void *data, int64_t bytes, int destination) override {
    checkMpi(mpi.Send(data, static_cast<int>(bytes), mpi.bytes, destination, 0, mpi.world), "send");
  }

  void receive(void *data, int64_t bytes, int source) override {
    checkMpi(
        mpi.Recv(data, static_cast<int>(bytes), mpi.bytes, source, 0, mpi.world, MPI_STATUS_IGNORE),
        "receive");
  }

  void broadcast(std::string &text) override {
    int64_t size = static_cast<int64_t>(text.size());
    checkMpi(mpi.Bcast(&size, 1, mpi.int64, 0, mpi.world), "broadcast");
    text.resize(size);
    checkMpi(mpi.Bcast(text.data(), static_cast<int>(size), mpi.bytes, 0, mpi.world), "broadcast");
  }

  void finish() override { mpi.Finalize(); }

private:
  int worldRank = 0, worldRanks = 1, machineRanks = 1, machineRank = 0;
};

} // namespace

void checkMpi(int code, const std::string &operation) {
  if (code == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING] = "unknown MPI error";
  int length = 0;
  mpi.Error_string(code, text, &length);
  endJob(operation, text);
}

std::unique_ptr<Communicator> createMpiCommunicator(const MpiLibrary &library, int *argc,
                                                    char ***argv) {
  mpi = library;
  return std::make_unique<MpiCommunicator>(argc, argv);
}

} // namespace ulsc::runtime

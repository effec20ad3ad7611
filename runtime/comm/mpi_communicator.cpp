// The MPI backend of Communicator.
#include "comm/communicator.h"
#include "comm/mpi_collectives.h"
#include "core/error.h"

#include <cstdlib>

namespace ulsc::runtime {

namespace {

void abortAll(int exitCode, const std::string &) { MPI_Abort(MPI_COMM_WORLD, exitCode); }

class MpiCommunicator final : public Communicator, public Collectives {
public:
  MpiCommunicator(int *argc, char ***argv) {
    // A lone process needs no daemon beside it, which takes half a second to start.
    if (!std::getenv("PMIX_RANK") && !std::getenv("OMPI_COMM_WORLD_SIZE"))
      setenv("OMPI_MCA_ess_singleton_isolated", "1", /*overwrite=*/0);
    int provided = 0;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &worldRank);
    MPI_Comm_size(MPI_COMM_WORLD, &worldRanks);
    MPI_Comm local;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    MPI_Comm_size(local, &machineRanks);
    MPI_Comm_rank(local, &machineRank);
    MPI_Comm_free(&local);
    setAbort(abortAll);
    setMessageRank(worldRank, worldRanks);
  }

  int rank() const override { return worldRank; }
  int ranks() const override { return worldRanks; }
  int localRanks() const override { return machineRanks; }
  int localRank() const override { return machineRank; }
  Collectives &collectives() override { return *this; }

  void createGroups(const Manifest &manifest, char *arena) override {
    const Mesh &mesh = manifest.mesh;
    Shape coordinates = mesh.coordinates(worldRank);
    for (const std::vector<std::string> &axes : manifest.groups) {
      MpiGroup group;
      int color = static_cast<int>(mesh.firstInGroup(axes, worldRank));
      int key = static_cast<int>(mesh.indexOver(axes, coordinates));
      checkMpi(MPI_Comm_split(MPI_COMM_WORLD, color, key, &group.communicator), "group creation");
      checkMpi(MPI_Comm_dup(group.communicator, &group.waitCommunicator), "group creation");
      MPI_Comm_set_errhandler(group.communicator, MPI_ERRORS_RETURN);
      MPI_Comm_set_errhandler(group.waitCommunicator, MPI_ERRORS_RETURN);
      MPI_Comm_rank(group.communicator, &group.rank);
      MPI_Comm_size(group.communicator, &group.ranks);
      groups.push_back(group);
    }
    for (const CollectiveInfo &info : manifest.collectives)
      names.push_back(info.source.empty() ? info.kind : info.kind + " of " + info.source);
    const Stage &stage = manifest.stageOf(coordinates);
    createSlots(stage.collectiveSlots, arena + stage.stagingOffset, stage.stagingBytes);
  }

  void start(const ulsc_collective_desc &desc, void *const *inputs, void *const *outputs,
             int slot) override {
    bool hasName = desc.identifier >= 0 && desc.identifier < static_cast<int64_t>(names.size());
    std::string name = hasName ? names[desc.identifier] : concat("collective ", desc.identifier);
    if (slot < 0 || slot >= static_cast<int>(slots.size()) || desc.group < 0 ||
        desc.group >= static_cast<int>(groups.size()))
      endJob(name, concat("slot ", slot, " or group ", desc.group, " is not in the manifest"));
    slots[slot].start(desc, inputs, outputs, groups[desc.group], name);
    ++started;
  }

  void wait(int slot) override {
    if (slot < 0 || slot >= static_cast<int>(slots.size()))
      endJob("collective_wait", concat("slot ", slot, " is not in the manifest"));
    slots[slot].wait();
    --started;
  }

  void progress() override {
    if (started == 0 || worldRanks == 1)
      return;
    for (MpiSlot &slot : slots)
      if (slot.isBusy() && slot.progress())
        return;
  }

  void barrier() override { checkMpi(MPI_Barrier(MPI_COMM_WORLD), "barrier"); }

  int64_t minimum(int64_t value) override {
    int64_t result = value;
    checkMpi(MPI_Allreduce(&value, &result, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD), "minimum");
    return result;
  }

  double maximum(double value) override {
    double result = value;
    checkMpi(MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "maximum");
    return result;
  }

  std::vector<uint64_t> gather(uint64_t value) override {
    std::vector<uint64_t> values(worldRanks);
    checkMpi(MPI_Allgather(&value, 1, MPI_UINT64_T, values.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD),
             "gather");
    return values;
  }

  void send(const void *data, int64_t bytes, int destination) override {
    checkMpi(MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, destination, 0, MPI_COMM_WORLD),
             "send");
  }

  void receive(void *data, int64_t bytes, int source) override {
    checkMpi(MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, source, 0, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE),
             "receive");
  }

  void broadcast(std::string &text) override {
    int64_t size = static_cast<int64_t>(text.size());
    checkMpi(MPI_Bcast(&size, 1, MPI_INT64_T, 0, MPI_COMM_WORLD), "broadcast");
    text.resize(size);
    checkMpi(MPI_Bcast(text.data(), static_cast<int>(size), MPI_CHAR, 0, MPI_COMM_WORLD),
             "broadcast");
  }

  void finish() override { MPI_Finalize(); }

private:
  void createSlots(int64_t count, char *staging, int64_t bytes) {
    constexpr int64_t alignment = 64;
    int64_t share = count ? bytes / count / alignment * alignment : 0;
    for (int64_t i = 0; i < count; ++i)
      slots.emplace_back(staging + i * share, share);
  }

  int worldRank = 0, worldRanks = 1, machineRanks = 1, machineRank = 0;
  int started = 0;
  std::vector<MpiGroup> groups;
  std::vector<std::string> names;
  std::deque<MpiSlot> slots;
};

} // namespace

std::unique_ptr<Communicator> createMpiCommunicator(int *argc, char ***argv) {
  return std::make_unique<MpiCommunicator>(argc, argv);
}

} // namespace ulsc::runtime

// The MPI backend of Collectives: groups and slots of a step.
#include "comm/communicator.h"
#include "comm/mpi_collectives.h"
#include "core/error.h"

namespace ulsc::runtime {

namespace {

class MpiCollectives final : public Collectives {
public:
  MpiCollectives() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }

  void createGroups(const Manifest &manifest, char *arena) override {
    const Mesh &mesh = manifest.mesh;
    Shape coordinates = mesh.coordinates(rank);
    for (const std::vector<std::string> &axes : manifest.groups) {
      MpiGroup group;
      int color = static_cast<int>(mesh.firstInGroup(axes, rank));
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
    if (started == 0 || ranks == 1)
      return;
    for (MpiSlot &slot : slots)
      if (slot.isBusy() && slot.progress())
        return;
  }

private:
  void createSlots(int64_t count, char *staging, int64_t bytes) {
    constexpr int64_t alignment = 64;
    int64_t share = count ? bytes / count / alignment * alignment : 0;
    for (int64_t i = 0; i < count; ++i)
      slots.emplace_back(staging + i * share, share);
  }

  int rank = 0, ranks = 1;
  int started = 0;
  std::vector<MpiGroup> groups;
  std::vector<std::string> names;
  std::deque<MpiSlot> slots;
};

} // namespace

std::unique_ptr<Collectives> createMpiCollectives() { return std::make_unique<MpiCollectives>(); }

} // namespace ulsc::runtime

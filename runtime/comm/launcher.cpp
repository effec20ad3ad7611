#include "comm/launcher.h"

#include "core/error.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace ulsc::runtime {

namespace {

constexpr int largestPort = 65535;

/// The value of a variable, or null: a script's unset variable leaves it empty.
const char *valueOf(const char *name) {
  const char *value = std::getenv(name);
  return value && *value ? value : nullptr;
}

std::optional<int> readNumber(const char *name, int least, int most, const char *meaning) {
  const char *value = valueOf(name);
  if (!value)
    return std::nullopt;
  int number = 0;
  const char *end = value + std::strlen(value);
  auto [stop, code] = std::from_chars(value, end, number);
  if (code != std::errc() || stop != end || number < least || number > most)
    raise("the environment has ", name, "='", value, "', but ", meaning, " is a whole number in [",
          least, ", ", most, "]; set it, or start the program by torchrun, srun or mpirun");
  return number;
}

int requireNumber(const char *name, int least, int most, const char *meaning, const char *beside) {
  std::optional<int> number = readNumber(name, least, most, meaning);
  if (!number)
    raise("the environment has ", beside, " but not ", name, ", ", meaning,
          "; set it, or start the program by torchrun, srun or mpirun");
  return *number;
}

void readMaster(Launch &launch) {
  if (launch.ranks == 1)
    return;
  const char *address = valueOf("MASTER_ADDR");
  if (!address)
    raise("the environment says that there are ", launch.ranks,
          " ranks, but not where rank 0 is; set MASTER_ADDR to the name of its machine and "
          "MASTER_PORT to a free port there, the same on all ranks");
  launch.master.address = address;
  launch.master.port =
      requireNumber("MASTER_PORT", 1, largestPort, "the port on which rank 0 waits for the others",
                    "MASTER_ADDR");
  const char *agentStore = valueOf("TORCHELASTIC_USE_AGENT_STORE");
  launch.isPortTaken = agentStore && std::string(agentStore) == "True";
  const char *run = launch.isPortTaken ? valueOf("TORCHELASTIC_RUN_ID") : nullptr;
  launch.job = concat(launch.master.port, " ", run ? run : "");
}

constexpr const char *rankMeaning = "this process's rank";
constexpr const char *ranksMeaning = "the number of ranks";
constexpr int mostRanks = 1 << 16;

void readTorchrun(Launch &launch) {
  if (valueOf("TORCHELASTIC_RUN_ID"))
    launch.launcher = "torchrun";
  launch.ranks = requireNumber("WORLD_SIZE", 1, mostRanks, ranksMeaning, "RANK");
  launch.rank = requireNumber("RANK", 0, launch.ranks - 1, rankMeaning, "WORLD_SIZE");
  launch.localRanks =
      readNumber("LOCAL_WORLD_SIZE", 1, launch.ranks, "the number of ranks on this machine")
          .value_or(-1);
  int most = launch.localRanks > 0 ? launch.localRanks : launch.ranks;
  launch.localRank =
      readNumber("LOCAL_RANK", 0, most - 1, "this process's rank on its machine").value_or(-1);
}

void readSlurm(Launch &launch) {
  launch.launcher = "srun";
  launch.ranks = requireNumber("SLURM_NTASKS", 1, mostRanks, ranksMeaning, "SLURM_PROCID");
  launch.rank = requireNumber("SLURM_PROCID", 0, launch.ranks - 1, rankMeaning, "SLURM_NTASKS");
  launch.localRank =
      readNumber("SLURM_LOCALID", 0, launch.ranks - 1, "this process's rank on its machine")
          .value_or(-1);
  if (readNumber("SLURM_STEP_NUM_NODES", 1, mostRanks, "the number of machines") == 1)
    launch.localRanks = launch.ranks;
}

} // namespace

std::vector<int> Launch::ports() const {
  if (!isPortTaken)
    return {master.port};
  // At the end of the range, those before it.
  int step = master.port + portsTried > largestPort ? -1 : 1;
  std::vector<int> ports;
  for (int i = 1; i <= portsTried; ++i)
    ports.push_back(master.port + step * i);
  return ports;
}

bool isMpiLaunch() {
  if (valueOf("TORCHELASTIC_RUN_ID") && valueOf("RANK"))
    return false;
  return valueOf("OMPI_COMM_WORLD_SIZE") || valueOf("PMIX_RANK");
}

std::optional<Launch> readLaunch() {
  Launch launch;
  if (valueOf("RANK") || valueOf("WORLD_SIZE"))
    readTorchrun(launch);
  else if (valueOf("SLURM_PROCID") && valueOf("MASTER_ADDR"))
    readSlurm(launch);
  else
    return std::nullopt;
  readMaster(launch);
  return launch;
}

} // namespace ulsc::runtime

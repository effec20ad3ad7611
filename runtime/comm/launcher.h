// What a launcher left in the environment for a program whose ranks find each other without MPI.
#ifndef ULSC_RUNTIME_COMM_LAUNCHER_H
#define ULSC_RUNTIME_COMM_LAUNCHER_H

#include "comm/tcp_socket.h"

#include <optional>
#include <string>
#include <vector>

namespace ulsc::runtime {

/// The place of this process in its job.
struct Launch {
  int rank = 0, ranks = 1;
  int localRank = -1, localRanks = -1; // on this machine; -1: the launcher doesn't tell
  /// MASTER_ADDR and MASTER_PORT: where rank 0 is.
  Place master;
  /// torchrun's agent listens on the port itself, and all that was said about it holds of the
  /// ports that follow.
  bool isPortTaken = false;
  /// What tells two jobs apart that try the same ports: nothing that is secret.
  std::string job;
  const char *launcher = "the environment"; // for messages

  /// Where rank 0 may listen, in the order in which all ranks try them.
  std::vector<int> ports() const;
  bool isOnOneMachine() const { return localRanks == ranks; }
};

/// Ports behind MASTER_PORT that are tried where torchrun's agent has that one.
inline constexpr int portsTried = 16;

/// mpirun, or srun with PMIx, started this process. Not so under torchrun, even where that was
/// started by one of them, as batch scripts do: torchrun's variables count before theirs. The
/// environment does not tell which launcher is inside of which.
bool isMpiLaunch();

/// RANK and WORLD_SIZE, as torchrun sets them, else SLURM_PROCID and SLURM_NTASKS where MASTER_ADDR
/// is set, too. Nothing where neither is there. Throws an Error that names the variable which is
/// missing or wrong.
std::optional<Launch> readLaunch();

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_COMM_LAUNCHER_H

// The entry point of programs for GPUs. Alone in its file, so that a test's own main replaces it.
#include "comm/job_secret.h"
#include "comm/join.h"
#include "comm/mpi_library.h"
#include "core/backend.h"
#include "core/error.h"
#include "core/training.h"

#include <cstdlib>

extern "C" const char ulsc_kernels[];

namespace {

using namespace ulsc::runtime;

/// Data travels through NCCL, which asks only that ranks find each other: through MPI where its
/// launcher started them.
class CudaBackend final : public Backend {
public:
  std::unique_ptr<Communicator> join(const Manifest &manifest, const Program &program,
                                     const Options &options, int *argc,
                                     char ***argv) const override {
    if (isMpiLaunch())
      return createMpiCommunicator(loadMpi(), argc, argv);
    std::optional<Launch> launch = readLaunch();
    const char *tasks = std::getenv("SLURM_NTASKS"), *process = std::getenv("SLURM_PROCID");
    if (!launch && tasks && process && std::atoi(tasks) > 1 && manifest.mesh.ranks() > 1)
      raise("srun started ", tasks,
            " processes without PMIx, and the environment does not say where rank 0 is; set "
            "MASTER_ADDR to the first machine's name and MASTER_PORT to a free port there, as "
            "examples/clusters/slurm does");
    const char *processes = std::getenv("OMPI_COMM_WORLD_SIZE");
    if (launch && launch->ranks == 1 && processes && std::atoi(processes) > 1)
      raise("mpirun started ", processes,
            " processes, but torchrun's variables, which count before mpirun's, make "
            "each a job of its own that writes the same files; unset TORCHELASTIC_RUN_ID to have "
            "mpirun's");
    // Before ranks wait for some that nobody needs.
    if (launch)
      checkRanks(manifest, launch->ranks);
    JoinOptions join;
    join.program = {hexOf(digestOf(program.manifest)),
                    manifest.modelName + " on mesh " + manifest.mesh.text()};
    join.secret = readJobSecret();
    join.timeoutSeconds = static_cast<double>(options.joinTimeout);
    return createTcpCommunicator(launch.value_or(Launch()), join);
  }

  std::unique_ptr<Device> createDevice(const Communicator &communicator, const Program &program,
                                       const Options &options, int threads) const override {
    return createCudaDevice(communicator.localRank(), program.kernels, threads,
                            static_cast<double>(options.collectiveTimeout),
                            options.usesCudaGraph());
  }
};

} // namespace

int main(int argc, char **argv) {
  return runProgram(argc, argv, {ulsc_manifest, ulsc_kernels, ulsc_step}, CudaBackend());
}

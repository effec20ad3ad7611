// From the command line to the exit code.
#include "comm/communicator.h"
#include "comm/job_secret.h"
#include "comm/join.h"
#include "core/agreement.h"
#include "core/error.h"
#include "core/training.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace ulsc::runtime {

namespace {

// Before ranks know each other, the launcher's environment tells which one prints: the nearest
// launcher's, where one was started by another.
bool isLaterRank() {
  std::vector<const char *> names = {"RANK", "SLURM_PROCID"};
  if (isMpiLaunch())
    names = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"};
  for (const char *name : names)
    if (const char *value = std::getenv(name))
      return std::string(value) != "0";
  return false;
}

void checkRanks(const Manifest &manifest, int64_t found) {
  int64_t wanted = manifest.mesh.ranks();
  const char *torchRanks = std::getenv("WORLD_SIZE");
  if (found == 1 && wanted > 1 && torchRanks && std::atoi(torchRanks) > 1)
    raise("torchrun started ", torchRanks,
          " processes, but the ranks of this program find each "
          "other through MPI; run 'mpirun -np ",
          wanted, " PROGRAM ...'");
  if (wanted == found)
    return;
  const char *others = manifest.target == "cuda"
                           ? " (torchrun --no-python and srun work, too: docs/program.md)"
                           : "";
  raise("the program was compiled for mesh ", manifest.mesh.text(), ", that is ", wanted,
        wanted == 1 ? " rank" : " ranks", ", but was started with ", found, "; run 'mpirun -np ",
        wanted, " PROGRAM ...'", others, ", or compile it for this number");
}

// Data of the cpu travels through MPI. NCCL has ways of its own, and asks only that ranks find each
// other.
std::unique_ptr<Communicator> createCommunicator(const Manifest &manifest, const Program &program,
                                                 const Options &options, int *argc, char ***argv) {
  if (manifest.target != "cuda" || isMpiLaunch())
    return createMpiCommunicator(argc, argv);
  std::optional<Launch> launch = readLaunch();
  const char *tasks = std::getenv("SLURM_NTASKS"), *process = std::getenv("SLURM_PROCID");
  if (!launch && tasks && process && std::atoi(tasks) > 1 && manifest.mesh.ranks() > 1)
    raise("srun started ", tasks,
          " processes without PMIx, and the environment does not say where rank 0 is; set "
          "MASTER_ADDR to the first machine's name and MASTER_PORT to a free port there, as "
          "examples/clusters/slurm does");
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

// What was printed may wait in a buffer: only writing it out tells that the disk is full.
int flushOutput(int exitCode) {
  std::cout.flush();
  bool isWritten = std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout.good();
  if (isWritten)
    return exitCode;
  std::fprintf(
      stderr,
      "error: %scan't write all of the standard output; what is missing is lost. Free space "
      "where it goes, or redirect it elsewhere\n",
      messagePrefix().c_str());
  return exitCode ? exitCode : 1;
}

int finishWith(Communicator *communicator, const Error &error) {
  std::string message = error.what();
  if (!message.empty()) {
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s%s\n", messagePrefix().c_str(), message.c_str());
  }
  if (communicator)
    communicator->finish();
  return 1;
}

} // namespace

int runProgram(int argc, char **argv, const Program &program) {
  Manifest manifest;
  try {
    manifest = parseManifest(program.manifest);
  } catch (const Error &error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 1;
  }
  int exitCode = 0;
  std::optional<Options> options = parseOptions(argc, argv, manifest, isLaterRank(), exitCode);
  if (!options)
    return flushOutput(exitCode);
  if (options->describe) {
    if (!isLaterRank())
      std::cout << manifest.document.dump(2) << std::endl;
    return flushOutput(0);
  }
  std::unique_ptr<Communicator> communicator;
  try {
    communicator = createCommunicator(manifest, program, *options, &argc, &argv);
    onAllRanks(*communicator, [&] { checkRanks(manifest, communicator->ranks()); });
    checkAgreement(manifest, *options, *communicator);
    Training training(manifest, program, *options, *communicator);
    training.prepare();
    exitCode = training.run();
  } catch (const Error &error) {
    return finishWith(communicator.get(), error);
  } catch (const std::exception &error) {
    endJob("program", error.what());
  }
  exitCode = flushOutput(exitCode);
  communicator->finish();
  return exitCode;
}

} // namespace ulsc::runtime

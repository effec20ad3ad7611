// From the command line to the exit code.
#include "comm/launcher.h"
#include "core/agreement.h"
#include "core/backend.h"
#include "core/error.h"
#include "core/training.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace ulsc::runtime {

namespace {

// Before ranks know each other, the launcher's environment tells which one prints: torchrun's
// before MPI's, where one was started by another.
bool isLaterRank() {
  std::vector<const char *> names = {"RANK", "SLURM_PROCID"};
  if (isMpiLaunch())
    names = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"};
  for (const char *name : names)
    if (const char *value = std::getenv(name))
      return std::string(value) != "0";
  return false;
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
  bool isNested =
      manifest.target == "cuda" && !isMpiLaunch() && std::getenv("OMPI_COMM_WORLD_SIZE");
  const char *others =
      isNested ? " where TORCHELASTIC_RUN_ID is unset: torchrun's variables count before mpirun's"
      : manifest.target == "cuda" ? " (torchrun --no-python and srun work, too: docs/program.md)"
                                  : "";
  raise("the program was compiled for mesh ", manifest.mesh.text(), ", that is ", wanted,
        wanted == 1 ? " rank" : " ranks", ", but was started with ", found, "; run 'mpirun -np ",
        wanted, " PROGRAM ...'", others, ", or compile it for this number");
}

int runProgram(int argc, char **argv, const Program &program, const Backend &backend) {
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
    communicator = backend.join(manifest, program, *options, &argc, &argv);
    onAllRanks(*communicator, [&] { checkRanks(manifest, communicator->ranks()); });
    checkAgreement(manifest, *options, *communicator);
    Training training(manifest, program, *options, *communicator, backend);
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

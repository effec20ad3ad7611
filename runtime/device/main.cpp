// The entry point of programs for the cpu. Alone in its file, so that a test's own main replaces
// it.
#include "comm/mpi_library.h"
#include "core/backend.h"
#include "core/training.h"

namespace {

using namespace ulsc::runtime;

class CpuBackend final : public Backend {
public:
  std::unique_ptr<Communicator> join(const Manifest &, const Program &, const Options &, int *argc,
                                     char ***argv) const override {
    return createMpiCommunicator(linkedMpi(), argc, argv);
  }

  std::unique_ptr<Device> createDevice(const Communicator &, const Program &, const Options &,
                                       int threads) const override {
    return createCpuDevice(threads);
  }
};

} // namespace

int main(int argc, char **argv) {
  return runProgram(argc, argv, {ulsc_manifest, nullptr, ulsc_step}, CpuBackend());
}

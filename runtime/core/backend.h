// What targets differ in. Each has a library of its own, whose `main` hands its backend to
// runProgram: a program is linked with what its target needs, and no more.
#ifndef ULSC_RUNTIME_CORE_BACKEND_H
#define ULSC_RUNTIME_CORE_BACKEND_H

#include "comm/communicator.h"
#include "core/manifest.h"
#include "core/options.h"
#include "device/device.h"

#include <memory>

namespace ulsc::runtime {

struct Program;

class Backend {
public:
  virtual ~Backend() = default;

  /// Brings the ranks of the job together. Throws an Error where they don't.
  virtual std::unique_ptr<Communicator> join(const Manifest &manifest, const Program &program,
                                             const Options &options, int *argc,
                                             char ***argv) const = 0;
  /// `threads` are the host's.
  virtual std::unique_ptr<Device> createDevice(const Communicator &communicator,
                                               const Program &program, const Options &options,
                                               int threads) const = 0;
};

/// Throws an Error unless `found` ranks are as many as the program was compiled for.
void checkRanks(const Manifest &manifest, int64_t found);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_BACKEND_H

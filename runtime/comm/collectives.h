// Collectives of a step, between their starts and their waits. One implementation per backend.
#ifndef ULSC_RUNTIME_COMM_COLLECTIVES_H
#define ULSC_RUNTIME_COMM_COLLECTIVES_H

#include "core/manifest.h"
#include "ulsc/RuntimeABI.h"

namespace ulsc::runtime {

/// They are started in slots in one order on all ranks of a group, and waited for in one order;
/// ranks may mix starts and waits in their own ways. Sends and receives keep only the order of
/// their starts.
class Collectives {
public:
  virtual ~Collectives() = default;

  /// Makes the communicators of the manifest's groups, and its slots, which receive reductions in
  /// the arena's staging. All ranks of the job call it.
  virtual void createGroups(const Manifest &manifest, char *arena) = 0;
  virtual void start(const ulsc_collective_desc &desc, void *const *inputs, void *const *outputs,
                     int slot) = 0;
  virtual void wait(int slot) = 0;
  /// Lets started collectives advance. Cheap when there are none.
  virtual void progress() = 0;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_COMM_COLLECTIVES_H

// What a target's device does for generated code. One implementation file per backend.
#ifndef ULSC_RUNTIME_DEVICE_DEVICE_H
#define ULSC_RUNTIME_DEVICE_DEVICE_H

#include "ulsc/RuntimeABI.h"

#include <memory>

namespace ulsc::runtime {

/// Work is submitted in program order to the device's one compute stream; `synchronize` waits for
/// it. A backend whose arena the host can't address copies through `read` and `write`.
class Device {
public:
  virtual ~Device() = default;

  /// The arena: zeroed, aligned to 2 MiB, the only large allocation of a run.
  virtual char *allocateArena(int64_t bytes) = 0;
  virtual void launch(ulsc_context *context, ulsc_kernel kernel, void *const *arguments,
                      int64_t extent, int64_t grain) = 0;
  virtual void gemm(const ulsc_gemm_desc &desc, const void *a, const void *b, void *c,
                    void *workspace) = 0;
  virtual void synchronize() = 0;
  virtual int threads() const = 0;
};

/// The CPU backend; `threads` is the size of the rank's one thread pool.
std::unique_ptr<Device> createCpuDevice(int threads);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_DEVICE_DEVICE_H

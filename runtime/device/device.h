// What a target's device does for generated code. One implementation file per backend.
#ifndef ULSC_RUNTIME_DEVICE_DEVICE_H
#define ULSC_RUNTIME_DEVICE_DEVICE_H

#include "comm/communicator.h"
#include "device/arena_view.h"
#include "device/work_clock.h"
#include "ulsc/RuntimeABI.h"

#include <functional>
#include <memory>
#include <vector>

namespace ulsc::runtime {

/// Work is submitted in program order to the device's one compute stream; `synchronize` waits for
/// it.
class Device {
public:
  virtual ~Device() = default;

  /// The arena: zeroed, aligned to 2 MiB, the only large allocation of a run.
  virtual char *allocateArena(int64_t bytes) = 0;
  /// The host's way to it.
  virtual ArenaView &view() = 0;
  /// Where kernels find the control block.
  virtual char *deviceControl(ulsc_control &control) = 0;
  /// The scales' address for `ulsc_control::parameter_scales`, which only kernels read; `scales`
  /// stays where it is.
  virtual const float *placeScales(const std::vector<float> &scales) = 0;
  /// Around a step: what `control` holds goes to the device, and what the step wrote comes back,
  /// when all its work is done.
  virtual void beginStep(const ulsc_control &control) = 0;
  virtual void endStep(ulsc_control &control) = 0;
  /// Between the two: does what `step` submits. Returns whether `step` was called; a device may
  /// keep what it submitted, marks of the clock included, and do the same again.
  virtual bool runStep(const std::function<void()> &step) {
    step();
    return true;
  }

  /// Of the steps' work.
  virtual WorkClock &clock() = 0;

  /// Those of steps on the device's memory. `communicator` is the job's.
  virtual Collectives &collectives(Communicator &communicator) = 0;

  virtual void launch(ulsc_context *context, ulsc_kernel kernel, void *const *arguments,
                      int64_t extent, int64_t grain) = 0;
  /// Bytes of the buffers that a kernel accesses; 0 where the device doesn't know.
  virtual int64_t accessedBytes(ulsc_kernel) const { return 0; }
  /// `input` and `output` are the epilogue's.
  virtual void gemm(const ulsc_gemm_desc &desc, const void *a, const void *b, void *c,
                    const void *input, void *output, void *workspace) = 0;
  virtual void attention(const ulsc_attention_desc &desc, const void *q, const void *k,
                         const void *v, void *out, void *lse, void *workspace) = 0;
  virtual void attentionGrad(const ulsc_attention_desc &desc, const void *q, const void *k,
                             const void *v, const void *out, const void *lse, const void *dout,
                             void *dq, void *dk, void *dv, void *workspace) = 0;
  virtual void copy(void *target, const void *source, int64_t bytes) = 0;
  virtual void fill(void *target, uint32_t value, int32_t elementBytes, int64_t count) = 0;
  virtual int threads() const = 0;

  // For devices that check what programs do; others need none of it.

  /// The source model's op, or null, of what is asked for next.
  virtual void announce(const char *source) {}
  /// What is announced until the block's end lies in the function `name`, called for `source`.
  virtual void enterBlock(const char *name, const char *source) {}
  virtual void leaveBlock() {}
  /// Nobody reads what lies there, now or after what was asked for before.
  virtual void forget(void *target, int64_t bytes) {}
};

/// The CPU backend; `threads` is the size of the rank's one thread pool.
std::unique_ptr<Device> createCpuDevice(int threads);

/// The CUDA backend on the GPU of this rank of the machine, with the kernels of `kernels`, PTX.
/// `threads` are the host's, for what happens around the steps. A collective that has not ended for
/// `collectiveTimeout` seconds ends the job, unless they are 0. `usesGraph`: steps are launches of
/// a CUDA graph.
std::unique_ptr<Device> createCudaDevice(int localRank, const char *kernels, int threads,
                                         double collectiveTimeout, bool usesGraph);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_DEVICE_DEVICE_H

// The CUDA driver of the machine, found when a program starts. The runtime needs no other library
// of CUDA for memory, streams and kernels: the driver's interface is the one that every version
// has.
#ifndef ULSC_RUNTIME_CUDA_DRIVER_H
#define ULSC_RUNTIME_CUDA_DRIVER_H

#include "cuda/driver_functions.h"
#include "core/vendor_library.h"

#include <vector>

namespace ulsc::runtime {

/// One process has one device: that of its rank on the machine.
class CudaDriver {
public:
  /// Makes device `localRank` current; the error says what is missing where there is none.
  explicit CudaDriver(int localRank);

  VendorLibrary library{cuda::driverLibraryName,
                        "the NVIDIA driver brings it: this program was compiled with --target cuda "
                        "and needs a GPU; compile with --target cpu, or run it on the simulated "
                        "device (docs/simulator.md)"};
  ULSC_CUDA_DRIVER_FUNCTIONS(ULSC_VENDOR_FUNCTION)

  /// Of the device: 90 for 9.0.
  int computeCapability() const;

  /// For threads other than the one that made this.
  void makeCurrent() const { cuCtxSetCurrent(context); }

  /// Ends the job with what `operation` failed of.
  void check(cuda::Result result, const char *operation) const;

  /// Records an event that the host asks about. While a step is captured, it becomes a part of the
  /// graph that each launch records anew; no stream can wait for it.
  void recordForHost(cuda::Event event, cuda::Stream stream) const;
  bool isCapturing = false;

  // What the simulated device wants to know about a program; nothing of it does anything on others.

  /// The source model's op, or null, of what is enqueued next.
  void announce(const char *source) const {
    if (setSource)
      announceInside(source);
  }
  /// Until `leave`, what is announced lies in the function `block`, called for the layer `source`.
  void enter(const char *block, const char *source) {
    if (setSource)
      places.push_back({block, source});
  }
  void leave() {
    if (setSource)
      places.pop_back();
  }
  /// The next launch accesses these buffers and no more: the last `outputs` may be written.
  void declareBuffers(void *const *buffers, const int64_t *bytes, int count, int outputs) const {
    if (setBuffers)
      setBuffers(buffers, bytes, count, outputs);
  }
  /// After what was enqueued, nobody reads these bytes.
  void forget(void *target, int64_t bytes, cuda::Stream stream) const {
    if (forgetBytes)
      forgetBytes(target, static_cast<size_t>(bytes), stream);
  }

private:
  struct Place {
    const char *block, *source;
  };

  void announceInside(const char *source) const;

  cuda::Device device = 0;
  cuda::Context context = nullptr;
  std::vector<Place> places;
  void (*setSource)(const char *) = nullptr;
  void (*setBuffers)(void *const *, const int64_t *, int, int) = nullptr;
  void (*forgetBytes)(void *, size_t, cuda::Stream) = nullptr;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_DRIVER_H

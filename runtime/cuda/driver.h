// The CUDA driver of the machine, found when a program starts. The runtime needs no other library
// of CUDA for memory, streams and kernels: the driver's interface is the one that every version
// has.
#ifndef ULSC_RUNTIME_CUDA_DRIVER_H
#define ULSC_RUNTIME_CUDA_DRIVER_H

#include "cuda/driver_functions.h"
#include "cuda/vendor_library.h"

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

  /// For threads other than the one that made this.
  void makeCurrent() const { cuCtxSetCurrent(context); }

  /// Ends the job with what `operation` failed of.
  void check(cuda::Result result, const char *operation) const;

  /// Records an event that the host asks about. While a step is captured, it becomes a part of the
  /// graph that each launch records anew; no stream can wait for it.
  void recordForHost(cuda::Event event, cuda::Stream stream) const;
  bool isCapturing = false;

  /// What the simulated device wants to know about what is enqueued next; does nothing on others.
  void announce(const char *source) const {
    if (setSource)
      setSource(source);
  }

private:
  cuda::Context context = nullptr;
  void (*setSource)(const char *) = nullptr;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_DRIVER_H

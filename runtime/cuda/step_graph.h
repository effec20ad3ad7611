// Steps as launches of one CUDA graph: buffers have fixed addresses, and what changes from step to
// step is in the control block, so that what a step submits is always the same.
#ifndef ULSC_RUNTIME_CUDA_STEP_GRAPH_H
#define ULSC_RUNTIME_CUDA_STEP_GRAPH_H

#include "cuda/driver.h"

#include <functional>

namespace ulsc::runtime {

class StepGraph {
public:
  StepGraph(CudaDriver &driver, cuda::Stream stream) : driver(driver), stream(stream) {}
  ~StepGraph();

  /// The first step is submitted as it is: in it kernels are looked up, algorithms chosen and
  /// connections made. The second is captured and launched, the others are launches alone. Returns
  /// whether `step` was called.
  bool run(const std::function<void()> &step);
  /// Whether the next `run` is a launch alone.
  bool isReady() const { return exec; }

private:
  void capture(const std::function<void()> &step);

  CudaDriver &driver;
  cuda::Stream stream;
  bool isWarm = false;
  cuda::GraphExec exec = nullptr;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_STEP_GRAPH_H

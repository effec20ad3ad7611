#include "cuda/step_graph.h"

#include "core/error.h"

namespace ulsc::runtime {

StepGraph::~StepGraph() {
  if (exec)
    driver.cuGraphExecDestroy(exec);
}

bool StepGraph::run(const std::function<void()> &step) {
  bool isLaunchAlone = isReady();
  if (!isWarm)
    step();
  else if (!exec)
    capture(step);
  if (exec)
    driver.check(driver.cuGraphLaunch(exec, stream), "cuGraphLaunch");
  isWarm = true;
  return !isLaunchAlone;
}

void StepGraph::capture(const std::function<void()> &step) {
  constexpr const char *what = "capturing the step as a CUDA graph (--cuda-graph off does without)";
  cuda::Graph graph = nullptr;
  // Other threads of the process may go on with what a capture forbids.
  driver.check(driver.cuStreamBeginCapture_v2(stream, cuda::CaptureThreadLocal), what);
  driver.isCapturing = true;
  step();
  driver.isCapturing = false;
  driver.check(driver.cuStreamEndCapture(stream, &graph), what);
  driver.check(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), what);
  driver.check(driver.cuGraphDestroy(graph), what);
}

} // namespace ulsc::runtime

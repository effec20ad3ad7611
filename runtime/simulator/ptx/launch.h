// Runs a kernel: what the driver's launch enqueues.
#ifndef ULSC_RUNTIME_SIMULATOR_PTX_LAUNCH_H
#define ULSC_RUNTIME_SIMULATOR_PTX_LAUNCH_H

#include "simulator/ptx/warp.h"

namespace ulsc::simulator::ptx {

/// Called while the kernel's operation runs.
void runKernel(const Kernel &kernel, Dimensions grid, Dimensions block, uint32_t dynamicSharedBytes,
               const uint8_t *parameters, const std::vector<LaunchBuffer> &buffers);

/// Instructions that all lanes of all launches have executed so far in this process.
uint64_t laneInstructionsExecuted();

} // namespace ulsc::simulator::ptx

#endif // ULSC_RUNTIME_SIMULATOR_PTX_LAUNCH_H

// Begins a launch and keeps account of what launches leave behind.
#include "simulator/ptx/launch.h"

#include "simulator/core/device.h"
#include "simulator/core/settings.h"
#include "simulator/ptx/launch_races.h"

#include <algorithm>

namespace ulsc::simulator::ptx {

namespace {

uint64_t executed = 0;
uint64_t cellsTouched = 0;
/// 24 bytes each: beyond this many the shadow's memory is given back between launches.
constexpr uint64_t cellsKept = 8 << 20;

/// As `Launch` has them.
std::vector<LaunchBuffer> sortBuffers(std::vector<LaunchBuffer> buffers) {
  std::sort(buffers.begin(), buffers.end(), [](const auto &x, const auto &y) {
    return std::pair(x.begin, x.isWritable) < std::pair(y.begin, y.isWritable);
  });
  uint64_t end = 0;
  for (LaunchBuffer &buffer : buffers)
    buffer.lastEnd = end = std::max(end, buffer.begin + buffer.bytes);
  return buffers;
}

} // namespace

void runKernel(const Kernel &kernel, Dimensions grid, Dimensions block, uint32_t dynamicSharedBytes,
               const uint8_t *parameters, const std::vector<LaunchBuffer> &buffers) {
  reuseSegments();
  Launch launch;
  launch.kernel = &kernel;
  launch.grid = grid;
  launch.block = block;
  launch.dynamicSharedBytes = dynamicSharedBytes;
  launch.parameters = parameters;
  launch.buffers = sortBuffers(buffers);
  launch.operation = device().runningNumber;
  launch.findsRaces = settings().findsRaces;
  launch.globalCellShift = uint32_t(__builtin_ctz(kernel.narrowestGlobal));
  launch.sharedCellShift = uint32_t(__builtin_ctz(kernel.narrowestShared));
  execute(launch);
  executed += launch.laneInstructions;
  cellsTouched += launch.touchedCells;
  if (cellsTouched > cellsKept) {
    dropLaunchCells();
    cellsTouched = 0;
  }
}

uint64_t laneInstructionsExecuted() { return executed; }

} // namespace ulsc::simulator::ptx

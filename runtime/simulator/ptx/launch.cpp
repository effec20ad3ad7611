// Begins a launch and keeps account of what launches leave behind.
#include "simulator/ptx/launch.h"

#include "simulator/core/device.h"
#include "simulator/core/settings.h"
#include "simulator/ptx/launch_races.h"

namespace ulsc::simulator::ptx {

namespace {

uint64_t executed = 0;
uint64_t cellsTouched = 0;
/// 24 bytes each: beyond this many the shadow's memory is given back between launches.
constexpr uint64_t cellsKept = 8 << 20;

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
  launch.buffers = buffers;
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

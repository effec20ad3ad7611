// Segments and clocks of warps.
#include "simulator/ptx/launch_races.h"

#include "simulator/core/report.h"

#include <algorithm>

namespace ulsc::simulator::ptx {

namespace {

/// The segment that begins next, in the whole process.
uint32_t nextSegment = 1;

const Segment &segmentOf(const Launch &launch, uint64_t record) {
  return launch.segments[uint32_t(record >> 32) - launch.firstSegment];
}

uint32_t laneOf(uint64_t record) { return uint32_t(record >> 3) & 31; }

} // namespace

bool isOrderedBefore(const Warp &warp, uint32_t lane, uint64_t record) {
  const Segment &segment = segmentOf(*warp.launch, record);
  if (segment.block != warp.block->number)
    return false;
  if (segment.warp != warp.number)
    return segment.epoch <= warp.clock[segment.warp];
  return laneOf(record) == lane ||
         segment.epoch <= std::min(warp.laneSync[lane], warp.laneSync[laneOf(record)]);
}

void reportLaunchRace(const Warp &warp, uint32_t lane, uint64_t record, bool otherWrites,
                      bool isWrite, const std::string &address) {
  const Launch &launch = *warp.launch;
  const Segment &segment = segmentOf(launch, record);
  bool isSameBlock = segment.block == warp.block->number;
  auto side = [&](const std::string &thread, bool writes, bool isStrong, uint32_t pc) {
    return text(thread, writes ? (isStrong ? " writes it atomically" : " writes it") : " reads it",
                ", ", describeInstruction(*launch.kernel, pc));
  };
  Finding finding{"race",
                  isSameBlock
                      ? "two threads of a block use the same bytes without a barrier between"
                      : "threads of two blocks use the same bytes",
                  {},
                  ""};
  finding.details = {
      {"operation", currentOperation()},
      {"one", side(describeThread(launch, segment.block, segment.warp, laneOf(record)), otherWrites,
                   record & 4, uint32_t(record >> 8) & 0xffffff)},
      {"other", side(describeThread(warp, lane), isWrite, warp.instruction().isStrong, warp.pc)},
      {"address", address}};
  finding.legal = isSameBlock
                      ? "bar.sync between them (bar.warp.sync inside a warp), or atomics"
                      : "bytes of their own for each block, or atomics: blocks have no order";
  report(finding);
}

void beginSegment(Warp &warp) {
  Launch &launch = *warp.launch;
  if (nextSegment == UINT32_MAX)
    report({"limit",
            "a launch has more than two thousand million parts of warps between barriers",
            {{"operation", currentOperation()}},
            "a smaller launch, or ULSC_SIMULATOR_RACES=0"});
  if (launch.segments.empty())
    launch.firstSegment = nextSegment;
  warp.segment = nextSegment++;
  launch.segments.push_back({warp.block->number, warp.number, warp.epoch});
}

void reuseSegments() {
  if (nextSegment < 0x80000000u)
    return;
  dropLaunchCells(); // no record may seem to be of a later launch
  nextSegment = 1;
}

void syncLanes(Warp &warp, uint32_t lanes) {
  for (uint32_t lane = 0; lane < warpLanes; ++lane)
    if ((lanes >> lane) & 1)
      warp.laneSync[lane] = warp.epoch;
  ++warp.epoch;
  beginSegment(warp);
}

} // namespace ulsc::simulator::ptx

// Blocks of a launch, one after another in a seeded order, their warps in turns, and barriers.
#include "simulator/ptx/launch_races.h"
#include "simulator/ptx/warp.h"

#include "simulator/core/report.h"
#include "simulator/core/streams.h"

#include <algorithm>
#include <random>

namespace ulsc::simulator::ptx {

namespace {

/// One of the 16 barriers of a block.
struct Barrier {
  uint32_t arrived = 0, expected = 0; ///< Warps.
  std::vector<Warp *> waiting;
  std::vector<uint32_t> clock; ///< What those that have arrived did before.
  uint32_t trueLanes = 0, allLanes = 0;
};

class BlockRun {
public:
  BlockRun(Launch &launch, Block &block, std::mt19937_64 &random)
      : launch(launch), block(block), random(random) {}

  void run() {
    for (;;) {
      std::vector<Warp *> running;
      for (Warp &warp : block.warps)
        if (warp.state == Warp::Running)
          running.push_back(&warp);
      if (running.empty())
        break;
      Warp &warp = *running[random() % running.size()];
      warp.run();
      if (warp.state == Warp::AtBarrier)
        arrive(warp);
    }
    for (Warp &warp : block.warps)
      if (warp.state == Warp::AtBarrier)
        reportNeverCompletes(warp);
  }

private:
  void arrive(Warp &warp) {
    const Instruction &in = *warp.atBarrier;
    auto lane = uint32_t(__builtin_ctz(warp.alive));
    uint32_t number = warp.read<uint32_t>(in.source[0])[lane];
    uint32_t count = in.source[1] == noPlace ? 0 : warp.read<uint32_t>(in.source[1])[lane];
    if (number > 15 || count % warpLanes || count > block.warps.size() * warpLanes)
      reportThread(warp, lane, "barrier", text("barrier ", number, " for ", count, " threads"), "",
                   "barriers 0 to 15, for a multiple of 32 threads of the block");
    Barrier &barrier = barriers[number];
    uint32_t expected = count ? count / warpLanes : uint32_t(block.warps.size());
    if (barrier.arrived && barrier.expected != expected)
      reportThread(warp, lane, "barrier",
                   text("a warp waits at barrier ", number, " for ", expected,
                        " warps, another for ", barrier.expected),
                   "", "one number of threads at a barrier");
    barrier.expected = expected;
    barrier.clock.resize(block.warps.size());
    warp.clock[warp.number] = warp.epoch;
    for (size_t i = 0; i < barrier.clock.size(); ++i)
      barrier.clock[i] = std::max(barrier.clock[i], warp.clock[i]);
    ++barrier.arrived;
    if (BarrierMode(in.mode) >= BarrierMode::CountTrue) {
      uint32_t bits = warp.predicateOf(in.source[2]);
      barrier.trueLanes += uint32_t(__builtin_popcount((in.isNegated ? ~bits : bits) & warp.alive));
      barrier.allLanes += uint32_t(__builtin_popcount(warp.alive));
    }
    if (BarrierMode(in.mode) == BarrierMode::Arrive)
      goOn(warp);
    else
      barrier.waiting.push_back(&warp);
    if (barrier.arrived == barrier.expected)
      complete(barrier);
  }

  void goOn(Warp &warp) {
    ++warp.epoch;
    beginSegment(warp);
    warp.state = Warp::Running;
  }

  void complete(Barrier &barrier) {
    for (Warp *warp : barrier.waiting) {
      for (size_t i = 0; i < barrier.clock.size(); ++i)
        warp->clock[i] = std::max(warp->clock[i], barrier.clock[i]);
      std::fill(std::begin(warp->laneSync), std::end(warp->laneSync), warp->epoch);
      writeReduction(*warp, barrier);
      goOn(*warp);
    }
    barrier = Barrier();
  }

  void writeReduction(Warp &warp, const Barrier &barrier) {
    const Instruction &in = *warp.atBarrier;
    warp.exec = warp.alive;
    uint32_t count = barrier.trueLanes;
    switch (BarrierMode(in.mode)) {
    case BarrierMode::CountTrue:
      forLanes<uint32_t>(warp, in.result, [=](uint32_t) { return count; });
      break;
    case BarrierMode::AllTrue:
      setPredicate(warp, in.result, count == barrier.allLanes ? ~0u : 0);
      break;
    case BarrierMode::AnyTrue:
      setPredicate(warp, in.result, count ? ~0u : 0);
      break;
    default:
      break;
    }
  }

  [[noreturn]] void reportNeverCompletes(const Warp &warp) {
    auto pcOf = [&](const Warp &each) {
      return uint32_t(each.atBarrier - launch.kernel->code.data());
    };
    std::string other = "all other warps wait, too";
    for (const Warp &each : block.warps) {
      if (each.state == Warp::Finished)
        other = describeThread(each, 0) + " has finished without it";
      else if (each.atBarrier != warp.atBarrier)
        other = describeThread(each, 0) + " waits at " +
                describeInstruction(*launch.kernel, pcOf(each));
    }
    report({"divergence",
            "a barrier never completes: not all threads of the block come to it",
            {{"operation", currentOperation()},
             {"waits", describeThread(warp, uint32_t(__builtin_ctz(warp.alive))) + " at " +
                           describeInstruction(*launch.kernel, pcOf(warp))},
             {"other", other}},
            "barriers where all threads of the block take the same way"});
  }

  Launch &launch;
  Block &block;
  std::mt19937_64 &random;
  Barrier barriers[16];
};

uint32_t specialValue(const Warp &warp, Special special, uint32_t lane) {
  const Launch &launch = *warp.launch;
  uint32_t thread = warp.number * warpLanes + lane;
  switch (special) {
  case Special::TidX:
    return thread % launch.block.x;
  case Special::TidY:
    return thread / launch.block.x % launch.block.y;
  case Special::TidZ:
    return thread / launch.block.x / launch.block.y;
  case Special::NtidX:
    return launch.block.x;
  case Special::NtidY:
    return launch.block.y;
  case Special::NtidZ:
    return launch.block.z;
  case Special::CtaidX:
    return warp.block->index.x;
  case Special::CtaidY:
    return warp.block->index.y;
  case Special::CtaidZ:
    return warp.block->index.z;
  case Special::NctaidX:
    return launch.grid.x;
  case Special::NctaidY:
    return launch.grid.y;
  case Special::NctaidZ:
    return launch.grid.z;
  case Special::LaneId:
    return lane;
  case Special::WarpId:
    return warp.number;
  case Special::NWarpId:
    return uint32_t(warp.block->warps.size());
  case Special::LaneMaskEq:
    return 1u << lane;
  case Special::LaneMaskLe:
    return (2u << lane) - 1;
  case Special::LaneMaskLt:
    return (1u << lane) - 1;
  case Special::LaneMaskGe:
    return ~((1u << lane) - 1);
  case Special::LaneMaskGt:
    return ~((2u << lane) - 1);
  case Special::DynamicShared:
    return launch.dynamicSharedBytes;
  case Special::TotalShared:
    return launch.kernel->sharedBytes + launch.dynamicSharedBytes;
  case Special::SmId:
    return uint32_t(warp.block->number % 132);
  case Special::NSmId:
    return 132;
  default:
    return 0;
  }
}

void fillSpecials(Warp &warp) {
  warp.exec = ~0u;
  for (const auto &[special, bytes, place] : warp.launch->kernel->specials) {
    uint32_t values[warpLanes];
    for (uint32_t lane = 0; lane < warpLanes; ++lane)
      values[lane] = specialValue(warp, special, lane);
    if (bytes == 2)
      forLanes<uint16_t>(warp, place, [&](uint32_t lane) { return uint16_t(values[lane]); });
    else if (bytes == 4)
      forLanes<uint32_t>(warp, place, [&](uint32_t lane) { return values[lane]; });
    else
      forLanes<uint64_t>(warp, place, [&](uint32_t lane) { return uint64_t(values[lane]); });
  }
}

void startWarp(Launch &launch, Block &block, uint32_t number) {
  const Kernel &kernel = *launch.kernel;
  Warp &warp = block.warps[number];
  warp.launch = &launch;
  warp.block = &block;
  warp.number = number;
  warp.state = Warp::Running;
  warp.registers = block.registers.data() + size_t(number) * kernel.registerBytes;
  warp.constants = kernel.constants.data();
  uint64_t threads = launch.block.product() - uint64_t(number) * warpLanes;
  warp.lanes = warp.alive = threads >= warpLanes ? ~0u : (1u << threads) - 1;
  warp.parked = warp.wokenFor = 0;
  std::fill(std::begin(warp.pcs), std::end(warp.pcs), kernel.entry);
  warp.local.assign(size_t(warpLanes) * kernel.localBytes, 0);
  warp.copies.clear();
  std::fill(std::begin(warp.asyncGroups), std::end(warp.asyncGroups), 0);
  warp.epoch = 1;
  warp.clock.assign(block.warps.size(), 0);
  std::fill(std::begin(warp.laneSync), std::end(warp.laneSync), 0);
  beginSegment(warp);
  fillSpecials(warp);
}

void startBlock(Launch &launch, Block &block, uint64_t number) {
  block.number = number;
  block.index = {uint32_t(number % launch.grid.x), uint32_t(number / launch.grid.x % launch.grid.y),
                 uint32_t(number / launch.grid.x / launch.grid.y)};
  std::fill(block.registers.begin(), block.registers.end(), 0);
  std::fill(block.sharedValues.begin(), block.sharedValues.end(), 0);
  for (uint32_t warp = 0; warp < block.warps.size(); ++warp) {
    startWarp(launch, block, warp);
    if (warp == 0)
      block.firstSegment = block.warps[0].segment;
  }
}

void prepareBlock(Launch &launch, Block &block) {
  const Kernel &kernel = *launch.kernel;
  block.launch = &launch;
  block.warps.resize((launch.block.product() + warpLanes - 1) / warpLanes);
  block.registers.resize(block.warps.size() * kernel.registerBytes);
  block.variables = kernel.shared;
  if (kernel.hasDynamicShared)
    block.variables.back().bytes = launch.dynamicSharedBytes;
  block.dynamicStorage = (kernel.sharedExtent + 4095) / 4096 * 4096;
  size_t bytes = block.dynamicStorage + kernel.dynamicSharedAlign + launch.dynamicSharedBytes + 64;
  block.shared.resize(bytes);
  block.sharedValues.resize(bytes / 8 + 8);
  block.sharedCells.resize((bytes >> launch.sharedCellShift) + 1);
}

} // namespace

void execute(Launch &launch) {
  Block block;
  prepareBlock(launch, block);
  uint64_t blocks = launch.grid.product();
  std::mt19937_64 random(randomBelow(UINT64_MAX));
  std::vector<uint32_t> order(blocks);
  for (uint64_t i = 0; i < blocks; ++i)
    order[i] = uint32_t(i);
  std::shuffle(order.begin(), order.end(), random);
  for (uint32_t number : order) {
    startBlock(launch, block, number);
    BlockRun(launch, block, random).run();
  }
}

} // namespace ulsc::simulator::ptx

// A warp that executes, and the block and launch it belongs to.
#ifndef ULSC_RUNTIME_SIMULATOR_PTX_WARP_H
#define ULSC_RUNTIME_SIMULATOR_PTX_WARP_H

#include "simulator/core/address_space.h"
#include "simulator/ptx/program.h"

#include <cstring>

namespace ulsc::simulator::ptx {

struct Dimensions {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t product() const { return uint64_t(x) * y * z; }
};

/// A part of a warp's execution between two synchronisations, by a number that is never used again
/// (launch_races.h).
struct Segment {
  uint64_t block = 0;
  uint32_t warp = 0, epoch = 0;
};

/// A buffer that the program passes to a launch: all of its allocation that the kernel may touch.
struct LaunchBuffer {
  uint64_t begin = 0, bytes = 0;
  bool isWritable = false;
  uint64_t lastEnd = 0; ///< The largest end of the buffers up to this one.
};

struct Launch {
  const Kernel *kernel = nullptr;
  Dimensions grid, block;
  uint32_t dynamicSharedBytes = 0;
  const uint8_t *parameters = nullptr;
  /// Those the program declared, by their begins, of equal ones those that may be written last. An
  /// allocation in which none of them lies is open as a whole.
  std::vector<LaunchBuffer> buffers;

  // For the accesses: the same for all blocks.
  uint32_t operation = 0; ///< Number in the log.
  bool findsRaces = true;
  uint32_t globalCellShift = 0, sharedCellShift = 0; ///< Logarithms of the bytes of a cell.
  uint32_t firstSegment = 1;
  std::vector<Segment> segments;
  uint64_t laneInstructions = 0;
  /// The allocation, or the declared buffer, that the last access hit.
  uint64_t hitBegin = 0, hitEnd = 0;
  bool isHitConstant = false, isHitReadOnly = false;
  uint64_t touchedCells = 0; ///< To give their memory back in time.
};

/// Copies that cp.async has begun.
struct AsyncCopy {
  uint32_t lane;
  uint32_t group; ///< 0 until committed.
  uint64_t target, source;
  uint32_t bytes, sourceBytes;
  uint32_t line;
};

struct Block;

class Warp {
public:
  enum State : uint8_t { Running, AtBarrier, Finished };

  Launch *launch = nullptr;
  Block *block = nullptr;
  uint32_t number = 0;
  State state = Running;
  uint8_t *registers = nullptr;
  const uint8_t *constants = nullptr;
  uint32_t exec = 0;   ///< Lanes that execute the present instruction.
  uint32_t group = 0;  ///< Lanes that are at the present instruction.
  uint32_t alive = 0;  ///< Lanes that have not exited.
  uint32_t parked = 0; ///< Lanes that wait in `pcs` for others of their warp to come there.
  uint32_t lanes = 0;  ///< Lanes that exist.
  uint32_t pc = 0;
  uint32_t pcs[warpLanes] = {}; ///< Of lanes outside the group.
  uint32_t carry = 0;
  std::vector<uint32_t> returns[warpLanes];
  std::vector<uint8_t> local; ///< localBytes per lane.
  std::vector<AsyncCopy> copies;
  uint32_t asyncGroups[warpLanes] = {};
  const Instruction *atBarrier = nullptr; ///< The barrier it waits at.
  uint32_t wokenFor = 0; ///< `alive` when parked lanes were last given another try.
  uint32_t mergeAt = 0;  ///< Where the group meets others.
  // Races inside the launch.
  uint32_t segment = 0, epoch = 1;
  std::vector<uint32_t> clock; ///< Of other warps' epochs.
  uint32_t laneSync[warpLanes] = {};
  uint32_t hitLocal = 0; ///< Index of the local variable that the last access hit.

  template <typename T>
  T *at(Place place) {
    return reinterpret_cast<T *>(registers + place);
  }
  template <typename T>
  const T *read(Place place) const {
    const uint8_t *base = place & constantPlace ? constants : registers;
    return reinterpret_cast<const T *>(base + (place & ~constantPlace));
  }
  uint32_t &predicate(Place place) { return *at<uint32_t>(place); }
  uint32_t predicateOf(Place place) const { return *read<uint32_t>(place); }

  /// Runs until it waits at a barrier or has finished.
  void run();

  const Instruction &instruction() const { return launch->kernel->code[pc]; }

private:
  void setPcs(uint32_t mask, uint32_t value);
  bool chooseGroup();
  bool control(const Instruction &in);
  bool branch(uint32_t taken, uint32_t target);
  void indexedBranch(const Instruction &in);
  bool splitByGuard();
  bool converge(const Instruction &in);
  bool arriveAtBarrier(const Instruction &in);
  [[noreturn]] void reportDivergence(const std::string &other);
  [[noreturn]] void reportStuck();
};

struct Block {
  Launch *launch = nullptr;
  uint64_t number = 0;
  Dimensions index;
  std::vector<Warp> warps;
  std::vector<uint8_t> registers;
  std::vector<uint8_t> shared;
  std::vector<uint8_t> sharedValues; ///< A bit per byte.
  std::vector<LaunchCell> sharedCells;
  uint32_t firstSegment = 0;
  std::vector<PlacedVariable>
      variables;               ///< The kernel's shared ones with their sizes in this launch.
  uint64_t dynamicStorage = 0; ///< Where dynamic memory begins in `shared`.
  uint32_t hitShared = 0;      ///< Index of the variable that the last access hit.
};

/// Runs all blocks in a seeded order. Called while the kernel's operation runs.
void execute(Launch &launch);

/// "thread (3,0,0) of block (1,0,0)".
std::string describeThread(const Warp &warp, uint32_t lane);
std::string describeThread(const Launch &launch, uint64_t block, uint32_t warp, uint32_t lane);
std::string describeBlock(const Launch &launch, uint64_t block);
/// "PTX line 40: st.global.f32 [%rd4], %f1".
std::string describeInstruction(const Kernel &kernel, uint32_t pc);
/// A finding about the present instruction, with kernel, thread and line.
[[noreturn]] void reportThread(const Warp &warp, uint32_t lane, const std::string &kind,
                               const std::string &summary, const std::string &address,
                               const std::string &legal);

/// Writes f(lane) to the lanes of exec. All lanes are computed, so that they vectorise.
template <typename T, typename F>
inline void forLanes(Warp &warp, Place result, F f) {
  T values[warpLanes];
  for (uint32_t lane = 0; lane < warpLanes; ++lane)
    values[lane] = f(lane);
  T *target = warp.at<T>(result);
  uint32_t exec = warp.exec;
  if (exec == ~0u) {
    std::memcpy(target, values, sizeof values);
    return;
  }
  for (uint32_t lane = 0; lane < warpLanes; ++lane)
    target[lane] = (exec >> lane) & 1 ? values[lane] : target[lane];
}

/// Calls f(lane) for the lanes of exec.
template <typename F>
inline void forActive(const Warp &warp, F f) {
  for (uint32_t rest = warp.exec; rest; rest &= rest - 1)
    f(uint32_t(__builtin_ctz(rest)));
}

/// Writes a bit per lane of exec.
inline void setPredicate(Warp &warp, Place place, uint32_t bits) {
  if (place == noPlace)
    return;
  uint32_t &target = warp.predicate(place);
  target = (target & ~warp.exec) | (bits & warp.exec);
}

} // namespace ulsc::simulator::ptx

#endif // ULSC_RUNTIME_SIMULATOR_PTX_WARP_H

// A decoded kernel: fixed-size instructions whose operands are places in a warp's register file.
#ifndef ULSC_RUNTIME_SIMULATOR_PTX_PROGRAM_H
#define ULSC_RUNTIME_SIMULATOR_PTX_PROGRAM_H

#include "simulator/ptx/syntax.h"

#include <memory>

namespace ulsc::simulator::ptx {

constexpr uint32_t warpLanes = 32;
/// The address of dynamic shared memory, beyond all static variables (at most 227 KiB and gaps).
constexpr uint64_t dynamicSharedBegin = 0x400000;

class Warp;
struct Instruction;
/// Executes an instruction for the lanes of warp.exec.
using Handler = void (*)(Warp &warp, const Instruction &instruction);

/// A place of 32 lanes: a byte offset in the warp's registers, or, with the highest bit, in the
/// kernel's constants. A predicate is a word with a bit per lane.
using Place = uint32_t;
constexpr Place constantPlace = 0x80000000u;
constexpr Place noPlace = 0x7fffffffu;

enum class Control : uint8_t {
  Straight, ///< Only `run`.
  Branch,
  IndexedBranch,
  Call,
  Return,
  Exit,
  Barrier,     ///< Waits for the block.
  Convergence, ///< `run` once all lanes that its mask names are here.
};

enum class BarrierMode : uint8_t { Wait, Arrive, CountTrue, AllTrue, AnyTrue };

struct Instruction {
  Handler run = nullptr;
  Place result = noPlace, second = noPlace; ///< `second`: the q of `p|q`.
  Place source[4] = {noPlace, noPlace, noPlace, noPlace};
  Place guard = noPlace;
  Control control = Control::Straight;
  bool isGuardNegated = false;
  Space space = Space::Generic;
  uint8_t elements = 1;     ///< Of a vector access.
  uint8_t elementBytes = 0; ///< In memory.
  uint8_t mode = 0;         ///< What the handler's opcode needs: rounding, comparison, variant.
  bool flushes = false, saturates = false, isStrong = false, isNegated = false;
  uint32_t target = 0; ///< Of a branch; first argument copy of a call; index of a table.
  uint32_t count = 0;
  int64_t offset = 0; ///< Of an address.
  Place vector[8] = {noPlace, noPlace, noPlace, noPlace, noPlace, noPlace, noPlace, noPlace};
  uint32_t line = 0;
};

/// A variable of a block or thread, at its place in that memory.
struct PlacedVariable {
  std::string name;
  uint64_t begin = 0, bytes = 0;
};

struct Parameter {
  uint32_t offset = 0, bytes = 0;
};

/// What a special register is filled with when a warp starts.
enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NWarpId,
  LaneMaskEq,
  LaneMaskLe,
  LaneMaskLt,
  LaneMaskGe,
  LaneMaskGt,
  DynamicShared,
  TotalShared,
  GridId,
  SmId,
  NSmId,
  Zero,
};

struct Kernel {
  std::string name;
  std::vector<Instruction> code;
  std::shared_ptr<const std::vector<std::string>> lines; ///< The PTX text, for reports.
  uint32_t entry = 0;
  uint32_t registerBytes = 0;
  std::vector<uint8_t> constants; ///< 32 lanes each.
  struct SpecialPlace {
    Special special;
    uint32_t bytes;
    Place place;
  };
  std::vector<SpecialPlace> specials;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0;
  std::vector<PlacedVariable> shared; ///< The last one is the dynamic one if hasDynamicShared.
  bool hasDynamicShared = false;
  uint64_t dynamicSharedAlign = 4;
  uint32_t sharedBytes = 0;  ///< As ptxas counts them: without the gaps of the simulated layout.
  uint64_t sharedExtent = 0; ///< Of the simulated layout, without dynamic memory.
  /// The narrowest accesses to global and to shared memory. Accesses are aligned to their width, so
  /// that no two of them share only a part of so many bytes.
  uint32_t narrowestGlobal = 32, narrowestShared = 32;
  std::vector<PlacedVariable> local;
  uint32_t localBytes = 0;
  std::vector<std::vector<uint32_t>> branchTables;
  struct Copy {
    uint32_t from, to, bytes;
  };
  std::vector<Copy> copies; ///< Arguments and results of calls, in local memory.
  uint32_t maximumThreads[3] = {0, 0, 0}, requiredThreads[3] = {0, 0, 0};
  uint32_t registers = 0; ///< 32-bit registers, a rough figure for cuFuncGetAttribute.
};

struct LoadedModule {
  LoadedModule() = default;
  LoadedModule(const LoadedModule &) = delete;
  LoadedModule &operator=(const LoadedModule &) = delete;
  ~LoadedModule(); ///< Frees the variables. The caller has synchronised the device.

  int target = 0;
  bool isArchitectureSpecific = false;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
  struct Global {
    void *address;
    uint64_t bytes;
    bool isConstant;
  };
  std::map<std::string, Global> globals;
};

/// Parses, places the variables in device memory and decodes. Throws PtxError.
std::unique_ptr<LoadedModule> load(const std::string &ptx);

// Generic addresses of what is not in device memory: no valid x86-64 address begins with these.
constexpr uint64_t sharedWindow = 0xa001000000000000u, localWindow = 0xa002000000000000u,
                   parameterWindow = 0xa003000000000000u, windowMask = 0xffff000000000000u;

} // namespace ulsc::simulator::ptx

#endif // ULSC_RUNTIME_SIMULATOR_PTX_PROGRAM_H

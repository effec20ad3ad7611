//===- MemoryMesh.h - Meshes as the state's formula knows them ---------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_MEMORYMESH_H
#define ULSC_TOOLS_ULSC_MEMORYMESH_H

#include "ulsc/Memory/StateBytes.h"
#include "ulsc/Recipe.h"

namespace ulsc::tool {

/// The most devices of a mesh, as of one that is compiled for.
constexpr int64_t kMostDevices = int64_t(1) << 24;

/// Which axes divide the state of a strategy, and over how many ranks.
struct MemoryMesh {
  /// Outermost to innermost.
  std::vector<std::pair<std::string, int64_t>> axes;
  /// Those over which the batch is distributed.
  AxisNames dataAxes;

  bool has(llvm::StringRef axis) const;
  /// 1 where there is no such axis.
  int64_t getSize(llvm::StringRef axis) const;
  int64_t getDevices() const;
  /// `dp_replicate` and `dp_shard`, which strategy hsdp needs.
  bool isHybrid() const { return has("dp_replicate") || has("dp_shard"); }
  int64_t getDataRanks() const;
  int64_t getShards(const memory::StateStrategy &strategy) const;
  /// The axes over which a strategy divides state, with their sizes.
  std::vector<std::pair<std::string, int64_t>>
  getStorageAxes(const memory::StateStrategy &strategy) const;
  /// `dp=64,tp=8`, as an option takes it.
  std::string describe() const;
  /// The same ranks with one data axis `dp`, which every compiler knows.
  std::string describeFlat() const;
};

/// The mesh of a compilation.
MemoryMesh makeMemoryMesh(const Recipe &recipe);

/// Reads `dp_replicate=2,dp_shard=8,tp=4` for the formula; with an empty text `dp` has all
/// `devices` (1 where that is 0). With `isOpen` the ranks that divide the state are looked for:
/// `dp` and `dp_shard` may be absent or `*`. Reports what is wrong.
std::optional<MemoryMesh> parseMemoryMesh(llvm::StringRef text, int64_t devices, bool isOpen);

} // namespace ulsc::tool

#endif // ULSC_TOOLS_ULSC_MEMORYMESH_H

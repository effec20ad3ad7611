//===- ModelState.h - Memory of a model's ranks, by row ----------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// What `ulsc memory` tells of a rank, in bytes, each row divided by the mesh axes over which its
// tensors are sharded: of a compiled program exactly, of the state alone by the formula.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_MEMORY_MODELSTATE_H
#define ULSC_MEMORY_MODELSTATE_H

#include "ulsc/Memory/StateBytes.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace ulsc::memory {

/// The bytes of a row in tensors that lie alike.
struct RowPart {
  /// Mesh axes that shard them, in the mesh's order; none: whole on every rank.
  std::vector<std::string> axes;
  int64_t bytes = 0;
  /// Of values that share bytes by their lifetimes, wherever they lie.
  bool isTransient = false;
};

struct Row {
  std::string name;
  int64_t bytes = 0;
  /// Add up to `bytes`; absent where all of them are transient.
  std::vector<RowPart> parts = {};

  /// Adds to the part over `axes`, and to the row. Parts stay ordered by bytes, largest first.
  void add(llvm::ArrayRef<std::string> axes, int64_t value);
  /// Bytes of the parts that last between steps.
  int64_t getLasting() const;
};

/// Ranks that are alike.
struct RankMemory {
  int64_t firstRank = 0, lastRank = 0;
  /// Of the pipeline; -1 where there are none.
  int64_t stage = -1;
  std::vector<Row> rows;
  int64_t total = 0;
  /// Bytes of the rows above that the last rank holds beyond the logical tensors: padding comes
  /// last along each axis.
  int64_t padding = 0;

  const Row &getLargest() const;
};

/// A parameter as a rank would hold it if nothing but its own sharding divided it.
struct ModelTensor {
  /// A rank's block, and what of it is logical on the last rank.
  llvm::SmallVector<int64_t> block, logical;
  std::vector<std::string> axes;
  bool isTrained = true;

  int64_t getElements() const;
  /// Elements of the last of `shards` equal parts of the flattened block that are no logical ones.
  int64_t countPadding(int64_t shards) const;
};

/// A rank's part of `parameters` elements in one dimension over the `ranks` of `axes`.
ModelTensor makeTensor(int64_t parameters, int64_t ranks, llvm::ArrayRef<std::string> axes);

/// The parameters of an annotated module (from stage `graph` on), not split by flat axes; those
/// that a stage of the pipeline holds, of a staged one all with -1.
std::vector<ModelTensor> collectTensors(mlir::ModuleOp module, int64_t stage = -1);

/// For the formula.
llvm::SmallVector<StateTensor> getStateTensors(llvm::ArrayRef<ModelTensor> tensors);

/// The state of each of `devices` ranks by the formula: rows `parameters`, `gradients`, `master`
/// (where there is one) and `moments`. `storageAxes` with their sizes are those over which the
/// stage divides; where one of them cuts a tensor already, it does not divide it again.
RankMemory computeStateMemory(llvm::ArrayRef<ModelTensor> tensors, const StateDtypes &dtypes,
                              ZeroStage stage,
                              llvm::ArrayRef<std::pair<std::string, int64_t>> storageAxes,
                              int64_t devices);

/// The planned arena of each distinct rank of a module of the stage `exec`: rows `parameters`,
/// `gradients`, `optimizer`, `activations`, `temporaries`, `communication`, `workspaces`, as
/// docs/report.md defines them. Empty before that stage.
std::vector<RankMemory> readPlan(mlir::ModuleOp module);

/// The attentions of `@forward`, alike ones together (a module with global shapes).
llvm::SmallVector<CacheLayers> collectCacheLayers(mlir::ModuleOp module);

} // namespace ulsc::memory

#endif // ULSC_MEMORY_MODELSTATE_H

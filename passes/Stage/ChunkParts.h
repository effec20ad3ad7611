//===- ChunkParts.h - Which part of a microbatch belongs to which chunk -----------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_STAGE_CHUNKPARTS_H
#define ULSC_PASSES_STAGE_CHUNKPARTS_H

#include "dialects/Uls/Uls.h"
#include "ulsc/PipelineTransfers.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

#include <map>

namespace ulsc::stage {

/// The mesh axis along which ranks run different chunks.
constexpr llvm::StringLiteral kPipelineAxis = "pp";

/// The size of the axis `pp` of the module's mesh; 1 without one.
int64_t getPipelineRanks(mlir::ModuleOp module);

/// What a microbatch does, by chunk and direction. A call belongs to its chunk, anything else to
/// the last work that gives one of its operands; what depends on no call (a slice of the inputs,
/// positions) to none: it is done wherever it is needed.
class ChunkParts {
public:
  using Key = std::pair<pipeline::Work, int64_t>;

  explicit ChunkParts(uls::MicrobatchesOp loop) : loop(loop), body(loop.getBody().front()) {}

  /// Fails after an error where something can't be told apart.
  mlir::LogicalResult run();

  /// The ops of a chunk's forward or backward (as `BackwardInput`), in order.
  llvm::ArrayRef<mlir::Operation *> getOps(pipeline::Work work, int64_t chunk) const;
  /// The number of the carried value that `value` continues.
  std::optional<unsigned> getCarried(mlir::Value value) const;
  /// Whether a value only goes into sums over microbatches: a gradient of weights, which nobody
  /// waits for.
  bool isOfWeights(mlir::Value value) const;
  /// What ranks have to send each other: a value and the flow that it is.
  std::vector<std::pair<mlir::Value, pipeline::Flow>>
  getFlows(llvm::ArrayRef<int64_t> rankOf) const;

private:
  mlir::LogicalResult place(mlir::Operation *op);
  void noteCarried(mlir::Operation *op);

  uls::MicrobatchesOp loop;
  mlir::Block &body;
  llvm::DenseMap<mlir::Operation *, Key> owners;
  std::map<Key, std::vector<mlir::Operation *>> parts;
  llvm::DenseMap<mlir::Value, unsigned> carried;
  llvm::DenseMap<mlir::Value, int64_t> chunkOfResiduals;
};

} // namespace ulsc::stage

#endif // ULSC_PASSES_STAGE_CHUNKPARTS_H

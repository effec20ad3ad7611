//===- RankStep.h - Writes the step of one rank of the pipeline -------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_STAGE_RANKSTEP_H
#define ULSC_PASSES_STAGE_RANKSTEP_H

#include "passes/Stage/ChunkParts.h"

#include "dialects/Dist/Dist.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace ulsc::stage {

/// What all ranks' steps are made from.
struct StepSource {
  uls::StepOp step;
  uls::MicrobatchesOp loop;
  const ChunkParts &parts;
  const pipeline::Schedule &schedule;
  llvm::ArrayRef<std::pair<mlir::Value, pipeline::Flow>> flows;
  llvm::StringRef mesh;
  /// Axes of the mesh but `pp`.
  mlir::ArrayAttr otherAxes;
};

/// Writes one rank's step beside the source, event by event. Ops that depend on no chunk are copied
/// where they are first needed.
class RankStep {
public:
  RankStep(StepSource &source, int64_t rank);

  /// Everything before the loop over microbatches that others see.
  void open();
  void add(const pipeline::Event &event);
  /// Sums what several ranks carry: `owners[i]` are the ranks of carried value i.
  void exchangeCarried(llvm::ArrayRef<llvm::SmallVector<int64_t, 2>> owners);
  /// Norm, update and reports, of the gradients that this rank has.
  void close(llvm::ArrayRef<llvm::SmallVector<int64_t, 2>> owners);

  uls::StepOp getStep() { return step; }
  /// The parameters whose values this rank's chunks take.
  const llvm::SetVector<mlir::StringAttr> &getParameters() const { return parameters; }

private:
  using Key = std::pair<mlir::Value, int64_t>;
  using Handle = std::pair<int64_t, int64_t>;

  mlir::Value get(mlir::Value value, int64_t microbatch);
  mlir::Value getOuter(mlir::Value value);
  mlir::Operation *copyOuter(mlir::Operation *op);
  void compute(const pipeline::Entry &entry);
  void computeHalf(uls::BackwardOp op, const pipeline::Entry &entry, bool isWeight);
  mlir::Operation *copy(mlir::Operation *op, int64_t microbatch);
  void set(mlir::Value value, int64_t microbatch, mlir::Value made);
  dist::StartOp startSend(mlir::Value source, mlir::Value value, int64_t peer,
                          mlir::Attribute sharding);
  dist::StartOp startReceive(mlir::Value source, int64_t peer, mlir::Attribute sharding);
  mlir::Value wait(dist::StartOp start, mlir::Attribute sharding);
  void note(mlir::Operation *op, int64_t chunk, int64_t microbatch);
  mlir::ArrayAttr getPipelineAxes();
  void addNorm(uls::GlobalNormOp norm, llvm::ArrayRef<llvm::SmallVector<int64_t, 2>> owners);
  void addUpdate(uls::UpdateOp update, llvm::ArrayRef<llvm::SmallVector<int64_t, 2>> owners);

  StepSource &source;
  int64_t rank;
  mlir::OpBuilder builder;
  uls::StepOp step;
  /// Values outside the loop, and, by microbatch, inside it.
  mlir::IRMapping outer;
  llvm::DenseMap<Key, mlir::Value> inner;
  /// The sums so far; none of what this rank adds nothing to.
  llvm::SmallVector<mlir::Value> carried;
  llvm::DenseMap<Handle, dist::StartOp> handles;
  /// What the first halves of backward calls left for the second, by microbatch.
  llvm::DenseMap<std::pair<mlir::Operation *, int64_t>, mlir::Value> left;
  llvm::SetVector<mlir::StringAttr> parameters;
};

} // namespace ulsc::stage

#endif // ULSC_PASSES_STAGE_RANKSTEP_H

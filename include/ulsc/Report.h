//===- Report.h - What a compilation tells about its program ----------------------- -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_REPORT_H
#define ULSC_REPORT_H

#include "dialects/Dist/Dist.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace ulsc::report {

/// Number of elements of all parameters, each once, without padding.
int64_t countParameters(mlir::ModuleOp module);

/// Floating-point operations of a training step, of a module with global shapes (stages `graph` to
/// `sharded`): `6 · parameters · tokens`, plus for each attention `12 · rows · seq · keys · heads ·
/// head size` (two products forward, four backward, two operations each), half of that where it is
/// causal. Recomputation is not counted.
double computeFlopsPerStep(mlir::ModuleOp module, int64_t microbatches);

/// A kind of call of a collective: all calls alike in everything that is told.
struct CollectiveRow {
  std::string kind;
  llvm::SmallVector<std::string> axes;
  /// By `getPhase`.
  std::string phase;
  int64_t countPerStep = 0;
  /// Of one call: the larger of one rank's input and output.
  int64_t bytes = 0;
  /// Of one call: what a rank's link carries at least, by the factors of nccl-tests.
  double wireBytes = 0;
  /// Of one call: how long it takes when all its ranks start it at once, by the cluster
  /// description.
  double predictedUs = 0;
  std::string dtype, source, cause;
  /// The position along `pp` of the ranks that call it; -1 where all do.
  int64_t stage = -1;
};

/// What a collective is part of, in the report as in the manifest: `forward` and `backward` are the
/// parts of blocks and what moves for them in the step (parameters, gradients), `recompute` is the
/// forward part of a block that is run again for its backward part, `step` are the numbers about
/// the whole step: the count of targets, the loss, the norm, stop flags. Works from the stage
/// `local` until buffers are assigned.
llvm::StringRef getPhase(dist::CollectiveOpInterface collective);

/// What the report and the manifest tell of one collective alike: all but count and stage. Works
/// from the stage `local` until buffers are assigned.
CollectiveRow describeCollective(dist::CollectiveOpInterface collective);

/// Every collective of a step, in the order of the program. Works from the stage `local` on.
llvm::SmallVector<CollectiveRow> collectCollectives(mlir::ModuleOp module);

/// Bytes on the wire of one call with `bytes`, over `ranks` ranks.
double computeWireBytes(llvm::StringRef kind, int64_t bytes, int64_t ranks);

/// The table that `ulsc explain` prints.
void printCollectives(llvm::raw_ostream &stream, llvm::ArrayRef<CollectiveRow> rows);

/// The rows of `memory` of a module of the stage `exec`, one for each program that ranks run: bytes
/// of a rank by category, and the peak; with pipeline stages, which one.
llvm::json::Array makeMemory(mlir::ModuleOp module);

/// The object `recompute` of a module of the stage `scheduled`: the policy, what forward calls
/// leave for backward calls, what is computed again.
llvm::json::Object makeRecompute(mlir::ModuleOp module);

/// The list `chunks` of `pipeline`, of a module whose stages are built: the stage and the blocks of
/// each chunk. Empty without stages.
llvm::json::Array makeChunks(mlir::ModuleOp module);

/// A line for each stage with the blocks that it holds, layers as ranges: `stage 0  embed,
/// layer.0-2`. Nothing without stages.
void printChunks(llvm::raw_ostream &stream, mlir::ModuleOp module);

/// The rows of `collectives`.
llvm::json::Array makeCollectives(llvm::ArrayRef<CollectiveRow> rows);

/// What moves in a step because state is split (`uls.storage`), of a module of the stage
/// `scheduled`: the axes, the elements gathered and scattered per step (of whole parameters), and
/// each parameter that deviates from ZeRO's formula with its reason; and the patterns of units.
/// Empty where nothing is split and there are no patterns.
llvm::json::Object makeStorage(mlir::ModuleOp module);

/// Of a module from the stage `exec` on, for a device: who computes its attentions, a list of
/// dictionaries with the keys of the report's rows.
constexpr llvm::StringLiteral kAttentionAttrName = "exec.attention_choices";

/// The rows of `attention`: for each distinct one who computes it, and why not a library that might
/// have. Nothing where the target has no choice.
std::optional<llvm::json::Array> makeAttention(mlir::ModuleOp module);

/// What the document of `--report` says of an annotated module: schema, model, mesh, batch.
llvm::json::Object makeReport(mlir::ModuleOp module);

} // namespace ulsc::report

#endif // ULSC_REPORT_H

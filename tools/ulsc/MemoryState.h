//===- MemoryState.h - The state by formula, as ulsc memory tells it ---------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_MEMORYSTATE_H
#define ULSC_TOOLS_ULSC_MEMORYSTATE_H

#include "tools/ulsc/MemoryOutput.h"
#include "tools/ulsc/MemoryRequest.h"

namespace ulsc::tool {

/// Whose state it is: a model's, or of a number of parameters.
struct StateSubject {
  /// Empty without a model.
  std::string name;
  /// Of the whole model.
  int64_t parameters = 0;
  std::vector<memory::ModelTensor> tensors;
  MemoryMesh mesh;
};

/// The strategy that holds: that of --strategy, or ddp.
const memory::StateStrategy &getStrategy(const MemoryRequest &request);

/// The state of a rank under `strategy`.
memory::RankMemory computeState(const StateSubject &subject, const memory::StateDtypes &dtypes,
                                const memory::StateStrategy &strategy);

/// Model, mesh, dtypes and bytes per parameter.
void printSubject(MemoryOutput &output, const MemoryRequest &request, const StateSubject &subject);

/// `zero1+tp`: a strategy of data parallelism and others beside it, as --strategy takes them.
std::string joinStrategies(const memory::StateStrategy &strategy,
                           llvm::ArrayRef<std::string> others);

/// What a rank takes with another strategy of data parallelism, and that strategy in full.
struct Remedy {
  std::string strategy;
  int64_t total = 0;
};
using MeasureStrategy =
    llvm::function_ref<std::optional<Remedy>(const memory::StateStrategy &strategy)>;

/// Whether `rank` fits --device-memory, by how much, what to blame, and what of the stronger
/// strategies, as `measure` tells them, helps. `microBatch` is that of a plan, 0 by formula.
/// Nothing without --device-memory.
void printFit(MemoryOutput &output, const MemoryRequest &request, const StateSubject &subject,
              const memory::RankMemory &rank, int64_t microBatch, MeasureStrategy measure);

/// The answer by formula alone: of one strategy, a table of all, of dtypes or of the fewest
/// devices.
void printState(MemoryOutput &output, const MemoryRequest &request, const StateSubject &subject);

} // namespace ulsc::tool

#endif // ULSC_TOOLS_ULSC_MEMORYSTATE_H

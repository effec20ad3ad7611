//===- Program.h - What ranks do in a step, priced -------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// The steps of all pipeline stages as flat lists: work with its predicted time, communication that
/// starts and is waited for, values that take memory. Loops over microbatches are followed, block
/// calls are entered. One rank stands for all of its stage, as they run one program; without stages
/// there is one rank.
///
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TIMELINE_PROGRAM_H
#define ULSC_TIMELINE_PROGRAM_H

#include "ulsc/Cost/Cluster.h"

#include "mlir/IR/BuiltinOps.h"

#include <array>
#include <string>
#include <vector>

namespace ulsc::timeline {

/// What a rank does in a span of time. `Step` is what belongs to no block: sums of gradients, the
/// norm.
enum class Kind : uint8_t {
  Forward,
  Backward,
  BackwardInput,
  BackwardWeight,
  Recompute,
  Update,
  Step,
  Send,
  Receive,
  Collective
};
constexpr unsigned kNumKinds = 10;

/// "forward", "backward_input", …, as the Chrome trace and the page spell them.
llvm::StringRef getKindName(Kind kind);

/// What `docs/report.md` divides a rank's memory into.
enum class Category : uint8_t {
  Parameters,
  Optimizer,
  Gradients,
  Activations,
  Communication,
  Temporaries
};
constexpr unsigned kNumCategories = 6;
using Bytes = std::array<int64_t, kNumCategories>;

llvm::StringRef getCategoryName(Category category);

/// Tells what a span is. Texts are numbers in `Program::texts`, of which 0 is empty.
struct Label {
  Kind kind = Kind::Step;
  /// The block, the step's ops or the kind of collective.
  unsigned name = 0;
  /// The module of the source model, and why a collective is there.
  unsigned source = 0, cause = 0;
  /// Of a pipeline's chunk and of a microbatch; -1 where it is of none.
  int64_t chunk = -1, microbatch = -1;
  /// What a rank sends, receives or reduces.
  int64_t bytes = 0;
};

struct Action {
  /// Work of a block happens between the begin and the end of its call.
  enum class Type : uint8_t { Compute, BeginCall, EndCall, Start, Wait };
  Type type = Type::Compute;
  /// Of `Compute`.
  double us = 0;
  /// Of a call and of `Compute` outside of one.
  Label label = {};
  /// Of `Start` and `Wait`: a number in `RankProgram::communications`.
  size_t communication = 0;
};

/// A send, a receive or a collective, from its start to the end of what travels. Those of one lane
/// travel one after another.
struct Communication {
  Label label;
  double us = 0;
  /// A number in `RankProgram::lanes`.
  unsigned lane = 0;
  /// Of sends and receives: the number of the other rank.
  int64_t peer = -1;
  /// Whether all ranks of the program take part, not only those of one stage.
  bool joinsStages = false;
  /// The op it is of, in the module that was read; one of a block is that of all calls of the
  /// block.
  mlir::Operation *op = nullptr;
};

/// A value: its bytes are taken from the beginning of one action to the end of another.
struct Allocation {
  Category category = Category::Temporaries;
  int64_t bytes = 0;
  size_t first = 0, last = 0;
};

struct RankProgram {
  /// -1 without stages.
  int64_t stage = -1;
  /// Communicators, and directions of messages: "dp", "to stage 1".
  std::vector<std::string> lanes;
  std::vector<Action> actions;
  std::vector<Communication> communications;
  std::vector<Allocation> allocations;
  /// What lasts from step to step.
  Bytes persistent = {};
};

struct Program {
  std::vector<RankProgram> ranks;
  std::vector<std::string> texts = {""};
};

/// Reads a module of the stage `scheduled`. Fails after an error where it is none.
mlir::FailureOr<Program> readProgram(mlir::ModuleOp module, const cost::Cluster &cluster);

} // namespace ulsc::timeline

#endif // ULSC_TIMELINE_PROGRAM_H

//===- ChooseAttention.cpp - Gives attention to a library -------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/Passes.h"
#include "passes/Lower/PositionSources.h"
#include "ulsc/Report.h"
#include "ulsc/Support/Nearest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

namespace ulsc {
#define GEN_PASS_DEF_CHOOSEATTENTIONPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// What the forward and backward kernels of all architectures take.
static constexpr int64_t kLargestHead = 128, kHeadMultiple = 8;

namespace {
/// Why the library can't compute an attention, and which option would change that; none may.
/// Of what users expect no remark is made.
struct Refusal {
  std::string reason;
  StringRef option = {};
  bool isExpected = false;
};

/// All attentions of one name: forward and gradient, of all variants of its block.
struct Choice {
  SmallVector<Operation *> ops;
  std::optional<Refusal> refusal;
};
} // namespace

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// The library masks by indices, so that positions have to be those.
template <typename Op>
static std::optional<Refusal> findPositionRefusal(Op op, const PositionSources &sources) {
  int64_t queries = cast<RankedTensorType>(op.getQuery().getType()).getDimSize(1),
          keys = cast<RankedTensorType>(op.getKey().getType()).getDimSize(1);
  if (queries != keys)
    return Refusal{"it is causal with " + std::to_string(queries) + " queries and " +
                   std::to_string(keys) + " keys; cudnn takes as many of both"};
  for (auto [which, positions] : {std::pair("queries", Value(op.getQueryPositions())),
                                  std::pair("keys", Value(op.getKeyPositions()))})
    if (std::optional<std::string> problem = sources.findProblem(positions))
      return Refusal{(Twine("positions of its ") + which + " " + *problem +
                      "; cudnn takes those that count from 0 along the sequence")
                         .str()};
  return std::nullopt;
}

template <typename Op>
static std::optional<Refusal> findRefusal(Op op, const PositionSources &sources) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  Type element = query.getElementType();
  if (!element.isBF16() && !element.isF16())
    return Refusal{"its elements are " + print(element) + "; cudnn takes bf16 and f16",
                   "--dtype bf16", /*isExpected=*/element.isF32()};
  if (op.getDropoutKey())
    return Refusal{"it drops probabilities; cudnn takes attention without dropout, for it draws "
                   "other random numbers",
                   "--dropout off"};
  if (op.getQuerySegments())
    return Refusal{"it has segments; cudnn takes attention without"};
  int64_t size = query.getDimSize(4);
  if (size % kHeadMultiple != 0 || size > kLargestHead)
    return Refusal{"its heads have " + std::to_string(size) +
                   " elements; cudnn takes multiples of " + std::to_string(kHeadMultiple) +
                   " up to " + std::to_string(kLargestHead)};
  return op.getCausal() ? findPositionRefusal(op, sources) : std::nullopt;
}

namespace {
struct ChooseAttention : ulsc::impl::ChooseAttentionPassBase<ChooseAttention> {
  using ChooseAttentionPassBase::ChooseAttentionPassBase;

  void runOnOperation() override {
    StringRef legal[] = {"auto", "own", "cudnn"};
    if (!llvm::is_contained(legal, StringRef(attention))) {
      getOperation().emitError() << "attention is \"" << attention
                                 << "\", expected auto, own or cudnn"
                                 << suggestNearest(attention, legal);
      return signalPassFailure();
    }
    llvm::MapVector<StringAttr, Choice> choices = collect();
    bool isLegal = true;
    SmallVector<Attribute> rows;
    for (auto &[name, choice] : choices) {
      if (attention == "cudnn" && choice.refusal)
        isLegal = refuse(choice);
      rows.push_back(apply(name, choice));
    }
    if (!isLegal)
      return signalPassFailure();
    getOperation()->setAttr(report::kAttentionAttrName, ArrayAttr::get(&getContext(), rows));
  }

  llvm::MapVector<StringAttr, Choice> collect() {
    llvm::MapVector<StringAttr, Choice> choices;
    PositionSources sources(getOperation());
    auto add = [&](auto op) {
      auto name = StringAttr::get(&getContext(), dist::describeLocation(op.getLoc()));
      Choice &choice = choices[name];
      choice.ops.push_back(op);
      if (!choice.refusal && attention != "own")
        choice.refusal = findRefusal(op, sources);
    };
    for (Operation &function : getOperation().getOps())
      if (sources.isRun(&function))
        function.walk([&](Operation *op) {
          if (auto forward = dyn_cast<uls::AttentionOp>(op))
            add(forward);
          else if (auto gradient = dyn_cast<uls::AttentionGradOp>(op))
            add(gradient);
        });
    return choices;
  }

  static bool refuse(const Choice &choice) {
    InFlightDiagnostic error = choice.ops.front()->emitError("cudnn can't compute this attention: ")
                               << choice.refusal->reason << "; use ";
    if (!choice.refusal->option.empty())
      error << choice.refusal->option << ", or ";
    error << "--attention auto";
    return false;
  }

  /// Marks the ops; gives the report's row.
  Attribute apply(StringAttr name, const Choice &choice) {
    Builder builder(&getContext());
    bool isGiven = attention != "own" && !choice.refusal;
    NamedAttrList row;
    row.set("source", name);
    row.set("library", builder.getStringAttr(isGiven ? "cudnn" : "own"));
    if (choice.refusal) {
      row.set("reason", builder.getStringAttr(choice.refusal->reason));
      if (attention == "auto" && !choice.refusal->isExpected)
        choice.ops.front()->emitRemark("attention is computed by kernels of its own: ")
            << choice.refusal->reason;
    }
    auto library = exec::AttentionLibraryAttr::get(&getContext(), exec::AttentionLibrary::Cudnn);
    if (isGiven)
      for (Operation *op : choice.ops)
        op->setAttr(exec::kLibraryAttrName, library);
    return row.getDictionary(&getContext());
  }
};
} // namespace

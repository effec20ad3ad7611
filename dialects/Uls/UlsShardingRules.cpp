//===- UlsShardingRules.cpp - Factors of the uls ops
//---------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;
using dist::ShardingRule;

static int64_t rankOf(Value value) {
  return llvm::cast<RankedTensorType>(value.getType()).getRank();
}
static RankedTensorType typeOf(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}

/// "[a,b,c]" of the letters of one einsum operand.
static std::string bracketed(StringRef letters) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleave(letters, os, [&](char letter) { os << letter; }, ",");
  return text + "]";
}

static std::string tensor(ArrayRef<std::string> names) {
  return "[" + llvm::join(names, ",") + "]";
}

//===---------------------------------------------------------------------------------------===//
// Elementwise
//===---------------------------------------------------------------------------------------===//

/// Same factors on every operand of the result's rank; `linear` and more follow as text.
static ShardingRule elementwiseRule(Operation *op, StringRef clauses) {
  SmallVector<std::string> operands;
  for (Value operand : op->getOperands())
    operands.push_back(
        llvm::isa<RankedTensorType>(operand.getType()) && rankOf(operand) > 0 ? "[...]" : "[]");
  std::string result = rankOf(op->getResult(0)) > 0 ? "[...]" : "[]";
  return ShardingRule::get(llvm::join(operands, ",") + "->" + result + " " + clauses.str(), op);
}

#define ULSC_ELEMENTWISE_RULE(Op, clauses)                                                         \
  ShardingRule Op::getShardingRule() { return elementwiseRule(*this, clauses); }
ULSC_ELEMENTWISE_RULE(NegOp, "linear={0}")
ULSC_ELEMENTWISE_RULE(ExpOp, "")
ULSC_ELEMENTWISE_RULE(LogOp, "")
ULSC_ELEMENTWISE_RULE(SqrtOp, "")
ULSC_ELEMENTWISE_RULE(RsqrtOp, "")
ULSC_ELEMENTWISE_RULE(TanhOp, "")
ULSC_ELEMENTWISE_RULE(SiluOp, "")
ULSC_ELEMENTWISE_RULE(GeluOp, "")
ULSC_ELEMENTWISE_RULE(GeluGradOp, "linear={1}")
ULSC_ELEMENTWISE_RULE(SiluGradOp, "linear={1}")
ULSC_ELEMENTWISE_RULE(MulOp, "linear={0,1}")
ULSC_ELEMENTWISE_RULE(DivOp, "linear={0}")
ULSC_ELEMENTWISE_RULE(MaximumOp, "")
ULSC_ELEMENTWISE_RULE(MinimumOp, "")
ULSC_ELEMENTWISE_RULE(MaskOp, "linear={2}")
ULSC_ELEMENTWISE_RULE(SelectOp, "")
ULSC_ELEMENTWISE_RULE(ConvertOp, "linear={0}")
ULSC_ELEMENTWISE_RULE(DropoutOp, "linear={0}")
ULSC_ELEMENTWISE_RULE(AccumulateOp, "linear={0,1} joint")
#undef ULSC_ELEMENTWISE_RULE

/// Adding a scalar to summands would add it once per rank; only operands of one shape are jointly
/// linear.
static StringRef additionClauses(Value lhs, Value rhs) {
  return rankOf(lhs) == rankOf(rhs) ? "linear={0,1} joint" : "";
}
ShardingRule AddOp::getShardingRule() {
  return elementwiseRule(*this, additionClauses(getLhs(), getRhs()));
}
ShardingRule SubOp::getShardingRule() {
  return elementwiseRule(*this, additionClauses(getLhs(), getRhs()));
}

//===---------------------------------------------------------------------------------------===//
// Contractions and changes of shape
//===---------------------------------------------------------------------------------------===//

ShardingRule EinsumOp::getShardingRule() {
  SmallVector<std::string> summed;
  for (char letter : getLhsLetters())
    if (!getResultLetters().contains(letter))
      summed.emplace_back(1, letter);
  return ShardingRule::get(bracketed(getLhsLetters()) + "," + bracketed(getRhsLetters()) + "->" +
                               bracketed(getResultLetters()) + " reduction={" +
                               llvm::join(summed, ",") + "} linear={0,1}",
                           *this);
}

/// Names "d0", "d1", … of the dimensions of a tensor.
static SmallVector<std::string> dimNames(int64_t rank) {
  SmallVector<std::string> names;
  for (int64_t i = 0; i < rank; ++i)
    names.push_back("d" + std::to_string(i));
  return names;
}

ShardingRule ReduceOp::getShardingRule() {
  SmallVector<std::string> input = dimNames(rankOf(getInput())), output, reduced;
  for (auto [i, name] : llvm::enumerate(input))
    (llvm::is_contained(getDims(), int64_t(i)) ? reduced : output).push_back(name);
  bool isSum = getKind() == ReduceKind::Sum;
  return ShardingRule::get(tensor(input) + "->" + tensor(output) +
                               (isSum ? " reduction={" : " max={") + llvm::join(reduced, ",") +
                               (isSum ? "} linear={0}" : "}"),
                           *this);
}

ShardingRule ReduceMaxGradOp::getShardingRule() {
  SmallVector<std::string> input = dimNames(rankOf(getInput())), kept, reduced;
  for (auto [i, name] : llvm::enumerate(input))
    (llvm::is_contained(getDims(), int64_t(i)) ? reduced : kept).push_back(name);
  return ShardingRule::get(tensor(input) + "," + tensor(kept) + "," + tensor(kept) + "->" +
                               tensor(input) + " replicated={" + llvm::join(reduced, ",") +
                               "} linear={2}",
                           *this);
}

ShardingRule BroadcastOp::getShardingRule() {
  SmallVector<std::string> output = dimNames(rankOf(getOutput())), input;
  for (int64_t dim : getDims())
    input.push_back(output[dim]);
  return ShardingRule::get(tensor(input) + "->" + tensor(output) + " linear={0}", *this);
}

ShardingRule TransposeOp::getShardingRule() {
  SmallVector<std::string> input = dimNames(rankOf(getInput())), output;
  for (int64_t dim : getPermutation())
    output.push_back(input[dim]);
  return ShardingRule::get(tensor(input) + "->" + tensor(output) + " linear={0}", *this);
}

/// Walks both shapes from the major side and gives each group of dimensions of equal product common
/// factors: the finer side names them. Groups that interleave (6x4 to 4x6) share none and stay
/// whole.
ShardingRule ReshapeOp::getShardingRule() {
  ArrayRef<int64_t> from = typeOf(getInput()).getShape(), to = typeOf(getOutput()).getShape();
  SmallVector<std::string> input(from.size(), "_"), output(to.size(), "_"), sizes;
  size_t i = 0, j = 0;
  unsigned next = 0;
  while (i < from.size() && j < to.size()) {
    size_t iBegin = i, jBegin = j;
    int64_t left = from[i++], right = to[j++];
    while (left != right && (left < right ? i < from.size() : j < to.size()))
      left < right ? left *= from[i++] : right *= to[j++];
    if (left != right || (i - iBegin > 1 && j - jBegin > 1))
      continue;
    bool inputIsFine = i - iBegin > 1;
    ArrayRef<int64_t> fine =
        inputIsFine ? from.slice(iBegin, i - iBegin) : to.slice(jBegin, j - jBegin);
    SmallVector<std::string> names;
    for (int64_t size : fine) {
      names.push_back("f" + std::to_string(next++));
      sizes.push_back(names.back() + "=" + std::to_string(size));
    }
    std::string coarse = llvm::join(names, "*");
    for (auto [k, name] : llvm::enumerate(names))
      (inputIsFine ? input[iBegin + k] : output[jBegin + k]) = name;
    (inputIsFine ? output[jBegin] : input[iBegin]) = coarse;
  }
  return ShardingRule::get(tensor(input) + "->" + tensor(output) + " sizes={" +
                               llvm::join(sizes, ",") + "} linear={0}",
                           *this);
}

/// All dimensions alike but `dim`, which stays whole.
static ShardingRule allButOne(Operation *op, int64_t dim, StringRef clauses) {
  SmallVector<std::string> names = dimNames(rankOf(op->getResult(0)));
  names[dim] = "_";
  SmallVector<std::string> operands(op->getNumOperands(), tensor(names));
  return ShardingRule::get(llvm::join(operands, ",") + "->" + tensor(names) + " " + clauses.str(),
                           op);
}

ShardingRule SliceOp::getShardingRule() { return allButOne(*this, getDim(), "linear={0}"); }
ShardingRule PadOp::getShardingRule() { return allButOne(*this, getDim(), "linear={0}"); }
ShardingRule ConcatOp::getShardingRule() {
  std::string linear;
  for (unsigned i = 0; i < getInputs().size(); ++i)
    linear += (i ? "," : "") + std::to_string(i);
  return allButOne(*this, getDim(), "linear={" + linear + "} joint");
}
ShardingRule IotaOp::getShardingRule() { return ShardingRule::get("->[...]", *this); }

//===---------------------------------------------------------------------------------------===//
// Model ops
//===---------------------------------------------------------------------------------------===//

#define ULSC_RULE(Op, text)                                                                        \
  ShardingRule Op::getShardingRule() { return ShardingRule::get(text, *this); }
ULSC_RULE(EmbeddingOp, "[...],[v,e]->[...,e] reduction={v} linear={1}")
ULSC_RULE(EmbeddingGradOp, "[...],[...,e]->[v,e] reduction={...} linear={1}")
ULSC_RULE(RmsNormOp, "[...,e],[e]->[...,e],[...] replicated={e}")
ULSC_RULE(RmsNormGradOp,
          "[...,e],[e],[...],[...,e]->[...,e],[e] reduction={...} replicated={e} linear={3}")
ULSC_RULE(LayerNormOp, "[...,e],[e],[e]->[...,e],[...],[...] replicated={e}")
ULSC_RULE(LayerNormGradOp, "[...,e],[e],[...],[...],[...,e]->[...,e],[e],[e] reduction={...} "
                           "replicated={e} linear={4}")
ULSC_RULE(SoftmaxOp, "[...,e]->[...,e] replicated={e}")
ULSC_RULE(SoftmaxGradOp, "[...,e],[...,e]->[...,e] replicated={e} linear={1}")
ULSC_RULE(CrossEntropyOp, "[...,v],[...]->[...],[...] internal={v}")
ULSC_RULE(CrossEntropyGradOp, "[...,v],[...],[...],[...]->[...,v] linear={3}")
ULSC_RULE(LogitsMaxOp, "[...,v]->[...] max={v}")
ULSC_RULE(LogitsSumsOp, "[...,v],[...],[...]->[...],[...] reduction={v}")
ULSC_RULE(LogitsLossOp, "[...],[...],[...],[...]->[...],[...]")
ULSC_RULE(CountValidOp, "[...]->[] reduction={...}")
ULSC_RULE(SumRanksOp, "[...]->[...]")
ULSC_RULE(MicrobatchOp, "[_,...],[]->[...] linear={0}")
#undef ULSC_RULE

ShardingRule RopeOp::getShardingRule() {
  SmallVector<std::string> names = dimNames(rankOf(getInput()));
  return ShardingRule::get(tensor(names) + ",[d0,d1]->" + tensor(names) + " replicated={" +
                               names.back() + "} linear={0}",
                           *this);
}

/// Query, key, value, positions, segments and context, shared by attention and its adjoint.
static std::string attentionOperands(bool segments, bool context) {
  return std::string("[b,s,k,g,d],[b,t,k,d],[b,t,k,d],[b,s],[b,t]") +
         (segments ? ",[b,s],[b,t]" : "") + (context ? ",[]" : "");
}

ShardingRule AttentionOp::getShardingRule() {
  return ShardingRule::get(attentionOperands(bool(getQuerySegments()), bool(getCallContext())) +
                               "->[b,s,k,g,d],[b,s,k,g] replicated={t,d}",
                           *this);
}

ShardingRule AttentionGradOp::getShardingRule() {
  return ShardingRule::get(
      attentionOperands(bool(getQuerySegments()), bool(getCallContext())) +
          ",[b,s,k,g,d],[b,s,k,g],[b,s,k,g,d]->[b,s,k,g,d],[b,t,k,d],[b,t,k,d] "
          "reduction={s,g} replicated={t,d}",
      *this);
}

/// One factor per dimension of each operand, all summed.
static ShardingRule fullReduction(Operation *op, StringRef kind) {
  SmallVector<std::string> operands, factors;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    SmallVector<std::string> names;
    for (int64_t d = 0; d < rankOf(operand); ++d)
      names.push_back("x" + std::to_string(i) + "_" + std::to_string(d));
    operands.push_back(tensor(names));
    llvm::append_range(factors, names);
  }
  return ShardingRule::get(
      llvm::join(operands, ",") + "->[] " + kind.str() + "={" + llvm::join(factors, ",") + "}", op);
}

ShardingRule GlobalNormOp::getShardingRule() { return fullReduction(*this, "internal"); }
ShardingRule SquareSumOp::getShardingRule() { return fullReduction(*this, "reduction"); }

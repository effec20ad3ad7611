//===- RecomputePolicy.cpp - What backward blocks compute again -------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/RecomputePolicy.h"

#include "dialects/Uls/Uls.h"
#include "ulsc/Support/Nearest.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

RecomputeKind ulsc::getRecomputeKind(Operation *op) {
  if (op->getNumRegions() != 0)
    return NeverAgain;
  if (isa<ReshapeOp, TransposeOp, SliceOp, BroadcastOp, IotaOp, ConstantOp, dist::LocalSliceOp>(op))
    return RearrangesOnly;
  if (isa<AttentionOp>(op))
    return Attention;
  if (isa<RmsNormOp, LayerNormOp>(op))
    return Normalization;
  if (isa<dist::AllGatherOp>(op))
    return Gather;
  if (op->hasTrait<CheapToRecompute>())
    return Activation;
  return isPure(op) && !isa<dist::CollectiveOpInterface>(op) ? Heavy : NeverAgain;
}

namespace {
struct KindName {
  StringRef name;
  RecomputeKind kind;
};
} // namespace

static constexpr KindName kKindNames[] = {
    {"attn", Attention}, {"norm", Normalization}, {"act", Activation}, {"gather", Gather}};
static constexpr unsigned kAllKinds =
    RearrangesOnly | Normalization | Activation | Attention | Gather;

/// Of any model, to keep numbers in their type.
static constexpr int64_t kMostLayers = int64_t(1) << 20;

static std::string quote(StringRef text) { return "\"" + text.str() + "\""; }

static bool parseKinds(StringRef list, RecomputePolicy &policy, std::string &problem) {
  SmallVector<StringRef> names;
  for (const KindName &known : kKindNames)
    names.push_back(known.name);
  policy.kinds = RearrangesOnly;
  SmallVector<StringRef> words;
  list.split(words, ',');
  for (StringRef word : words) {
    const auto *known =
        llvm::find_if(kKindNames, [&](const KindName &known) { return known.name == word; });
    if (known == std::end(kKindNames)) {
      problem = "where " + quote(word) + " is no kind of op, expected a list of " +
                llvm::join(names, ", ") + suggestNearest(word, names);
      return false;
    }
    policy.kinds |= known->kind;
  }
  return true;
}

void RecomputePolicy::setPrice(int64_t price) {
  this->price = price;
  kinds = kAllKinds | Heavy;
}

static bool parseNumber(StringRef key, StringRef value, int64_t least, int64_t most,
                        int64_t &number, std::string &problem) {
  if (!value.getAsInteger(10, number) && number >= least && number <= most)
    return true;
  problem = "where " + key.str() + " is " + quote(value) + ", expected a whole number from " +
            std::to_string(least) + " to " + std::to_string(most);
  return false;
}

/// `BLOCK+I+J`.
static bool parseKept(StringRef text, RecomputePolicy &policy, std::string &problem) {
  SmallVector<StringRef> words;
  text.split(words, '+');
  if (words.front().empty()) {
    problem = "where keep names no block, expected keep=BLOCK+I+J";
    return false;
  }
  policy.keep = KeptValues{words.front().str(), {}};
  for (StringRef word : ArrayRef(words).drop_front()) {
    int64_t number = 0;
    if (!parseNumber("a value of keep", word, 0, kMostLayers, number, problem))
      return false;
    policy.keep->values.push_back(number);
  }
  return true;
}

static bool parseKey(StringRef key, StringRef value, RecomputePolicy &policy,
                     std::string &problem) {
  int64_t number = 0;
  if (key == "keep")
    return parseKept(value, policy, problem);
  bool isPrice = key == "price";
  if (!parseNumber(key, value, isPrice ? 0 : 1, isPrice ? kHighestPrice : kMostLayers, number,
                   problem))
    return false;
  if (isPrice)
    policy.setPrice(number);
  else if (key == "group")
    policy.group = number;
  else
    policy.layers = number;
  return true;
}

/// `KEY=VALUE,…`.
static bool parseKeys(StringRef list, RecomputePolicy &policy, std::string &problem) {
  SmallVector<StringRef> words, seen, known{"price", "keep"};
  std::string legal = "price=P (of a MiB, in ns), keep=BLOCK+I+J (exactly these values)";
  if (policy.isFull) {
    known.append({"group", "layers"});
    legal =
        "group=K (layers that share a stored input), layers=N (how many from the first), " + legal;
  }
  list.split(words, ',');
  for (StringRef word : words) {
    auto [key, value] = word.split('=');
    if (!llvm::is_contained(known, key)) {
      problem = "where " + quote(key) + " is no key, expected a list of " + legal +
                suggestNearest(key, known);
      return false;
    }
    if (llvm::is_contained(seen, key)) {
      problem = "where " + key.str() + " is given twice, expected it once";
      return false;
    }
    seen.push_back(key);
    if (!parseKey(key, value, policy, problem))
      return false;
  }
  return true;
}

std::optional<RecomputePolicy> RecomputePolicy::parse(StringRef text, std::string &problem) {
  RecomputePolicy policy;
  auto [name, list] = text.split(':');
  bool isRead = true, hasList = text.contains(':');
  if (name == "none" && !hasList) {
    policy.kinds = RearrangesOnly;
  } else if (name == "selective") {
    policy.kinds = kAllKinds;
    if (list.contains('='))
      isRead = parseKeys(list, policy, problem);
    else
      isRead = !hasList || parseKinds(list, policy, problem);
  } else if (name == "full") {
    policy.isFull = true;
    // What runs again is kept for so short that gathering it twice in that time would buy little.
    policy.kinds &= ~Gather;
    isRead = !hasList || parseKeys(list, policy, problem);
  } else {
    isRead = false;
    problem = name == "none" ? "expected nothing after none"
                             : "expected none, selective, selective:attn,norm,act,gather, full, " +
                                   ("full:group=K or full:layers=N" +
                                    suggestNearest(name, {"none", "selective", "full"}));
  }
  if (isRead)
    return policy;
  problem = "is " + quote(text) + ", " + problem;
  return std::nullopt;
}

FailureOr<RecomputePolicy> RecomputePolicy::read(MLIRContext *context, StringRef text) {
  std::string problem;
  if (std::optional<RecomputePolicy> policy = parse(text, problem))
    return *policy;
  return emitError(UnknownLoc::get(context)) << "recompute " << problem;
}

std::string RecomputePolicy::str() const {
  SmallVector<std::string> parts;
  if (isFull && group > 1)
    parts.push_back("group=" + std::to_string(group));
  if (isFull && layers)
    parts.push_back("layers=" + std::to_string(*layers));
  if (price)
    parts.push_back("price=" + std::to_string(*price));
  if (keep) {
    parts.push_back("keep=" + keep->block);
    for (unsigned value : keep->values)
      parts.back() += "+" + std::to_string(value);
  }
  if (!isFull && kinds == RearrangesOnly)
    return "none";
  if (!isFull && !price && kinds != kAllKinds)
    for (const KindName &known : kKindNames)
      if (kinds & known.kind)
        parts.push_back(known.name.str());
  return (isFull ? "full" : "selective") + (parts.empty() ? "" : ":" + llvm::join(parts, ","));
}

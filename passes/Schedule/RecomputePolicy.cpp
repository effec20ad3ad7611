//===- RecomputePolicy.cpp - What backward blocks compute again -------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/RecomputePolicy.h"

#include "dialects/Uls/Uls.h"
#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

RecomputeKind ulsc::getRecomputeKind(Operation *op) {
  if (op->getNumRegions() != 0)
    return NeverAgain;
  if (isa<ReshapeOp, TransposeOp, SliceOp, BroadcastOp, IotaOp, ConstantOp>(op))
    return RearrangesOnly;
  if (isa<AttentionOp>(op))
    return Attention;
  if (isa<RmsNormOp, LayerNormOp>(op))
    return Normalization;
  return op->hasTrait<CheapToRecompute>() ? Activation : NeverAgain;
}

namespace {
struct KindName {
  StringRef name;
  RecomputeKind kind;
};
} // namespace

static constexpr KindName kKindNames[] = {
    {"attn", Attention}, {"norm", Normalization}, {"act", Activation}};
static constexpr unsigned kAllKinds = RearrangesOnly | Normalization | Activation | Attention;

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

static bool parseLayers(StringRef list, RecomputePolicy &policy, std::string &problem) {
  SmallVector<StringRef> words, seen;
  list.split(words, ',');
  for (StringRef word : words) {
    auto [key, value] = word.split('=');
    if (key != "group" && key != "layers") {
      problem =
          "where " + quote(key) + " is no key, expected group=K (layers that share a stored " +
          "input), layers=N (how many from the first)" + suggestNearest(key, {"group", "layers"});
      return false;
    }
    if (llvm::is_contained(seen, key)) {
      problem = "where " + key.str() + " is given twice, expected it once";
      return false;
    }
    seen.push_back(key);
    int64_t number = 0;
    if (value.getAsInteger(10, number) || number < 1) {
      problem = "where " + key.str() + " is " + quote(value) + ", expected a whole number from 1";
      return false;
    }
    if (key == "group")
      policy.group = number;
    else
      policy.layers = number;
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
    isRead = !hasList || parseKinds(list, policy, problem);
  } else if (name == "full") {
    policy.isFull = true;
    isRead = !hasList || parseLayers(list, policy, problem);
  } else {
    isRead = false;
    problem = name == "none" ? "expected nothing after none"
                             : "expected none, selective, selective:attn,norm,act, full, " +
                                   ("full:group=K or full:layers=N" +
                                    suggestNearest(name, {"none", "selective", "full"}));
  }
  if (isRead)
    return policy;
  problem = "is " + quote(text) + ", " + problem;
  return std::nullopt;
}

std::string RecomputePolicy::str() const {
  if (isFull) {
    std::string text = "full";
    if (group > 1)
      text += ":group=" + std::to_string(group);
    if (layers)
      text += (group > 1 ? ",layers=" : ":layers=") + std::to_string(*layers);
    return text;
  }
  if (kinds == RearrangesOnly)
    return "none";
  if (kinds == kAllKinds)
    return "selective";
  SmallVector<StringRef> names;
  for (const KindName &known : kKindNames)
    if (kinds & known.kind)
      names.push_back(known.name);
  return "selective:" + llvm::join(names, ",");
}

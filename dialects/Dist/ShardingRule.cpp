//===- ShardingRule.cpp - Text form of sharding rules
//------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Dist/ShardingRule.h"
#include "dialects/Dist/Dist.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ulsc::dist;

namespace {
/// Reads one rule. Factor sizes come from the first dimension that is that factor alone, or from
/// `sizes`.
class RuleParser {
public:
  RuleParser(TypeRange operands, TypeRange results, std::string &error)
      : operandTypes(operands), resultTypes(results), error(error) {}

  std::optional<ShardingRule> parse(StringRef text) {
    auto [signature, clauses] = splitSignature(text);
    if (failed(parseClauses(clauses)) || failed(parseSignature(signature)) ||
        failed(resolveSizes()) || failed(applyKinds()))
      return std::nullopt;
    return std::move(rule);
  }

private:
  LogicalResult fail(const Twine &message) {
    error = message.str();
    return failure();
  }

  /// The tensors up to the last ']', and the clauses behind.
  static std::pair<StringRef, StringRef> splitSignature(StringRef text) {
    size_t end = text.rfind(']');
    if (end == StringRef::npos)
      return {text, ""};
    return {text.take_front(end + 1), text.drop_front(end + 1)};
  }

  LogicalResult parseClauses(StringRef text) {
    while (!(text = text.ltrim()).empty()) {
      if (text.consume_front("joint")) {
        rule.joint = true;
        continue;
      }
      auto [key, rest] = text.split("={");
      auto [values, tail] = rest.split('}');
      if (rest.empty())
        return fail("cannot read '" + text + "'");
      SmallVector<StringRef> items;
      values.split(items, ',', -1, /*KeepEmpty=*/false);
      for (StringRef &item : items)
        item = item.trim();
      clauses[key.trim()] = items;
      text = tail;
    }
    for (const auto &clause : clauses)
      if (!llvm::is_contained(
              {"reduction", "max", "internal", "replicated", "permutation", "linear", "sizes"},
              clause.getKey()))
        return fail("unknown clause '" + clause.getKey() + "'");
    return success();
  }

  LogicalResult parseSignature(StringRef text) {
    auto [left, right] = text.split("->");
    if (failed(parseTensors(left, operandTypes, rule.operands, "operand")) ||
        failed(parseTensors(right, resultTypes, rule.results, "result")))
      return failure();
    rule.linear.resize(rule.operands.size());
    for (StringRef item : clauses.lookup("linear")) {
      unsigned index;
      if (item.getAsInteger(10, index) || index >= rule.operands.size())
        return fail("'linear' names operand '" + item + "', which does not exist");
      rule.linear.set(index);
    }
    return success();
  }

  LogicalResult parseTensors(StringRef text, TypeRange types,
                             SmallVectorImpl<TensorFactors> &tensors, StringRef what) {
    SmallVector<StringRef> bodies;
    while (!(text = text.ltrim(" ,")).empty()) {
      if (!text.consume_front("["))
        return fail("expected '[' at '" + text + "'");
      auto [body, rest] = text.split(']');
      bodies.push_back(body);
      text = rest;
    }
    if (bodies.size() != types.size())
      return fail("the rule has " + Twine(bodies.size()) + " " + what + "s, the op has " +
                  Twine(types.size()));
    for (auto [body, type] : llvm::zip_equal(bodies, types)) {
      tensors.emplace_back();
      if (auto tensor = llvm::dyn_cast<RankedTensorType>(type))
        if (failed(parseTensor(body, tensor, tensors.back())))
          return failure();
    }
    return success();
  }

  LogicalResult parseTensor(StringRef body, RankedTensorType type, TensorFactors &dims) {
    SmallVector<StringRef> entries;
    body.split(entries, ',', -1, /*KeepEmpty=*/false);
    for (StringRef &entry : entries)
      entry = entry.trim();
    int64_t shared = type.getRank() - int64_t(entries.size()) + 1;
    int64_t numShared = llvm::count(entries, "...");
    if (numShared > 1 || (numShared == 1 ? shared < 0 : shared != 1))
      return fail("'[" + body + "]' does not fit a tensor of rank " + Twine(type.getRank()));
    for (StringRef entry : entries) {
      if (entry == "...") {
        for (int64_t i = 0; i < shared; ++i)
          dims.push_back({factorIndex(("." + Twine(i)).str())});
        continue;
      }
      DimFactors factors;
      SmallVector<StringRef> names;
      if (entry != "_")
        entry.split(names, '*');
      for (StringRef name : names)
        factors.push_back(factorIndex(name.trim()));
      dims.push_back(factors);
    }
    for (auto [dim, factors] : llvm::enumerate(dims))
      sized.push_back({factors, type.getDimSize(dim)});
    return success();
  }

  unsigned factorIndex(StringRef name) {
    auto [it, inserted] = indices.try_emplace(name, rule.factors.size());
    if (inserted)
      rule.factors.push_back({name.str(), /*size=*/0, FactorKind::PassThrough});
    return it->second;
  }

  LogicalResult resolveSizes() {
    for (StringRef item : clauses.lookup("sizes")) {
      auto [name, value] = item.split('=');
      int64_t size;
      if (value.trim().getAsInteger(10, size) || !indices.count(name.trim()))
        return fail("cannot read size '" + item + "'");
      rule.factors[indices[name.trim()]].size = size;
    }
    for (int pass = 0; pass < 2; ++pass)
      for (const auto &[factors, size] : sized)
        if (failed(resolveDim(factors, size)))
          return failure();
    for (Factor &factor : rule.factors)
      if (factor.size == 0)
        return fail("the size of factor '" + Twine(factor.name) + "' is not known");
    return success();
  }

  /// Gives the one unknown factor of a dimension its size, or checks that the known ones multiply
  /// to it.
  LogicalResult resolveDim(const DimFactors &factors, int64_t size) {
    if (factors.empty())
      return success();
    int64_t known = 1;
    Factor *unknown = nullptr;
    for (unsigned index : factors) {
      Factor &factor = rule.factors[index];
      if (factor.size != 0)
        known *= factor.size;
      else if (unknown)
        return success();
      else
        unknown = &factor;
    }
    if (unknown && known != 0 && size % known == 0)
      unknown->size = size / known;
    else if (unknown || known != size)
      return fail("factors of a dimension of size " + Twine(size) + " multiply to " + Twine(known));
    return success();
  }

  LogicalResult applyKinds() {
    const std::pair<StringRef, FactorKind> kinds[] = {{"reduction", FactorKind::Sum},
                                                      {"max", FactorKind::Max},
                                                      {"internal", FactorKind::Internal},
                                                      {"replicated", FactorKind::Replicated},
                                                      {"permutation", FactorKind::Permutation}};
    for (auto [key, kind] : kinds)
      for (StringRef name : clauses.lookup(key)) {
        bool all = name == "...";
        if (!all && !indices.count(name))
          return fail("'" + key + "' names factor '" + name + "', which does not exist");
        if (!all)
          rule.factors[indices[name]].kind = kind;
        for (unsigned i = 0; all && i < rule.factors.size(); ++i)
          if (StringRef(rule.factors[i].name).starts_with("."))
            rule.factors[i].kind = kind;
      }
    return success();
  }

  TypeRange operandTypes, resultTypes;
  std::string &error;
  ShardingRule rule;
  llvm::StringMap<SmallVector<StringRef>> clauses;
  llvm::StringMap<unsigned> indices;
  SmallVector<std::pair<DimFactors, int64_t>> sized;
};
} // namespace

std::optional<ShardingRule> ShardingRule::parse(StringRef text, TypeRange operandTypes,
                                                TypeRange resultTypes, std::string &error) {
  return RuleParser(operandTypes, resultTypes, error).parse(text);
}

ShardingRule ShardingRule::get(StringRef text, Operation *op) {
  std::string error;
  std::optional<ShardingRule> rule =
      parse(text, op->getOperandTypes(), op->getResultTypes(), error);
  if (!rule)
    llvm::report_fatal_error(Twine("sharding rule of ") + op->getName().getStringRef() + ": " +
                             error + " in " + text);
  return *std::move(rule);
}

std::string ShardingRule::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto printTensors = [&](ArrayRef<TensorFactors> tensors) {
    llvm::interleave(
        tensors, os,
        [&](const TensorFactors &dims) {
          os << '[';
          llvm::interleave(
              dims, os,
              [&](const DimFactors &dim) {
                if (dim.empty())
                  os << '_';
                llvm::interleave(dim, os, [&](unsigned f) { os << factors[f].name; }, "*");
              },
              ",");
          os << ']';
        },
        ",");
  };
  printTensors(operands);
  os << "->";
  printTensors(results);
  const std::pair<StringRef, FactorKind> kinds[] = {{"reduction", FactorKind::Sum},
                                                    {"max", FactorKind::Max},
                                                    {"internal", FactorKind::Internal},
                                                    {"replicated", FactorKind::Replicated},
                                                    {"permutation", FactorKind::Permutation}};
  for (auto [key, kind] : kinds) {
    SmallVector<StringRef> names;
    for (const Factor &factor : factors)
      if (factor.kind == kind)
        names.push_back(factor.name);
    if (!names.empty())
      os << ' ' << key << "={" << llvm::join(names, ",") << '}';
  }
  return text;
}

std::optional<unsigned> ShardingRule::findFactor(StringRef name) const {
  for (auto [i, factor] : llvm::enumerate(factors))
    if (factor.name == name)
      return i;
  return std::nullopt;
}

std::optional<ShardingRule> ulsc::dist::getShardingRule(Operation *op) {
  if (auto attr = op->getAttrOfType<ShardingRuleAttr>(DistDialect::kRuleAttrName)) {
    std::string error;
    return ShardingRule::parse(attr.getText().getValue(), op->getOperandTypes(),
                               op->getResultTypes(), error);
  }
  if (auto interface = llvm::dyn_cast<ShardingRuleOpInterface>(op))
    return interface.getShardingRule();
  return std::nullopt;
}

//===- FitMemory.cpp - The cheapest recomputation whose plan fits -----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/FitMemory.h"

#include "dialects/Uls/Uls.h"
#include "passes/Schedule/CutVariations.h"
#include "passes/Schedule/Layers.h"
#include "passes/Schedule/RecomputePolicy.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

/// The most layers for which every number and every group of them is tried.
static constexpr int64_t kFewLayers = 4;

namespace {
class Search {
public:
  Search(ModuleOp module, int64_t limit, PlanPolicy plan)
      : module(module), limit(limit), plan(plan), numLayers(countLayers(module)),
        prices(collectPrices(module)) {}

  FailureOr<MemoryFit> run() {
    if (succeeded(tryNone()) && fit.smallest.persistentBytes > limit) {
      // Nothing can fit; two plans tell about how near it comes.
      fit.isHopeless = true;
      FailureOr<bool> one = attempt(makeFull(kHighestPrice, 1, std::max<int64_t>(numLayers, 1)));
      return failed(one) ? FailureOr<MemoryFit>(failure()) : std::move(fit);
    }
    bool isPlanned = succeeded(tryCuts()) && succeeded(tryLayers()) &&
                     (fit.chosen || succeeded(tryGroups())) &&
                     (fit.chosen || succeeded(tryOtherCuts()));
    if (!isPlanned)
      return failure();
    return std::move(fit);
  }

private:
  /// Plans a policy once and remembers it where it is the best so far. True if it fits.
  FailureOr<bool> attempt(const RecomputePolicy &policy) {
    auto [known, isNew] = planned.try_emplace(policy.str());
    PlannedPolicy &result = known->second;
    if (isNew) {
      FailureOr<PlannedPolicy> made = plan(policy.str());
      if (failed(made))
        return failure();
      result = *made;
      if (fit.smallest.policy.empty() || result.peakBytes < fit.smallest.peakBytes)
        fit.smallest = result;
      if (result.peakBytes <= limit && isCheaper(result))
        fit.chosen = result;
    }
    return result.peakBytes <= limit;
  }

  bool isCheaper(const PlannedPolicy &other) {
    return !fit.chosen || other.recomputedUs < fit.chosen->recomputedUs;
  }

  /// A price of a cut, or none for what the kinds by default choose.
  using Price = std::optional<int64_t>;

  RecomputePolicy makeFull(Price price, int64_t group, int64_t layers) {
    RecomputePolicy policy;
    policy.isFull = true;
    policy.group = group;
    if (layers < numLayers)
      policy.layers = layers;
    if (price)
      policy.setPrice(*price);
    return policy;
  }

  FailureOr<bool> tryNone() {
    RecomputePolicy none;
    none.kinds = RearrangesOnly;
    return attempt(none);
  }

  /// Cuts for runs of layers: planning takes as long as there are layers. The one that `full` alone
  /// makes is always among them.
  SmallVector<Price> getPricesOfLayers() {
    constexpr size_t few = 4;
    SmallVector<Price> sample{std::nullopt};
    if (numLayers <= kFewLayers || prices.size() <= few) {
      sample.append(prices.begin(), prices.end());
      return sample;
    }
    for (size_t i = 0; i < few; ++i)
      sample.push_back(prices[i * (prices.size() - 1) / (few - 1)]);
    return sample;
  }

  /// Cuts of the blocks, from the one that runs nothing again: the first that fits is the cheapest.
  /// What `selective` alone makes lies beside them.
  LogicalResult tryCuts() {
    FailureOr<bool> fits = tryNone();
    if (succeeded(fits) && !*fits && failed(attempt(RecomputePolicy())))
      return failure();
    for (int64_t price : prices) {
      if (failed(fits))
        return failure();
      if (*fits)
        return success();
      RecomputePolicy policy;
      policy.setPrice(price);
      fits = attempt(policy);
    }
    return failure(failed(fits));
  }

  /// For each cut, the fewest layers that must be run forward again. The first cuts leave the most
  /// layers alone for the least time.
  LogicalResult tryLayers() {
    if (numLayers == 0)
      return success();
    for (Price price : getPricesOfLayers()) {
      RecomputePolicy least = makeFull(price, 1, 1);
      if (failed(attempt(least)))
        return failure();
      if (isCheaper(planned[least.str()]) && failed(tryLayers(price)))
        return failure();
    }
    return success();
  }

  LogicalResult tryLayers(Price price) {
    int64_t low = 0, high = numLayers; // too few; enough
    FailureOr<bool> fits = attempt(makeFull(price, 1, high));
    if (failed(fits) || !*fits)
      return failure(failed(fits));
    while (high - low > 1) {
      int64_t middle = low + (high - low) / 2;
      fits = attempt(makeFull(price, 1, middle));
      if (failed(fits))
        return failure();
      (*fits ? high : low) = middle;
    }
    return success();
  }

  /// Groups keep fewer inputs and more of what a group's layers leave. A plan need not fall with
  /// either number: few layers are tried in every way.
  LogicalResult tryGroups() {
    SmallVector<Price> sample = getPricesOfLayers();
    for (Price price : llvm::reverse(sample))
      for (int64_t group = 1; group <= numLayers; group += numLayers > 2 * kFewLayers ? group : 1) {
        int64_t least = numLayers <= kFewLayers ? 1 : numLayers;
        for (int64_t layers = numLayers; layers >= least; --layers)
          if (failed(attempt(makeFull(price, std::min(group, layers), layers))))
            return failure();
      }
    return success();
  }

  /// Policies from which other cuts of a block are tried: the best so far, and with few layers each
  /// way to run them again.
  SmallVector<RecomputePolicy> getStarts() {
    std::string problem;
    SmallVector<RecomputePolicy> starts{*RecomputePolicy::parse(fit.smallest.policy, problem)};
    if (!starts[0].price)
      starts[0].setPrice(0);
    if (numLayers > kFewLayers)
      return starts;
    RecomputePolicy cut;
    cut.setPrice(kHighestPrice);
    starts.push_back(cut);
    for (int64_t group = 1; group <= numLayers; ++group)
      for (int64_t layers = group; layers <= numLayers; ++layers)
        starts.push_back(makeFull(kHighestPrice, group, layers));
    return starts;
  }

  /// The smallest plan need not keep least: what is computed again takes memory, too. Cuts that are
  /// on no hull are tried before it is said that nothing fits.
  LogicalResult tryOtherCuts() {
    BlockOp block = findLargestBlock();
    if (!block)
      return success();
    CutVariations variations(block);
    for (const RecomputePolicy &start : getStarts()) {
      for (RecomputePolicy &policy : variations.collect(start))
        if (failed(attempt(policy)))
          return failure();
      if (fit.chosen)
        break;
    }
    return success();
  }

  /// The joint block of most layers.
  BlockOp findLargestBlock() {
    SymbolTable symbols(module);
    llvm::MapVector<StringRef, int64_t> calls;
    module.walk([&](CallOp call) {
      if (isLayer(call))
        ++calls[call.getCallee()];
    });
    StringRef largest;
    for (auto &[name, count] : calls)
      if (count > calls.lookup(largest))
        largest = name;
    return symbols.lookup<BlockOp>(largest);
  }

  ModuleOp module;
  int64_t limit;
  PlanPolicy plan;
  int64_t numLayers;
  SmallVector<int64_t> prices;
  llvm::StringMap<PlannedPolicy> planned;
  MemoryFit fit;
};
} // namespace

FailureOr<MemoryFit> ulsc::fitMemory(ModuleOp module, int64_t limit, PlanPolicy plan) {
  return Search(module, limit, plan).run();
}

//===- SavingFrontier.cpp - Prices at which another cut is the cheapest -----------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/FitMemory.h"
#include "passes/Schedule/SavedValues.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

namespace {
/// What all calls of a module's joint blocks keep and run again in a microbatch at one price.
struct Point {
  int64_t price = 0, bytes = 0;
  double us = 0;
  bool operator==(const Point &other) const { return bytes == other.bytes && us == other.us; }
};

class Frontier {
public:
  explicit Frontier(ModuleOp module) {
    SymbolTable symbols(module);
    module.walk([&](BackwardOp backward) {
      if (auto block = symbols.lookup<BlockOp>(backward.getCallee()))
        ++calls[block];
    });
  }

  SmallVector<int64_t> collect() {
    Point low = evaluate(0), high = evaluate(kHighestPrice);
    SmallVector<int64_t> prices{low.price};
    refine(low, high, prices);
    if (!(low == high))
      prices.push_back(high.price);
    return prices;
  }

private:
  Point evaluate(int64_t price) {
    RecomputePolicy policy;
    policy.setPrice(price);
    Point point;
    point.price = price;
    for (auto &[block, count] : calls) {
      FailureOr<SavedValues> saved = chooseSavedValues(block, policy);
      if (failed(saved))
        continue; // the cut reports it
      point.bytes += count * saved->bytes;
      point.us += double(count) * saved->recomputedUs;
    }
    return point;
  }

  /// Adds the prices between two points at which neither's cut is the cheapest: the line through
  /// both says where to look (Eisner and Severance 1976).
  void refine(const Point &low, const Point &high, SmallVectorImpl<int64_t> &prices) {
    if (low == high || high.bytes >= low.bytes)
      return;
    constexpr double nsPerUs = 1000, mib = 1024 * 1024;
    double slope = (high.us - low.us) * nsPerUs * mib / double(low.bytes - high.bytes);
    auto price = int64_t(slope);
    if (price <= low.price || price >= high.price)
      return;
    Point middle = evaluate(price);
    if (middle == low || middle == high)
      return;
    refine(low, middle, prices);
    prices.push_back(price);
    refine(middle, high, prices);
  }

  llvm::MapVector<BlockOp, int64_t> calls;
};
} // namespace

SmallVector<int64_t> ulsc::collectPrices(ModuleOp module) { return Frontier(module).collect(); }

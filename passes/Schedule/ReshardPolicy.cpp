//===- ReshardPolicy.cpp - What stays of gathered parameters after the forward ----------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/ReshardPolicy.h"

#include "dialects/Dist/Dist.h"
#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;

std::optional<ReshardPolicy> ReshardPolicy::parse(StringRef text, std::string &problem) {
  if (text == "true")
    return ReshardPolicy();
  if (text == "false")
    return ReshardPolicy{1};
  int64_t ranks;
  if (!text.getAsInteger(10, ranks))
    return ReshardPolicy{ranks};
  problem = "is \"" + text.str() + "\", expected true, false or a number of ranks" +
            suggestNearest(text, {"true", "false"});
  return std::nullopt;
}

std::string ReshardPolicy::findProblem(ArrayRef<std::pair<std::string, int64_t>> axes) const {
  // Whole parameters are kept so, whatever stores them.
  if (!ranks || *ranks == 1)
    return {};
  std::string found = "is " + std::to_string(*ranks) + ", ";
  if (axes.empty())
    return found + "but parameters are not split, so that nothing is gathered; store them split, "
                   "as zero3 and hsdp do, or take it out";
  SmallVector<int64_t> sizes;
  SmallVector<std::string> texts;
  for (auto &[name, size] : axes) {
    sizes.push_back(size);
    texts.push_back(name + "=" + std::to_string(size));
  }
  SmallVector<int64_t> legal = dist::getMinorRankCounts(sizes);
  if (llvm::is_contained(legal, *ranks))
    return {};
  // In doubles, where distances of any two numbers are.
  int64_t nearest = *llvm::min_element(legal, [&](int64_t a, int64_t b) {
    return std::abs(double(a) - double(*ranks)) < std::abs(double(b) - double(*ranks));
  });
  std::string list =
      llvm::join(llvm::map_range(legal, [](int64_t count) { return std::to_string(count); }), ", ");
  return found + "expected a number of neighbours among the ranks that store parameters (" +
         llvm::join(texts, " × ") + "): one of " + list + "; the nearest is " +
         std::to_string(nearest);
}

//===- pairwise.h - A few cases that meet every pair of choices -------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TEST_SUPPORT_PAIRWISE_H
#define ULSC_TEST_SUPPORT_PAIRWISE_H

#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace ulsc::test {

/// Of `all`, each a choice per dimension as text, a subset in which every pair of choices that some
/// case has meets: greedily the case that adds most pairs, the first among equals.
inline std::vector<size_t> pairwise(const std::vector<std::vector<std::string>> &all) {
  using Pair = std::tuple<size_t, size_t, std::string, std::string>;
  auto pairsOf = [](const std::vector<std::string> &choices) {
    std::set<Pair> pairs;
    for (size_t i = 0; i < choices.size(); ++i)
      for (size_t j = i + 1; j < choices.size(); ++j)
        pairs.insert({i, j, choices[i], choices[j]});
    return pairs;
  };
  std::set<Pair> open;
  for (const auto &choices : all)
    open.merge(pairsOf(choices));
  std::vector<size_t> chosen;
  while (!open.empty()) {
    size_t best = 0, most = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      size_t gain = 0;
      for (const Pair &pair : pairsOf(all[i]))
        gain += open.count(pair);
      if (gain > most) {
        best = i;
        most = gain;
      }
    }
    for (const Pair &pair : pairsOf(all[best]))
      open.erase(pair);
    chosen.push_back(best);
  }
  return chosen;
}

} // namespace ulsc::test

#endif // ULSC_TEST_SUPPORT_PAIRWISE_H

//===- cover_pairs.h - Few cases that meet many pairs of choices --------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TEST_E2E_COVERPAIRS_H
#define ULSC_TEST_E2E_COVERPAIRS_H

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ulsc::test {

using ChoicePair = std::pair<std::string, std::string>;

/// Cases in which every pair that `getPairs` has of any of `cases` is met: each the one that meets
/// most new ones, of those the one with the fewest ranks.
template <typename Case, typename GetPairs, typename GetRanks>
std::vector<Case> coverPairs(const std::vector<Case> &cases, GetPairs getPairs, GetRanks getRanks) {
  std::set<ChoicePair> met;
  std::vector<Case> chosen;
  while (true) {
    const Case *best = nullptr;
    long most = 0;
    for (const Case &candidate : cases) {
      std::vector<ChoicePair> pairs = getPairs(candidate);
      long gain = std::count_if(pairs.begin(), pairs.end(),
                                [&](const ChoicePair &pair) { return !met.count(pair); });
      if (gain > most || (gain == most && best && getRanks(candidate) < getRanks(*best))) {
        best = &candidate;
        most = gain;
      }
    }
    if (most == 0)
      return chosen;
    for (const ChoicePair &pair : getPairs(*best))
      met.insert(pair);
    chosen.push_back(*best);
  }
}

} // namespace ulsc::test

#endif // ULSC_TEST_E2E_COVERPAIRS_H

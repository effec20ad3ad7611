//===- Cover.h - Few cases that meet many pairs of choices --------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_LEGALITY_COVER_H
#define ULSC_TOOLS_ULSC_LEGALITY_COVER_H

#include "tools/ulsc-legality/CaseList.h"

#include <optional>
#include <random>
#include <set>
#include <string>

namespace ulsc::legality {

/// Makes cases one after the other, each to meet as many pairs as possible that none before met
/// (greedily, as the AETG method does), and among equals the cheapest. The same on every machine.
class Cover {
public:
  /// `isWide`: of pairs without narrow dimensions, all of whose cases are wide.
  explicit Cover(bool isWide);

  /// A case without a conflict that meets a new pair; nothing when there is none.
  std::optional<Case> makeNext(const std::vector<Conflict> &conflicts);
  /// Notes that a case was taken.
  void take(const Case &choices);

private:
  using Pair = std::pair<size_t, size_t>; ///< of choices, counted through all dimensions

  size_t number(size_t dimension, size_t choice) const { return offsets[dimension] + choice; }
  size_t countNew(const Case &choices) const;
  size_t estimateCost(const Case &choices) const;
  std::optional<Case> complete(Pair seed, const std::vector<Conflict> &conflicts, bool isGreedy);
  /// Puts a choice in a dimension, the one that meets most new pairs with what is `chosen` (-1: not
  /// yet) or any.
  bool choose(std::vector<int> &chosen, size_t dimension, const std::vector<Conflict> &conflicts,
              bool isGreedy);

  bool isWide;
  std::vector<size_t> offsets;
  std::set<Pair> open;
  std::set<std::string> references; ///< trainings on one rank that cases taken need
  std::mt19937 random{20};
};

/// Every combination of the core dimensions, the rest at random, always the same; without those of
/// `others`.
std::vector<Case> makeCoreCases(const std::vector<Conflict> &conflicts,
                                const std::vector<Case> &others);

} // namespace ulsc::legality

#endif // ULSC_TOOLS_ULSC_LEGALITY_COVER_H

//===- Exploration.h - Which choices the compiler takes together --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_LEGALITY_EXPLORATION_H
#define ULSC_TOOLS_ULSC_LEGALITY_EXPLORATION_H

#include "tools/ulsc-legality/CaseList.h"

#include <functional>
#include <map>
#include <optional>

namespace ulsc::legality {

/// Finds out by compiling. A pair of choices is legal when a case with both is accepted. Where a
/// case is refused, it is reduced to what is refused in it: choices go back to the default while
/// the rest is still refused.
class Exploration {
public:
  /// Tells the error of a refused case.
  using Judge = std::function<std::optional<std::string>(const Case &)>;

  explicit Exploration(Judge judge) : judge(std::move(judge)) {}

  /// Throws if some choice is never accepted.
  CaseList run();
  size_t countCompilations() const { return verdicts.size(); }

private:
  const std::optional<std::string> &ask(const Case &choices);
  /// Finds with which defaults a choice is refused.
  void exploreChoice(size_t dimension, size_t choice);
  /// Adds cases until each pair is met or refused.
  void cover(bool isWide);
  void reduce(Case choices);
  /// Leaves out of conflicts what the others in them imply.
  void dropImplied();
  bool isImplied(const Conflict &conflict, size_t place) const;
  /// A change of one other dimension with which a refused case is accepted.
  std::optional<size_t> findRemedy(const Case &choices, const std::vector<bool> &isGuilty);

  Judge judge;
  std::map<Case, std::optional<std::string>> verdicts;
  CaseList list;
};

} // namespace ulsc::legality

#endif // ULSC_TOOLS_ULSC_LEGALITY_EXPLORATION_H

//===- Exploration.cpp - Which choices the compiler takes together ------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===------------------------------------------------------------------------------------===//

#include "tools/ulsc-legality/Exploration.h"
#include "tools/ulsc-legality/Cover.h"

#include <algorithm>
#include <stdexcept>

using namespace ulsc::legality;

const std::optional<std::string> &Exploration::ask(const Case &choices) {
  auto it = verdicts.find(choices);
  if (it == verdicts.end())
    it = verdicts.emplace(choices, judge(choices)).first;
  return it->second;
}

CaseList Exploration::run() {
  for (size_t i = 0; i < getDimensions().size(); ++i)
    for (size_t choice = 0; choice < getDimensions()[i].choices.size(); ++choice)
      exploreChoice(i, choice);
  cover(/*isWide=*/true);
  cover(/*isWide=*/false);
  dropImplied();
  auto isBefore = [](const Conflict &a, const Conflict &b) { return a.choices < b.choices; };
  std::sort(list.conflicts.begin(), list.conflicts.end(), isBefore);
  auto areSame = [](const Conflict &a, const Conflict &b) { return a.choices == b.choices; };
  list.conflicts.erase(std::unique(list.conflicts.begin(), list.conflicts.end(), areSame),
                       list.conflicts.end());
  list.more = makeCoreCases(list.conflicts, list.pairwise);
  return std::move(list);
}

void Exploration::cover(bool isWide) {
  Cover cover(isWide);
  for (const Case &choices : list.pairwise)
    cover.take(choices);
  while (std::optional<Case> next = cover.makeNext(list.conflicts)) {
    if (ask(*next)) {
      reduce(*next);
    } else {
      cover.take(*next);
      list.pairwise.push_back(*next);
    }
  }
}

void Exploration::exploreChoice(size_t dimension, size_t choice) {
  Case choices(getDimensions().size(), 0);
  choices[dimension] = choice;
  if (isFree(choices, list.conflicts) && ask(choices))
    reduce(choices);
}

void Exploration::reduce(Case choices) {
  std::vector<bool> isGuilty(choices.size(), false);
  for (size_t i = 0; i < choices.size(); ++i) {
    if (!choices[i])
      continue;
    Case simpler = choices;
    simpler[i] = 0;
    // What is refused for a known reason tells nothing.
    if (isFree(simpler, list.conflicts) && ask(simpler))
      choices = simpler;
    else
      isGuilty[i] = true;
  }
  // The choices left are refused with the defaults, some of which may have a part in it.
  std::optional<size_t> remedy = findRemedy(choices, isGuilty);
  if (remedy)
    isGuilty[*remedy] = true;
  Conflict conflict;
  for (size_t i = 0; i < choices.size(); ++i)
    if (isGuilty[i])
      conflict.choices.emplace_back(i, choices[i]);
  conflict.error = *ask(choices);
  if (conflict.choices.size() < 2)
    throw std::runtime_error("refused whatever it is combined with: " + describe(choices) + ": " +
                             conflict.error);
  list.conflicts.push_back(std::move(conflict));
}

std::optional<size_t> Exploration::findRemedy(const Case &choices,
                                              const std::vector<bool> &isGuilty) {
  for (size_t i = 0; i < choices.size(); ++i)
    for (size_t choice = 1; !isGuilty[i] && choice < getDimensions()[i].choices.size(); ++choice) {
      Case other = choices;
      other[i] = choice;
      if (isFree(other, list.conflicts) && !ask(other))
        return i;
    }
  return std::nullopt;
}

void Exploration::dropImplied() {
  for (size_t i = 0; i < list.conflicts.size(); ++i) {
    Conflict conflict = list.conflicts[i];
    std::vector<Conflict> simpler;
    for (size_t place = 0; conflict.choices.size() > 2 && place < conflict.choices.size(); ++place)
      if (isImplied(conflict, place)) {
        simpler.push_back(conflict);
        simpler.back().choices.erase(simpler.back().choices.begin() + place);
      }
    if (simpler.empty())
      continue;
    // Each says the same. What was put at the end is looked at, too.
    list.conflicts.erase(list.conflicts.begin() + i--);
    list.conflicts.insert(list.conflicts.end(), simpler.begin(), simpler.end());
  }
}

/// Whether the other choices of a conflict are refused with every other choice of that dimension.
bool Exploration::isImplied(const Conflict &conflict, size_t place) const {
  auto [dimension, own] = conflict.choices[place];
  for (size_t choice = 0; choice < getDimensions()[dimension].choices.size(); ++choice) {
    std::vector<std::pair<size_t, size_t>> others = conflict.choices;
    others[place].second = choice;
    bool isRefused =
        std::any_of(list.conflicts.begin(), list.conflicts.end(), [&](const Conflict &known) {
          return std::includes(others.begin(), others.end(), known.choices.begin(),
                               known.choices.end());
        });
    if (choice != own && !isRefused)
      return false;
  }
  return true;
}

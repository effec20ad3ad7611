//===- Cover.cpp - Few cases that meet many pairs of choices ------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===------------------------------------------------------------------------------------===//

#include "tools/ulsc-legality/Cover.h"

#include <algorithm>
#include <numeric>

using namespace ulsc::legality;

Cover::Cover(bool isWide) : isWide(isWide) {
  size_t count = 0;
  std::vector<size_t> earlier;
  for (const Dimension &dimension : getDimensions()) {
    offsets.push_back(count);
    size_t begin = count;
    count += dimension.choices.size();
    if (isWide && dimension.is(Narrow))
      continue;
    for (size_t choice = begin; choice < count; ++choice)
      for (size_t other : earlier)
        open.insert({other, choice});
    for (size_t choice = begin; choice < count; ++choice)
      earlier.push_back(choice);
  }
}

size_t Cover::countNew(const Case &choices) const {
  size_t count = 0;
  for (size_t i = 0; i < choices.size(); ++i)
    for (size_t j = i + 1; j < choices.size(); ++j)
      count += open.count({number(i, choices[i]), number(j, choices[j])});
  return count;
}

static std::string keyOfReference(const Case &choices) {
  Command command = makeReference(choices);
  std::string key = command.model + command.recipe;
  for (const std::string &flag : command.flags)
    key += " " + flag;
  return key;
}

/// Processes started, those of a new training on one rank, too.
size_t Cover::estimateCost(const Case &choices) const {
  return size_t(makeCommand(choices).ranks) + (references.count(keyOfReference(choices)) ? 0 : 4);
}

void Cover::take(const Case &choices) {
  for (size_t i = 0; i < choices.size(); ++i)
    for (size_t j = i + 1; j < choices.size(); ++j)
      open.erase({number(i, choices[i]), number(j, choices[j])});
  references.insert(keyOfReference(choices));
}

std::optional<Case> Cover::makeNext(const std::vector<Conflict> &conflicts) {
  constexpr size_t attempts = 50;
  std::vector<Pair> pairs(open.begin(), open.end());
  std::optional<Case> best;
  size_t most = 0, cheapest = 0, first = pairs.empty() ? 0 : random() % pairs.size();
  auto isEnough = [&](size_t tried) {
    // What is greedy may leave no choice for the rest: then again, anyhow.
    return best ? tried >= std::min(attempts, pairs.size()) : tried >= attempts * pairs.size();
  };
  for (size_t tried = 0; !isEnough(tried); ++tried) {
    std::optional<Case> found =
        complete(pairs[(first + tried) % pairs.size()], conflicts, tried < pairs.size());
    size_t gain = found ? countNew(*found) : 0, cost = found ? estimateCost(*found) : 0;
    if (!found || (best && (gain < most || (gain == most && cost >= cheapest))))
      continue;
    best = found;
    most = gain;
    cheapest = cost;
  }
  return best;
}

/// Whether what is chosen so far has a conflict.
static bool hasConflict(const std::vector<int> &chosen, const std::vector<Conflict> &conflicts) {
  return !isFree(Case(chosen.begin(), chosen.end()), conflicts);
}

std::optional<Case> Cover::complete(Pair seed, const std::vector<Conflict> &conflicts,
                                    bool isGreedy) {
  std::vector<int> chosen(offsets.size(), -1);
  for (size_t choice : {seed.first, seed.second}) {
    size_t dimension = std::upper_bound(offsets.begin(), offsets.end(), choice) - offsets.begin();
    chosen[dimension - 1] = int(choice - offsets[dimension - 1]);
  }
  std::vector<size_t> order(offsets.size());
  std::iota(order.begin(), order.end(), size_t(0));
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random() % i]);
  for (size_t dimension : order)
    if (chosen[dimension] < 0 && !choose(chosen, dimension, conflicts, isGreedy))
      return std::nullopt;
  if (hasConflict(chosen, conflicts))
    return std::nullopt;
  return Case(chosen.begin(), chosen.end());
}

bool Cover::choose(std::vector<int> &chosen, size_t dimension,
                   const std::vector<Conflict> &conflicts, bool isGreedy) {
  const Dimension &all = getDimensions()[dimension];
  size_t count = isWide && all.is(Narrow) ? 1 : all.choices.size(), start = random() % count,
         most = 0;
  int best = -1;
  for (size_t i = 0; i < count; ++i) {
    size_t choice = (start + i) % count, gain = 1;
    chosen[dimension] = int(choice);
    if (hasConflict(chosen, conflicts))
      continue;
    for (size_t other = 0; isGreedy && other < chosen.size(); ++other)
      if (other != dimension && chosen[other] >= 0) {
        Pair pair = std::minmax(number(dimension, choice), number(other, size_t(chosen[other])));
        gain += open.count(pair);
      }
    if (gain > most) {
      most = gain;
      best = int(choice);
    }
  }
  chosen[dimension] = best;
  return best >= 0;
}

//===----------------------------------------------------------------------------------------===//
// The larger list
//===----------------------------------------------------------------------------------------===//

std::vector<Case> ulsc::legality::makeCoreCases(const std::vector<Conflict> &conflicts,
                                                const std::vector<Case> &others) {
  constexpr int attempts = 1000;
  const std::vector<Dimension> &all = getDimensions();
  std::mt19937 random{20};
  std::vector<Case> cases;
  Case choices(all.size(), 0);
  while (true) {
    for (int attempt = 0; attempt < attempts; ++attempt) {
      for (size_t i = 0; i < all.size(); ++i)
        if (!all[i].is(Core))
          choices[i] = random() % all[i].choices.size();
      if (!isFree(choices, conflicts))
        continue;
      if (std::find(others.begin(), others.end(), choices) == others.end())
        cases.push_back(choices);
      break;
    }
    // The next combination, as the next number is found when counting.
    size_t dimension = 0;
    for (; dimension < all.size(); ++dimension) {
      if (!all[dimension].is(Core))
        continue;
      if (++choices[dimension] < all[dimension].choices.size())
        break;
      choices[dimension] = 0;
    }
    if (dimension == all.size())
      return cases;
  }
}

//===- CaseList.cpp - Refused combinations, and cases that meet the others ----------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===------------------------------------------------------------------------------------===//

#include "tools/ulsc-legality/CaseList.h"

#include <algorithm>
#include <fstream>
#include <sstream>

using namespace ulsc::legality;

bool Conflict::holdsIn(const Case &other) const {
  return std::all_of(choices.begin(), choices.end(), [&](const std::pair<size_t, size_t> &choice) {
    return other[choice.first] == choice.second;
  });
}

bool ulsc::legality::isFree(const Case &choices, const std::vector<Conflict> &conflicts) {
  return countRanks(choices) <= kMostRanks &&
         std::none_of(conflicts.begin(), conflicts.end(),
                      [&](const Conflict &conflict) { return conflict.holdsIn(choices); });
}

//===----------------------------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------------------------===//

static std::string nameOf(size_t dimension, size_t choice) {
  const Dimension &all = getDimensions()[dimension];
  return all.name + ":" + all.choices[choice].name;
}

void CaseList::write(std::ostream &stream) const {
  stream << "# Made by tools/generate-docs.sh from tools/ulsc-legality/Features.cpp: what\n"
            "# test/e2e/state_test.cpp trains, and what the compiler refuses (legality.md).\n"
            "# pairwise: by default. exhaustive: with ULSC_EXHAUSTIVE=1, too.\n#";
  for (const Dimension &dimension : getDimensions())
    stream << " " << dimension.name;
  stream << "\n";
  for (const Conflict &conflict : conflicts) {
    stream << "refused";
    for (auto [dimension, choice] : conflict.choices)
      stream << " " << nameOf(dimension, choice);
    stream << "\n";
  }
  for (const Case &choices : pairwise)
    stream << "pairwise " << describe(choices) << "\n";
  for (const Case &choices : more)
    stream << "exhaustive " << describe(choices) << "\n";
}

/// Reads `strategy:zero1`.
static bool parseChoice(const std::string &text, std::pair<size_t, size_t> &result) {
  for (size_t i = 0; i < getDimensions().size(); ++i)
    for (size_t j = 0; j < getDimensions()[i].choices.size(); ++j)
      if (nameOf(i, j) == text) {
        result = {i, j};
        return true;
      }
  return false;
}

static bool parseCase(const std::vector<std::string> &words, Case &result) {
  if (words.size() != getDimensions().size())
    return false;
  for (size_t i = 0; i < words.size(); ++i) {
    std::pair<size_t, size_t> choice;
    if (!parseChoice(getDimensions()[i].name + ":" + words[i], choice))
      return false;
    result.push_back(choice.second);
  }
  return true;
}

CaseList CaseList::read(const std::filesystem::path &file, std::string &problem) {
  CaseList list;
  std::ifstream stream(file);
  if (!stream)
    problem = file.string() + " can't be read";
  for (std::string line; std::getline(stream, line);) {
    std::istringstream text(line);
    std::string kind;
    std::vector<std::string> words;
    text >> kind;
    for (std::string word; text >> word;)
      words.push_back(word);
    if (kind.empty() || kind[0] == '#')
      continue;
    bool isKnown = true;
    if (kind == "refused") {
      Conflict &conflict = list.conflicts.emplace_back();
      for (const std::string &word : words)
        isKnown &= parseChoice(word, conflict.choices.emplace_back());
    } else {
      std::vector<Case> &cases = kind == "pairwise" ? list.pairwise : list.more;
      isKnown = parseCase(words, cases.emplace_back());
    }
    if (!isKnown) {
      problem = file.string() + " is stale, run tools/generate-docs.sh: " + line;
      return {};
    }
  }
  return list;
}

//===----------------------------------------------------------------------------------------===//
// What is met
//===----------------------------------------------------------------------------------------===//

std::vector<std::string> CaseList::findUnmetPairs() const {
  const std::vector<Dimension> &all = getDimensions();
  auto isMet = [&](const Conflict &pair) {
    for (const Conflict &conflict : conflicts)
      if (conflict.choices == pair.choices)
        return true;
    bool isNarrow = all[pair.choices[0].first].is(Narrow) || all[pair.choices[1].first].is(Narrow);
    return std::any_of(pairwise.begin(), pairwise.end(), [&](const Case &choices) {
      return pair.holdsIn(choices) && (isNarrow || isWide(choices));
    });
  };
  std::vector<std::string> unmet;
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = i + 1; j < all.size(); ++j)
      for (size_t a = 0; a < all[i].choices.size(); ++a)
        for (size_t b = 0; b < all[j].choices.size(); ++b)
          if (!isMet({{{i, a}, {j, b}}, ""}))
            unmet.push_back(nameOf(i, a) + " with " + nameOf(j, b));
  return unmet;
}

//===- Nearest.cpp - The nearest of several legal spellings
//------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "ulsc/Support/Nearest.h"

#include <algorithm>

using llvm::ArrayRef;
using llvm::StringRef;

StringRef ulsc::findNearest(StringRef word, ArrayRef<StringRef> candidates) {
  StringRef best;
  unsigned bestDistance = std::max<size_t>(2, word.size() / 3) + 1;
  for (StringRef candidate : candidates) {
    unsigned distance = word.edit_distance_insensitive(candidate, true, bestDistance);
    // A word that lacks or has one part too many ("micro" for "micro-batch") is near, too.
    if (word.size() > 3 && (candidate.starts_with(word) || word.starts_with(candidate)))
      distance = std::min(distance, 2u);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string ulsc::suggestNearest(StringRef word, ArrayRef<StringRef> candidates) {
  StringRef nearest = findNearest(word, candidates);
  return nearest.empty() ? std::string() : "; did you mean " + nearest.str();
}

bool ulsc::matchesGlob(StringRef pattern, StringRef text) {
  // Greedy with one way back to the last star: linear in practice, never exponential.
  size_t p = 0, t = 0, star = StringRef::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] == text[t] && pattern[p] != '*'))) {
      ++p, ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (star != StringRef::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

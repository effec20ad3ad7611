//===- Nearest.cpp - The nearest of several legal spellings
//------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "ulsc/Support/Nearest.h"

#include "ulsc/Support/NamePattern.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <set>

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

std::string ulsc::suggestPattern(StringRef pattern, ArrayRef<StringRef> names) {
  if (!pattern.contains('*'))
    return suggestNearest(pattern, names);
  size_t partCount = llvm::count(pattern, '.') + 1;
  std::set<std::string> spellings;
  for (StringRef name : names) {
    std::string starred = getLayerPattern(name);
    llvm::SmallVector<StringRef> parts;
    StringRef(starred).split(parts, '.');
    spellings.insert(starred);
    if (!pattern.starts_with("*.") || parts.size() < partCount)
      continue;
    // The last parts, as many as the pattern has after its star.
    llvm::ArrayRef<StringRef> last = llvm::ArrayRef(parts).take_back(partCount - 1);
    spellings.insert("*." + llvm::join(last, "."));
  }
  llvm::SmallVector<StringRef> candidates(spellings.begin(), spellings.end());
  return suggestNearest(pattern, candidates);
}

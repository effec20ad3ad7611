//===- NamePattern.cpp - Names of parameters and modules, and patterns of them
//-----------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Support/NamePattern.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

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

size_t ulsc::findFirstMatch(llvm::ArrayRef<StringRef> patterns, StringRef text) {
  return llvm::find_if(patterns, [&](StringRef pattern) { return matchesGlob(pattern, text); }) -
         patterns.begin();
}

std::string ulsc::getLayerPattern(StringRef name) {
  llvm::SmallVector<StringRef> parts;
  name.split(parts, '.');
  for (StringRef &part : parts)
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      part = "*";
  return llvm::join(parts, ".");
}

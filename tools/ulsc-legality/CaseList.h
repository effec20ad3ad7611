//===- CaseList.h - Refused combinations, and cases that meet the others ------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_LEGALITY_CASELIST_H
#define ULSC_TOOLS_ULSC_LEGALITY_CASELIST_H

#include "tools/ulsc-legality/Features.h"

#include <filesystem>
#include <ostream>
#include <utility>

namespace ulsc::legality {

/// Choices, by dimension, that the compiler refuses together, with the error.
struct Conflict {
  std::vector<std::pair<size_t, size_t>> choices;
  std::string error;

  bool holdsIn(const Case &other) const;
};

/// Whether a case can be run: it has no conflict, and not too many ranks.
bool isFree(const Case &choices, const std::vector<Conflict> &conflicts);

/// What docs/legality-cases.txt holds.
struct CaseList {
  std::vector<Conflict> conflicts; ///< read without their errors
  std::vector<Case> pairwise;      ///< in which each legal pair is met
  std::vector<Case> more;          ///< the larger list's, beside these

  void write(std::ostream &stream) const;
  /// Sets `problem` where the file is not of the table.
  static CaseList read(const std::filesystem::path &file, std::string &problem);

  /// `strategy:zero1 with dropout:on` for each pair that is neither refused nor met by `pairwise`;
  /// by a wide case unless the pair itself is narrow.
  std::vector<std::string> findUnmetPairs() const;
};

} // namespace ulsc::legality

#endif // ULSC_TOOLS_ULSC_LEGALITY_CASELIST_H

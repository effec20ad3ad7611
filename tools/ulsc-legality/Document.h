//===- Document.h - The page of the legality matrix ---------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_LEGALITY_DOCUMENT_H
#define ULSC_TOOLS_ULSC_LEGALITY_DOCUMENT_H

#include "tools/ulsc-legality/CaseList.h"

#include <ostream>

namespace ulsc::legality {

/// Writes docs/legality.md; `errors` are those of the later features, in their order.
void writeDocument(std::ostream &stream, const CaseList &list,
                   const std::vector<std::string> &errors);

} // namespace ulsc::legality

#endif // ULSC_TOOLS_ULSC_LEGALITY_DOCUMENT_H

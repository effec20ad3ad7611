//===- MemoryLimit.h - A program that stays within --memory-limit ------------------ -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_MEMORYLIMIT_H
#define ULSC_TOOLS_ULSC_MEMORYLIMIT_H

#include "ulsc/Pipelines.h"

#include <optional>

namespace ulsc::tool {

/// Reads `70GB`, `512MiB`, `80e9` or a number of bytes; nothing for anything else.
std::optional<int64_t> parseBytes(llvm::StringRef text);

/// Plans `module`, which is at stage `local`, under `policy`, or else under the cheapest that fits,
/// and adds the policy to `options`. Says on stderr what it chose. An error when nothing stays
/// within `limit` names the row of memory that makes it impossible.
mlir::LogicalResult applyMemoryLimit(mlir::ModuleOp module, int64_t limit,
                                     const std::string &policy, StageOptions &options);

} // namespace ulsc::tool

#endif // ULSC_TOOLS_ULSC_MEMORYLIMIT_H

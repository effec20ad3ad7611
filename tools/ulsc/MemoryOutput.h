//===- MemoryOutput.h - What ulsc memory prints ------------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_MEMORYOUTPUT_H
#define ULSC_TOOLS_ULSC_MEMORYOUTPUT_H

#include "ulsc/Memory/ModelState.h"

#include "llvm/Support/JSON.h"

namespace ulsc::tool {

/// Lines for people and one JSON document for machines, of the same answer.
class MemoryOutput {
public:
  /// Schema `ulsc.memory/1` (docs/memory.md).
  llvm::json::Object document{{"schema", "ulsc.memory/1"}};

  void print(const llvm::Twine &line);
  /// Lines of cells in columns, each padded as `alignment` says: `l` or `r` a column.
  void print(llvm::ArrayRef<std::vector<std::string>> table, llvm::StringRef alignment);
  /// The rows of ranks that are alike; `totalName` is what their sum is called.
  void print(const memory::RankMemory &rank, llvm::StringRef totalName);

  /// Writes the lines to stdout and, where `json` names a file, the document there. With `-` only
  /// the document is written, to stdout.
  mlir::LogicalResult write(llvm::StringRef json) const;

private:
  std::string text;
};

/// `replicated`, `sharded over dp,tp`, or `under way`.
std::string describe(const memory::RowPart &part);

/// `293,125,000,000 B`.
std::string formatExactBytes(int64_t bytes);

} // namespace ulsc::tool

#endif // ULSC_TOOLS_ULSC_MEMORYOUTPUT_H

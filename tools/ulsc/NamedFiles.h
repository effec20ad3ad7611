//===- NamedFiles.h - The files that a command line names --------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_NAMEDFILES_H
#define ULSC_TOOLS_ULSC_NAMEDFILES_H

#include "tools/ulsc/CommandLine.h"

#include "mlir/Support/LLVM.h"

namespace ulsc::tool {

/// A file, and what names it: "--recipe", "MODEL".
struct NamedFile {
  std::string name, path;
};

/// Refuses an output that would take the place of an input or of another output, with both named.
/// Stdout, devices and pipes have no such place.
mlir::LogicalResult checkFiles(llvm::ArrayRef<NamedFile> inputs, llvm::ArrayRef<NamedFile> outputs);

/// The same of the files that the options of compiling, explaining and planning name; `schedule` is
/// the file of a pipeline's table, which a recipe may name, too.
mlir::LogicalResult checkFiles(const Arguments &arguments, llvm::StringRef schedule = "");

} // namespace ulsc::tool

#endif // ULSC_TOOLS_ULSC_NAMEDFILES_H

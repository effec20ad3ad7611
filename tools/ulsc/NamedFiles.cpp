//===- NamedFiles.cpp - The files that a command line names -----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "tools/ulsc/NamedFiles.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::tool;

/// The place of a file, there or not: its folder is looked up, so that all spellings are one.
static std::string findPlace(StringRef path) {
  SmallString<128> folder(llvm::sys::path::parent_path(path)), place;
  if (folder.empty())
    folder = ".";
  if (llvm::sys::fs::real_path(folder, place))
    place = folder;
  llvm::sys::path::append(place, llvm::sys::path::filename(path));
  return place.str().str();
}

static bool isOneFile(StringRef a, StringRef b) {
  if (a.empty() || b.empty() || a == "-" || b == "-")
    return false;
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(a, status) && llvm::sys::fs::is_other(status))
    return false;
  return llvm::sys::fs::equivalent(a, b) || findPlace(a) == findPlace(b);
}

LogicalResult tool::checkFiles(ArrayRef<NamedFile> inputs, ArrayRef<NamedFile> outputs) {
  for (auto [i, output] : llvm::enumerate(outputs)) {
    for (const NamedFile &input : inputs)
      if (isOneFile(output.path, input.path)) {
        reportUsageError(output.name + " would write over " + output.path + ", which " +
                         input.name + " reads; give it a file of its own");
        return failure();
      }
    for (const NamedFile &other : outputs.take_front(i))
      if (isOneFile(output.path, other.path)) {
        reportUsageError(other.name + " and " + output.name + " both write " + output.path +
                         "; give each a file of its own");
        return failure();
      }
  }
  return success();
}

LogicalResult tool::checkFiles(const Arguments &arguments, StringRef schedule) {
  std::vector<NamedFile> inputs, outputs;
  auto add = [&](std::vector<NamedFile> &files, StringRef option) {
    for (const std::string &path : arguments.getAll(option))
      files.push_back({(option.size() == 1 ? "-" : "--") + option.str(), path});
  };
  for (const std::string &path : arguments.positionals) {
    SmallString<128> file(path);
    if (llvm::sys::fs::is_directory(path))
      llvm::sys::path::append(file, "config.json");
    inputs.push_back({"MODEL", file.str().str()});
  }
  inputs.push_back({"the schedule", schedule.str()});
  for (StringRef option : {"recipe", "costs", "load-pass-plugin", "load-dialect-plugin"})
    add(inputs, option);
  for (StringRef option : {"o", "report", "timeline", "schedule-out", "json"})
    add(outputs, option);
  return checkFiles(inputs, outputs);
}

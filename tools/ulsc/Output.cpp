//===- Output.cpp - Files that are whole or not there
//------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "tools/ulsc/Output.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

using namespace mlir;

static LogicalResult fail(StringRef path, const Twine &problem) {
  llvm::errs() << "ulsc: error: " << path << " can't be written: " << problem << "\n";
  return failure();
}

/// Closes `stream`. An error that nobody asked for would end the program when the stream goes.
static LogicalResult finish(StringRef path, llvm::raw_fd_ostream &stream) {
  stream.close();
  std::error_code error = stream.error();
  stream.clear_error();
  return error ? fail(path, error.message()) : success();
}

LogicalResult ulsc::tool::finishStdout() {
  llvm::outs().flush();
  std::error_code error = llvm::outs().error();
  llvm::outs().clear_error();
  return error ? fail("stdout", error.message()) : success();
}

LogicalResult ulsc::tool::writeFile(StringRef path, llvm::function_ref<void(raw_ostream &)> write) {
  if (path == "-") {
    write(llvm::outs());
    return finishStdout();
  }
  // Devices and pipes are written as they are: a file must not take their place.
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) && llvm::sys::fs::is_other(status)) {
    std::error_code error;
    llvm::raw_fd_ostream stream(path, error);
    if (error)
      return fail(path, error.message());
    write(stream);
    return finish(path, stream);
  }
  int descriptor = -1;
  SmallString<128> temporary;
  if (std::error_code error =
          llvm::sys::fs::createUniqueFile(path + ".%%%%%%.tmp", descriptor, temporary))
    return fail(path, error.message());
  // A signal that ends the program takes the file along.
  llvm::sys::RemoveFileOnSignal(temporary);
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  write(stream);
  LogicalResult result = finish(path, stream);
  if (succeeded(result))
    if (std::error_code error = llvm::sys::fs::rename(temporary, path))
      result = fail(path, error.message());
  if (failed(result))
    llvm::sys::fs::remove(temporary);
  llvm::sys::DontRemoveFileOnSignal(temporary);
  return result;
}

LogicalResult ulsc::tool::checkFolder(StringRef path, bool isProgram) {
  if (isProgram && path == "-")
    return fail("stdout", "a program needs a file of its own; give a file's path");
  if (path.empty() || path == "-")
    return success();
  StringRef folder = llvm::sys::path::parent_path(path);
  if (folder.empty())
    folder = ".";
  if (llvm::sys::fs::is_directory(path))
    return fail(path, "it is a folder; give a file's name");
  llvm::sys::fs::file_status status;
  if (isProgram && !llvm::sys::fs::status(path, status) && llvm::sys::fs::is_other(status))
    return fail(path, "it is a device or a pipe, whose place the program would take; give a "
                      "file's path");
  if (!llvm::sys::fs::is_directory(folder))
    return fail(path, "there is no folder " + folder + "; make it first");
  if (std::error_code error = llvm::sys::fs::access(folder, llvm::sys::fs::AccessMode::Write))
    return fail(path, "folder " + folder + ": " + error.message());
  return success();
}

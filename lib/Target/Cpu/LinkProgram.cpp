//===- LinkProgram.cpp - Executables -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Diagnostics.h"
#include "ulsc/Target/Cpu.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace ulsc;

/// A part of the runtime, beside the compiler or in the folder that the build leaves it in.
static std::string findRuntime(StringRef part, StringRef tool) {
  static int anchor;
  std::string executable = llvm::sys::fs::getMainExecutable(tool.str().c_str(), &anchor);
  llvm::SmallString<256> path(llvm::sys::path::parent_path(executable));
  llvm::sys::path::append(path, "..", "lib", "libulsc_runtime_" + part + ".a");
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return path.str().str();
}

static std::string findLinker() {
#ifdef ULSC_LINKER
  return ULSC_LINKER;
#endif
  for (StringRef name : {"c++", "g++", "clang++", "clang++-22"})
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name))
      return *path;
  return "";
}

LogicalResult ulsc::linkProgram(Location loc, ArrayRef<std::string> objects, StringRef target,
                                StringRef output, StringRef tool) {
  std::string runtime = findRuntime(target, tool), core = findRuntime("core", tool);
  for (const std::string &library : {runtime, core})
    if (!llvm::sys::fs::exists(library))
      return emitError(loc) << "the runtime library '" << library
                            << "' does not exist; build the target ulsc_runtime";
  std::string linker = findLinker();
  if (linker.empty())
    return emitError(loc) << "no C++ compiler to link with; c++, g++ and clang++ are not in PATH";
  SmallVector<StringRef> arguments = {linker, "-o", output};
  for (const std::string &object : objects)
    arguments.push_back(object);
  bool isForCpu = target == "cpu";
  arguments.append({runtime, core});
  // Only a program for the cpu moves its data through MPI; one for GPUs runs where there is none.
  if (isForCpu)
    arguments.append({"-lmpi", "-ldnnl"});
  else
    arguments.push_back("-lcrypto");
  arguments.append({"-l:libgomp.so.1", "-lpthread", "-ldl", "-lm"});
#ifdef ULSC_LINK_OPTION
  arguments.push_back(ULSC_LINK_OPTION);
#endif
  llvm::SmallString<128> log;
  if (llvm::sys::fs::createTemporaryFile("ulsc-link", "log", log))
    return emitError(loc) << "cannot make a temporary file for the linker's messages";
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log), StringRef(log)};
  std::string message;
  int code = llvm::sys::ExecuteAndWait(linker, arguments, std::nullopt, redirects, 0, 0, &message);
  auto text = llvm::MemoryBuffer::getFile(log);
  llvm::sys::fs::remove(log);
  if (code == 0)
    return success();
  InFlightDiagnostic error = emitError(loc)
                             << "linking '" << output << "' failed with code " << code;
  if (!message.empty())
    error << ": " << message;
  if (text)
    error.attachNote() << (*text)->getBuffer() << "; a program for the target " << target
                       << " links "
                       << (isForCpu ? "Open MPI (libopenmpi-dev), oneDNN (libdnnl-dev)"
                                    : "OpenSSL (libssl-dev)")
                       << " and libgomp";
  return error;
}

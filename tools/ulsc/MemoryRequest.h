//===- MemoryRequest.h - What ulsc memory is asked ---------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_MEMORYREQUEST_H
#define ULSC_TOOLS_ULSC_MEMORYREQUEST_H

#include "tools/ulsc/CommandLine.h"
#include "tools/ulsc/MemoryMesh.h"

namespace ulsc::tool {

/// The options of `ulsc memory`: its own and those of what is compiled.
llvm::ArrayRef<OptionSpec> getMemoryOptions();

/// Whether `ulsc compile` takes the option `name`.
bool isCompileOption(llvm::StringRef name);

struct MemoryRequest {
  /// Without a model.
  std::optional<int64_t> parameters;
  memory::StateDtypes dtypes;
  std::string reduceDtype, optimizer;
  /// The one of data parallelism that --strategy names; null where it names none.
  const memory::StateStrategy *strategy = nullptr;
  /// The others, as `tp`.
  std::vector<std::string> otherStrategies;
  /// Of --mesh and --devices, where the formula needs it rather than a compilation: without a
  /// model, for --min-devices and for hybrid meshes.
  std::optional<MemoryMesh> mesh;
  std::optional<int64_t> deviceMemory;
  bool findsDevices = false, comparesDtypes = false, isInference = false;
  std::optional<int64_t> sequences;
  int64_t seq = 0;
  /// Where the JSON document goes; empty for nowhere.
  std::string json;
};

/// Reads and checks the options; reports what is wrong.
std::optional<MemoryRequest> readMemoryRequest(const Arguments &arguments);

} // namespace ulsc::tool

#endif // ULSC_TOOLS_ULSC_MEMORYREQUEST_H

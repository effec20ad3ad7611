//===- Compiler.h - Asks the compiler about a command -------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_LEGALITY_COMPILER_H
#define ULSC_TOOLS_ULSC_LEGALITY_COMPILER_H

#include "tools/ulsc-legality/Features.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace ulsc::legality {

/// Runs the `ulsc` of a build on models of the repository's test/golden.
class Compiler {
public:
  /// Files that commands need are written below `scratch`.
  Compiler(std::filesystem::path program, std::filesystem::path root,
           std::filesystem::path scratch);

  /// What `command` gives to `ulsc compile`: the model, then its flags with the recipe written to a
  /// file and the limit filled in. Nothing, with the reason in `error`, where the limit can't be
  /// known because a compilation fails.
  std::optional<Words> complete(const Command &command, std::string &error) const;

  /// Compiles to the plan of the memory; the text of all errors if it is refused.
  std::optional<std::string> refuses(const Command &command) const;

private:
  /// Runs `ulsc compile WORDS… --emit exec`; the text of all errors.
  std::optional<std::string> run(Words words) const;
  /// The planned peak under a recomputation policy.
  std::optional<int64_t> measurePeak(Words words, const std::string &policy,
                                     std::string &error) const;
  std::string readErrors(const std::string &output) const;
  /// Below `scratch`, of this process alone.
  std::filesystem::path nameFile(const char *name) const;

  std::filesystem::path program, root, scratch;
};

} // namespace ulsc::legality

#endif // ULSC_TOOLS_ULSC_LEGALITY_COMPILER_H

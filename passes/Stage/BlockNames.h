//===- BlockNames.h - How users name the blocks that a step calls -----------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_STAGE_BLOCKNAMES_H
#define ULSC_PASSES_STAGE_BLOCKNAMES_H

#include "dialects/Uls/Uls.h"

#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace ulsc::stage {

/// `layer.3`, `head`: the block, with the layer that the call is.
std::string getCallName(uls::CallOp call);

/// Calls of blocks by the modules of the source model: `model.layers.3`, or any module that one
/// call alone has the parameters of. What is no one module (a head of norm and projection) goes by
/// its block's name, too.
class BlockNames {
public:
  explicit BlockNames(llvm::ArrayRef<uls::CallOp> calls);

  /// The call of a block.
  std::optional<size_t> find(llvm::StringRef name) const;
  /// The name that messages have for a call.
  llvm::StringRef getName(size_t call) const { return names[call]; }
  /// `the blocks are …; did you mean …`.
  std::string suggest(llvm::StringRef name) const;

private:
  /// By name; none where several calls have parts of the module.
  llvm::StringMap<std::optional<size_t>> callOf;
  std::vector<std::string> names;
};

} // namespace ulsc::stage

#endif // ULSC_PASSES_STAGE_BLOCKNAMES_H

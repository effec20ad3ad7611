//===- SplitBackward.h - A backward block in two -----------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SCHEDULE_SPLITBACKWARD_H
#define ULSC_PASSES_SCHEDULE_SPLITBACKWARD_H

#include "dialects/Uls/Uls.h"

#include "llvm/ADT/DenseSet.h"

namespace ulsc::uls {

/// Two blocks that together are a backward block: the first gives some of its gradients and what
/// the second, which gives the others, goes on with. One after the other they compute what the
/// whole does.
struct SplitBackward {
  BlockOp first, second;
  /// Arguments of the backward block that the second takes, by number, before what is passed on.
  llvm::SmallVector<unsigned> arguments;
  /// How many of the first one's results, its last, are passed on.
  unsigned numPassedOn = 0;
  /// The numbers of the gradients that the second gives.
  llvm::SmallVector<int64_t> secondGives;
};

/// Splits `backward`, whose results with the numbers `gives` the first part gives. What only the
/// others need is the second part's; of what both need, the first computes it and passes it on, but
/// ops in `again`, made of arguments alone, are done again.
SplitBackward splitBackward(BlockOp backward, llvm::ArrayRef<int64_t> gives,
                            const llvm::DenseSet<mlir::Operation *> &again, unsigned number);

/// A plain block of the given signature before `place`, with an empty body, and the attributes of
/// those arguments that are arguments of `source`.
BlockOp createBlock(BlockOp source, mlir::Operation *place, const llvm::Twine &name,
                    mlir::ValueRange arguments, mlir::TypeRange results);

/// Notes on `block` what a call of it computes again: these ops, or copies of them.
void setRecomputed(BlockOp block, llvm::ArrayRef<mlir::Operation *> ops);

} // namespace ulsc::uls

#endif // ULSC_PASSES_SCHEDULE_SPLITBACKWARD_H

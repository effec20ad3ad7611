//===- BufferAssignment.h - The buffers of one function's values ------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_BUFFERASSIGNMENT_H
#define ULSC_PASSES_LOWER_BUFFERASSIGNMENT_H

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/BufferClasses.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

#include <functional>

namespace ulsc::lower {

/// How a block is called: which results are written over which arguments, which arguments no one
/// reads after the call.
struct Signature {
  llvm::SmallVector<std::optional<unsigned>>
      accumulatorOf;                 ///< per result, the argument that it overwrites
  llvm::SmallVector<bool> isDonated; ///< per argument
};

/// The signature of a block: accumulators from its attributes, donations from all its calls.
Signature getSignature(uls::BlockOp block, llvm::ArrayRef<uls::CallOp> calls);

/// Whether `value` is seen through another one without being copied: the source, or null.
mlir::Value getViewSource(mlir::Operation *op);

/// Where a persistent buffer lies, by name.
struct Persistent {
  unsigned classId;
  mlir::RankedTensorType type;
};

/// Decides the classes of a block's or the step's values.
class BufferAssignment {
public:
  BufferAssignment(mlir::Block &body, const mlir::SymbolTable &symbols,
                   const llvm::StringMap<Signature> &signatures, const Signature &own);

  BufferClasses classes;
  Timeline timeline;
  llvm::StringMap<Persistent> persistents;
  /// Per result of the block, the class that the caller gives for it; the accumulator's for those
  /// that have one.
  llvm::SmallVector<unsigned> resultClasses;

private:
  void createValues(mlir::Block &block);
  void createValue(mlir::Value value);
  void createView(mlir::Operation *op, mlir::Value source);
  void createPersistents();
  void createLoop(uls::MicrobatchesOp loop);
  void createResults();
  void tieCollectives();
  void tieAll();
  void collectTies(mlir::Operation *op);
  void collectCallTies(uls::CallOp call);
  void collectConcatTies(uls::ConcatOp concat);
  void collectApplyTies(exec::ApplyOp apply);
  void request(const void *ending, const void *starting, bool isRequired,
               std::function<void()> join);

  /// A wish that two values share memory.
  struct Tie {
    bool isRequired; ///< a copy is needed otherwise
    std::function<void()> join;
  };
  llvm::SmallVector<Tie> ties;

  mlir::Block &body;
  const mlir::SymbolTable &symbols;
  const llvm::StringMap<Signature> &signatures;
  const Signature &own;
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_BUFFERASSIGNMENT_H

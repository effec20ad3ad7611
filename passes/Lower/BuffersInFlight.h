//===- BuffersInFlight.h - That nobody touches what travels -----------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_BUFFERSINFLIGHT_H
#define ULSC_PASSES_LOWER_BUFFERSINFLIGHT_H

#include "passes/Lower/CommunicationEvents.h"

#include "llvm/ADT/DenseMap.h"

namespace ulsc::lower {

/// Follows a stage's program with a memory plan and looks at bytes, whichever buffers they are of:
/// between the start of a communication and its wait, which stands in the same block, nothing
/// writes what it reads, and nothing reads or writes what it writes.
class BuffersInFlight {
public:
  BuffersInFlight(mlir::SymbolTable &symbols, CommunicationReader &reader)
      : symbols(symbols), reader(reader) {}

  mlir::LogicalResult check(exec::FunctionOp entry);

private:
  /// Bytes of an arena, or of what has no place in one; without a space, bytes anywhere.
  struct Bytes {
    const void *space = nullptr;
    int64_t begin = 0, end = 0;
    bool meets(const Bytes &other) const {
      return !space || !other.space ||
             (space == other.space && begin < other.end && other.begin < end);
    }
  };
  struct Access {
    Bytes bytes;
    bool writes; ///< else it only reads
  };
  /// A communication between start and wait.
  struct Started {
    exec::CollectiveStartOp op;
    CallChain calls;
    llvm::SmallVector<Access> accesses;
  };
  /// A function as it is called: where its arguments and its frame lie.
  struct Scope {
    llvm::DenseMap<mlir::Value, Bytes> arguments;
    Bytes frame;
  };
  /// What a function does to its arguments.
  struct Summary {
    bool communicates = false;
    llvm::SmallVector<std::pair<bool, bool>> readsAndWrites;
  };

  mlir::LogicalResult checkBlock(mlir::Block &block, const Scope &scope);
  mlir::LogicalResult checkOp(mlir::Operation &op, const Scope &scope, size_t outer);
  mlir::LogicalResult checkCall(exec::CallOp call, const Scope &scope);
  mlir::LogicalResult finish(exec::CollectiveWaitOp wait, size_t outer);
  mlir::LogicalResult checkAccesses(mlir::Operation *op, llvm::ArrayRef<Access> accesses);

  Bytes getBytes(mlir::Value value, const Scope &scope);
  llvm::SmallVector<Access> getAccesses(mlir::Operation *op, const Scope &scope);
  const Summary &getSummary(exec::FunctionOp function);
  std::string describe(mlir::Operation *op);

  mlir::SymbolTable &symbols;
  CommunicationReader &reader;
  llvm::DenseMap<mlir::Operation *, Summary> summaries;
  int64_t stage = 0;
  CallChain calls;
  llvm::SmallVector<Started> inFlight;
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_BUFFERSINFLIGHT_H

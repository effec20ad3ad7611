//===- CommunicationEvents.h - What a stage's program communicates ----------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_COMMUNICATIONEVENTS_H
#define ULSC_PASSES_LOWER_COMMUNICATIONEVENTS_H

#include "dialects/Dist/Dist.h"
#include "dialects/Exec/ExecOps.h"
#include "ulsc/CommunicationProof.h"

#include "mlir/IR/SymbolTable.h"

namespace ulsc::lower {

/// The calls that lead to an op, outermost first.
using CallChain = llvm::SmallVector<exec::CallOp>;

/// Sets whose value an op is about, by itself or by the innermost call that tells.
void noteOwner(mlir::Operation *op, const CallChain &calls, int64_t &chunk, int64_t &microbatch);

/// Reads the programs of a module with buffers as the proof sees them.
class CommunicationReader {
public:
  CommunicationReader(mlir::ModuleOp module, mlir::SymbolTable &symbols);

  /// The entries, one for each stage, in the stages' order. Fails if a stage has none.
  mlir::FailureOr<llvm::SmallVector<exec::FunctionOp>> getEntries();
  /// What one rank of an entry's stage communicates, calls and loops followed. Fails where that
  /// cannot be told.
  mlir::FailureOr<std::vector<proof::Event>> read(exec::FunctionOp entry);
  proof::Communication describe(exec::CollectiveStartOp start, const CallChain &calls);

private:
  mlir::LogicalResult readBlock(mlir::Block &block, CallChain &calls);
  mlir::LogicalResult readCall(exec::CallOp call, CallChain &calls);
  mlir::LogicalResult readLoop(mlir::Operation *loop, CallChain &calls);
  mlir::LogicalResult checkStart(exec::CollectiveStartOp start, const CallChain &calls);
  std::string findGroupProblem(exec::CollectiveStartOp start);
  std::string findTypeProblem(exec::CollectiveStartOp start);
  std::string findIdentifierProblem(exec::CollectiveStartOp start);
  mlir::LogicalResult add(mlir::Operation *op, proof::Event event);
  std::string getSource(exec::CollectiveStartOp start);
  llvm::SmallVector<llvm::StringRef> getAxes(exec::CollectiveStartOp start);

  mlir::ModuleOp module;
  mlir::SymbolTable &symbols;
  mlir::ArrayAttr groups, collectives;
  dist::MeshAttr mesh;
  int64_t stages = 1;
  std::vector<proof::Event> events;
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_COMMUNICATIONEVENTS_H

//===- BufferEmitter.h - Writes a function on buffers from one on values ----------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_BUFFEREMITTER_H
#define ULSC_PASSES_LOWER_BUFFEREMITTER_H

#include "passes/Lower/BufferAssignment.h"
#include "passes/Lower/CollectiveTable.h"

#include "mlir/IR/IRMapping.h"

namespace ulsc::lower {

/// What all functions of a module share while they are written.
struct ModuleState {
  explicit ModuleState(mlir::ModuleOp module)
      : module(module), symbols(module), collectives(module) {}

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  CollectiveTable collectives;
  llvm::StringMap<Signature> signatures;
  /// Per written function, how many slots for started collectives it and its callees use.
  llvm::StringMap<int64_t> slots;
  int64_t threads = 2;
  /// Libraries and generated kernels of a device have other needs for memory than those of a cpu.
  bool isForDevice = false;
};

/// Writes one `exec.function`. Each op on values has a handler by its name.
class BufferEmitter {
public:
  BufferEmitter(ModuleState &state, mlir::Block &body, llvm::StringRef name,
                const Signature &signature);

  /// The function that a block becomes.
  mlir::FailureOr<exec::FunctionOp> emitBlock(uls::BlockOp block);
  /// The entry that the step becomes.
  mlir::FailureOr<exec::FunctionOp> emitStep(uls::StepOp step);

private:
  using Handler = mlir::LogicalResult (BufferEmitter::*)(mlir::Operation *);
  static const llvm::StringMap<Handler> &getHandlers();

  mlir::LogicalResult emitOps(mlir::Block &block);
  mlir::LogicalResult emitNothing(mlir::Operation *) { return mlir::success(); }
  mlir::LogicalResult emitScalar(mlir::Operation *op);
  mlir::LogicalResult emitApply(mlir::Operation *op);
  mlir::LogicalResult emitContract(mlir::Operation *op);
  mlir::LogicalResult emitAttention(mlir::Operation *op);
  mlir::LogicalResult emitAttentionGrad(mlir::Operation *op);
  mlir::LogicalResult emitConstant(mlir::Operation *op);
  mlir::LogicalResult emitConcat(mlir::Operation *op);
  mlir::LogicalResult emitMicrobatch(mlir::Operation *op);
  mlir::LogicalResult emitLoop(mlir::Operation *op);
  mlir::LogicalResult emitYield(mlir::Operation *op);
  mlir::LogicalResult emitCall(mlir::Operation *op);
  mlir::LogicalResult emitPut(mlir::Operation *op);
  mlir::LogicalResult emitControl(mlir::Operation *op);
  mlir::LogicalResult emitReport(mlir::Operation *op);
  mlir::LogicalResult emitCollective(mlir::Operation *op);
  mlir::LogicalResult emitStart(mlir::Operation *op);
  mlir::LogicalResult emitWait(mlir::Operation *op);

  mlir::LogicalResult emitCollectiveStart(mlir::Operation *op, mlir::ValueRange results,
                                          int64_t slot);
  template <typename Target, typename Source, typename... Values>
  mlir::LogicalResult emitAttentionLike(Source op, Values... rest);
  mlir::LogicalResult emitLoopCopies(mlir::Operation *yield, uls::MicrobatchesOp loop);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> getAttentionScalars(mlir::Operation *op,
                                                                      mlir::Value context,
                                                                      dist::ShardAttr shard,
                                                                      mlir::ArrayAttr &sizes);
  void createPersistents();

  /// The buffer where `value` lies, in the value's shape.
  mlir::Value getBuffer(mlir::Value value);
  mlir::Value getBufferOrNull(mlir::Value value) {
    return value ? getBuffer(value) : mlir::Value();
  }
  llvm::SmallVector<mlir::Value> getBuffers(mlir::ValueRange values);
  /// The memory of a class, made at first use.
  mlir::Value getRoot(unsigned classId);
  mlir::Value getView(mlir::Value root, int64_t offset, mlir::RankedTensorType type,
                      mlir::Location location);
  exec::Category getCategory(const BufferClass &owner);
  bool isAccumulator(mlir::Value value);
  mlir::Value createBuffer(exec::Category category, mlir::Type type, mlir::StringAttr name,
                           mlir::Location location);
  bool haveSamePlace(mlir::Value a, mlir::Value b);
  int64_t takeSlot();

  ModuleState &state;
  mlir::Block &body;
  std::string name;
  const Signature &signature;
  BufferAssignment assignment;
  mlir::OpBuilder builder;
  mlir::Block *target = nullptr;
  mlir::Operation *lastBuffer = nullptr;
  mlir::IRMapping scalars;
  llvm::DenseMap<unsigned, mlir::Value> roots;
  llvm::DenseMap<mlir::Value, int64_t> slotOfHandle;
  llvm::SmallVector<bool> slotsInUse;
  int64_t firstSlot = 0, slotCount = 0;
  /// Of the step; -1 where all ranks run it.
  int64_t stage = -1;
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_BUFFEREMITTER_H

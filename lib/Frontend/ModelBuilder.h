//===- ModelBuilder.h - Writes parameters, blocks and the forward function --------- -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_FRONTEND_MODELBUILDER_H
#define ULSC_LIB_FRONTEND_MODELBUILDER_H

#include "ulsc/Frontend.h"

#include "dialects/Uls/Uls.h"
#include "llvm/ADT/StringMap.h"

namespace ulsc::frontend {

/// A parameter as a family describes it.
struct Parameter {
  /// Hugging Face name; in a layer with `*` for the layer's index.
  std::string name;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<llvm::StringRef> axes;
  uls::InitAttr init;
  /// Dimensions that make up each of Hugging Face's; empty where they are equal.
  llvm::SmallVector<llvm::SmallVector<int64_t>> external = {};
  /// Whether blocks see it in the compute dtype; norm weights and biases stay f32.
  bool isMatrix = true;
};

class ModelBuilder;

/// Writes one block. Arguments are asked for in order: inputs, the context, then parameters.
class BlockBuilder {
public:
  BlockBuilder(ModelBuilder &model, llvm::StringRef name);

  mlir::Value addInput(mlir::RankedTensorType type, llvm::ArrayRef<llvm::StringRef> axes,
                       llvm::StringRef name);
  /// The context argument, which is there only in blocks that ask for it before their first
  /// parameter.
  void addContext();
  mlir::Value addParameter(const Parameter &parameter);
  /// Later ops come from the module `path` of the source model.
  void setModule(llvm::StringRef path);

  template <typename Op, typename... Args>
  Op create(Args &&...args) {
    return Op::create(builder, location, std::forward<Args>(args)...);
  }
  mlir::Value einsum(llvm::StringRef equation, mlir::Value lhs, mlir::Value rhs);
  /// `value + bias`, bias along the last dimensions, in the dtype of `value`.
  mlir::Value addBias(mlir::Value value, mlir::Value bias);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// Drops elements if the model drops any and `rate` is not zero.
  mlir::Value dropout(mlir::Value value, llvm::StringRef key, double rate);

  mlir::Value getContextArgument() const { return contextArgument; }
  /// Ends the block.
  void finish(mlir::ValueRange results);

private:
  friend class ModelBuilder;
  mlir::Value addArgument(mlir::Type type, llvm::ArrayRef<llvm::StringRef> axes, bool isParameter,
                          llvm::StringRef name);

  ModelBuilder &model;
  mlir::OpBuilder builder;
  mlir::Location location;
  uls::BlockOp op;
  llvm::SmallVector<mlir::DictionaryAttr> argumentAttributes;
  llvm::SmallVector<Parameter> parameters;
  mlir::Value contextArgument;
};

/// Writes one module.
class ModelBuilder {
public:
  ModelBuilder(mlir::MLIRContext *context, const ImportOptions &options);

  mlir::RankedTensorType getComputeType(llvm::ArrayRef<int64_t> shape);
  /// In the dtype in which a parameter is stored: that of its use.
  mlir::RankedTensorType getStoredType(const Parameter &parameter, llvm::ArrayRef<int64_t> shape);
  mlir::RankedTensorType getIntegerType(llvm::ArrayRef<int64_t> shape);
  mlir::RankedTensorType getFloatType(llvm::ArrayRef<int64_t> shape);
  uls::InitAttr normal(double std);
  uls::InitAttr zeros();
  uls::InitAttr ones();

  /// Rows of a microbatch over all data ranks.
  int64_t getRows() const { return options.microBatch * options.dataRanks; }
  int64_t getSeq() const { return options.seq; }
  int64_t padVocabulary(int64_t size) const;

  /// Starts `@forward`; blocks are written before.
  void beginForward();
  mlir::Value getTokens();
  mlir::Value getTargets();
  /// Positions of a row's elements, made once.
  mlir::Value getPositions();
  /// Calls `block` with these inputs and its parameters, `*` of their names replaced by `layer`.
  mlir::ValueRange call(BlockBuilder &block, mlir::ValueRange inputs,
                        std::optional<int64_t> layer = std::nullopt);
  void finishForward(mlir::Value loss);
  /// The sum of the losses of valid targets, at the end of `block`.
  mlir::Value writeLoss(BlockBuilder &block, mlir::Value logits, mlir::Value targets,
                        int64_t vocabulary);

  mlir::MLIRContext *getContext() { return context; }
  mlir::ModuleOp getModule() { return *module; }
  mlir::OwningOpRef<mlir::ModuleOp> take() { return std::move(module); }
  const ImportOptions &getOptions() const { return options; }
  /// Whether the program drops elements.
  bool hasDropout = false;

private:
  friend class BlockBuilder;
  /// The compute value of a parameter, which is declared and materialised when first asked for.
  mlir::Value materialize(const Parameter &parameter, std::optional<int64_t> layer);
  void declare(const Parameter &parameter, llvm::StringRef name);

  mlir::MLIRContext *context;
  const ImportOptions &options;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Where parameters, blocks and the body of `@forward` go.
  mlir::OpBuilder parameterBuilder, blockBuilder, forwardBuilder;
  mlir::Operation *firstBlock = nullptr;
  uls::ForwardOp forward;
  mlir::Value positions;
  llvm::StringMap<mlir::Value> materialized;
};

} // namespace ulsc::frontend

#endif // ULSC_LIB_FRONTEND_MODELBUILDER_H

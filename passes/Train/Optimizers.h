//===- Optimizers.h - The optimizers that can be named ----------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_TRAIN_OPTIMIZERS_H
#define ULSC_PASSES_TRAIN_OPTIMIZERS_H

#include "dialects/Uls/Uls.h"

#include <functional>

namespace ulsc::uls {

/// What an update rule is written with. Tensors are flat and in f32.
struct RuleBuilder {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  /// The master value, the clipped gradient in f32, and the states in the order of the optimizer's
  /// roles.
  mlir::Value parameter, gradient;
  llvm::SmallVector<mlir::Value> states;

  mlir::Value constant(double value);
  mlir::Value control(llvm::StringRef field);
  /// `learning_rate` and `weight_decay` of this parameter: those of the run times the parameter's
  /// scales.
  mlir::Value learningRate() {
    return mul(control("learning_rate"), control("parameter_lr_scale"));
  }
  mlir::Value weightDecay() {
    return mul(control("weight_decay"), control("parameter_decay_scale"));
  }
  mlir::Value add(mlir::Value lhs, mlir::Value rhs) { return create<AddOp>(lhs, rhs); }
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs) { return create<SubOp>(lhs, rhs); }
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs) { return create<MulOp>(lhs, rhs); }
  mlir::Value div(mlir::Value lhs, mlir::Value rhs) { return create<DivOp>(lhs, rhs); }
  mlir::Value sqrt(mlir::Value value) { return create<SqrtOp>(value); }

private:
  template <typename Op, typename... Args>
  mlir::Value create(Args &&...args) {
    return Op::create(builder, loc, std::forward<Args>(args)...)->getResult(0);
  }
};

struct Optimizer {
  /// Roles of the states it keeps per parameter.
  llvm::SmallVector<llvm::StringRef> roles;
  /// Writes the update; returns the new parameter, then the new states.
  std::function<llvm::SmallVector<mlir::Value>(RuleBuilder &)> write;
};

/// torch.optim.AdamW: decoupled weight decay (Loshchilov and Hutter 2019).
Optimizer getAdamW();
/// torch.optim.SGD with momentum, without dampening and Nesterov.
Optimizer getSgd();

/// All optimizers by name. A plugin may add one before the pipeline runs.
llvm::StringMap<Optimizer> &getOptimizers();

} // namespace ulsc::uls

#endif // ULSC_PASSES_TRAIN_OPTIMIZERS_H

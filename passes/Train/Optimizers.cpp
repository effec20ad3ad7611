//===- Optimizers.cpp - The optimizers that can be named
//-----------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Train/Optimizers.h"

using namespace mlir;
using namespace ulsc::uls;

static RankedTensorType scalarType(RuleBuilder &rule) {
  return RankedTensorType::get({}, rule.builder.getF32Type());
}

Value RuleBuilder::constant(double value) {
  auto splat = DenseElementsAttr::get(scalarType(*this), Attribute(builder.getF32FloatAttr(value)));
  return create<ConstantOp>(splat.getType(), splat);
}

Value RuleBuilder::control(StringRef field) {
  return create<ControlOp>(scalarType(*this), builder.getStringAttr(field));
}

/// In PyTorch's order of operations, so that f32 rounds alike.
static SmallVector<Value> writeAdamW(RuleBuilder &rule) {
  Value one = rule.constant(1.0), gradient = rule.gradient;
  Value beta1 = rule.control("beta1"), beta2 = rule.control("beta2");
  Value learningRate = rule.learningRate();

  // p ← p · (1 − lr · weight_decay)
  Value keep = rule.sub(one, rule.mul(learningRate, rule.weightDecay()));
  Value parameter = rule.mul(rule.parameter, keep);
  // m ← m + (1 − β₁) · (g − m), as lerp
  Value difference = rule.sub(gradient, rule.states[0]);
  Value moment1 = rule.add(rule.states[0], rule.mul(difference, rule.sub(one, beta1)));
  // v ← β₂ · v + (1 − β₂) · g · g
  Value decayed = rule.mul(rule.states[1], beta2);
  Value square = rule.mul(rule.mul(gradient, rule.sub(one, beta2)), gradient);
  Value moment2 = rule.add(decayed, square);
  // p ← p − (lr / bc₁) · m / (√v / √bc₂ + ε)
  Value stepSize = rule.div(learningRate, rule.control("bias_correction1"));
  Value root = rule.div(rule.sqrt(moment2), rule.sqrt(rule.control("bias_correction2")));
  Value denominator = rule.add(root, rule.control("epsilon"));
  Value update = rule.div(rule.mul(moment1, stepSize), denominator);
  return {rule.sub(parameter, update), moment1, moment2};
}

Optimizer ulsc::uls::getAdamW() { return {{"moment1", "moment2"}, writeAdamW}; }

/// The momentum buffer starts at zero, so the first step sets it to the gradient, as PyTorch's
/// does.
static SmallVector<Value> writeSgd(RuleBuilder &rule) {
  Value gradient = rule.add(rule.gradient, rule.mul(rule.parameter, rule.weightDecay()));
  Value momentum = rule.add(rule.mul(rule.states[0], rule.control("momentum")), gradient);
  return {rule.sub(rule.parameter, rule.mul(momentum, rule.learningRate())), momentum};
}

Optimizer ulsc::uls::getSgd() { return {{"moment1"}, writeSgd}; }

llvm::StringMap<Optimizer> &ulsc::uls::getOptimizers() {
  static llvm::StringMap<Optimizer> optimizers{{"adamw", getAdamW()}, {"sgd", getSgd()}};
  return optimizers;
}

//===- LossScaling.cpp - Dynamic scaling of the loss in the step ------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Train/LossScaling.h"

#include <limits>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

bool LossScaling::isNeeded(ForwardOp forward) {
  return llvm::any_of(forward.getEntry().getOps<MaterializeOp>(), [](MaterializeOp op) {
    return llvm::cast<RankedTensorType>(op.getType()).getElementType().isF16();
  });
}

LossScaling::LossScaling(StepBuilder &step) : step(step), scale(step.control("loss_scale")) {
  cotangent = MulOp::create(step.builder, step.loc, step.scale, scale);
}

Value LossScaling::constant(double value) {
  auto splat =
      DenseElementsAttr::get(step.getScalarType(), Attribute(step.builder.getF32FloatAttr(value)));
  return ConstantOp::create(step.builder, step.loc, splat.getType(), splat);
}

Value LossScaling::unscale(Value value) {
  return DivOp::create(step.builder, step.loc, value, scale);
}

Value LossScaling::isFinite(Value norm) {
  // A comparison with a NaN fails, and an infinity is above all numbers.
  return MaskOp::create(step.builder, step.loc, step.getScalarType(), Comparison::Le, norm,
                        constant(std::numeric_limits<float>::max()), constant(1));
}

void LossScaling::reportNext(Value isFinite) {
  OpBuilder &b = step.builder;
  Location loc = step.loc;
  auto add = [&](Value x, Value y) -> Value { return AddOp::create(b, loc, x, y); };
  auto sub = [&](Value x, Value y) -> Value { return SubOp::create(b, loc, x, y); };
  auto mul = [&](Value x, Value y) -> Value { return MulOp::create(b, loc, x, y); };
  Value one = constant(1), half = constant(0.5);
  Value steps = add(step.control("good_steps"), one);
  Value grows = MaskOp::create(b, loc, step.getScalarType(), Comparison::Ge, steps,
                               step.control("loss_scale_growth_interval"), one);
  // Factors are 2, 1 or 1/2: the scale stays a power of two, which changes no bit of a gradient.
  Value factor = SelectOp::create(b, loc, isFinite, add(one, grows), half);
  step.report("next_loss_scale", mul(scale, factor));
  step.report("next_good_steps", mul(isFinite, mul(steps, sub(one, grows))));
  step.report("overflowed", sub(one, isFinite));
}

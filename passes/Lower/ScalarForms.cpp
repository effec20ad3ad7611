//===- ScalarForms.cpp - What elementwise ops do to one element -------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/ScalarForms.h"

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/GenericOps.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

namespace {

/// Arithmetic on f32 values, to write formulas in.
struct Scalars {
  OpBuilder &builder;
  Location location;

  Value constant(double value) { return f32Constant(builder, location, value); }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, location, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, location, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, location, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(builder, location, a, b); }
  Value exp(Value a) { return math::ExpOp::create(builder, location, a); }
  Value tanh(Value a) { return math::TanhOp::create(builder, location, a); }
  Value erf(Value a) { return math::ErfOp::create(builder, location, a); }
  Value sigmoid(Value a) {
    Value one = constant(1.0);
    return div(one, add(one, exp(arith::NegFOp::create(builder, location, a))));
  }
};

constexpr double kGeluCubic = 0.044715;
const double kSqrtTwoOverPi = std::sqrt(2.0 / M_PI);

} // namespace

/// The argument of gelu's tanh: √(2/π) · (x + 0.044715 x³).
static Value buildGeluInner(Scalars s, Value x) {
  Value cubic = s.mul(s.mul(x, x), s.constant(kGeluCubic));
  return s.mul(s.mul(x, s.add(s.constant(1.0), cubic)), s.constant(kSqrtTwoOverPi));
}

static Value buildGelu(Scalars s, uls::Approximation approximation, Value x) {
  Value inner = approximation == uls::Approximation::Tanh ? s.tanh(buildGeluInner(s, x))
                                                          : s.erf(s.mul(x, s.constant(M_SQRT1_2)));
  return s.mul(s.mul(x, s.constant(0.5)), s.add(s.constant(1.0), inner));
}

/// gelu'(x): Φ-like part plus x times its derivative.
static Value buildGeluDerivative(Scalars s, uls::Approximation approximation, Value x) {
  Value half = s.constant(0.5), one = s.constant(1.0);
  if (approximation == uls::Approximation::Tanh) {
    Value t = s.tanh(buildGeluInner(s, x));
    Value slope = s.mul(s.add(one, s.mul(s.mul(x, x), s.constant(3 * kGeluCubic))),
                        s.constant(kSqrtTwoOverPi));
    Value tail = s.mul(s.mul(x, s.sub(one, s.mul(t, t))), slope);
    return s.mul(half, s.add(s.add(one, t), tail));
  }
  Value cdf = s.mul(half, s.add(one, s.erf(s.mul(x, s.constant(M_SQRT1_2)))));
  Value density =
      s.mul(s.exp(s.mul(s.mul(x, x), s.constant(-0.5))), s.constant(1.0 / std::sqrt(2 * M_PI)));
  return s.add(cdf, s.mul(x, density));
}

/// silu'(x) = σ(x) (1 + x (1 − σ(x))).
static Value buildSiluDerivative(Scalars s, Value x) {
  Value one = s.constant(1.0), sigmoid = s.sigmoid(x);
  return s.mul(sigmoid, s.add(one, s.mul(x, s.sub(one, sigmoid))));
}

template <typename FloatOp, typename IntOp>
static ScalarForm binary() {
  return [](OpBuilder &builder, Location location, Operation *, ValueRange v) -> Value {
    if (isa<FloatType>(v[0].getType()))
      return FloatOp::create(builder, location, v[0], v[1]);
    return IntOp::create(builder, location, v[0], v[1]);
  };
}

template <typename MathOp>
static ScalarForm unary() {
  return [](OpBuilder &builder, Location location, Operation *, ValueRange v) -> Value {
    return MathOp::create(builder, location, v[0]);
  };
}

template <typename Formula>
static ScalarForm formula(Formula build) {
  return [build](OpBuilder &builder, Location location, Operation *op, ValueRange v) -> Value {
    return build(Scalars{builder, location}, op, v);
  };
}

/// A field of the control block, or of the parameter that a kernel of an update rule is launched
/// for.
static Value buildControl(OpBuilder &builder, Location location, Operation *op, ValueRange) {
  StringRef field = cast<uls::ControlOp>(op).getField();
  bool isRateScale = field == "parameter_lr_scale";
  if (!isRateScale && field != "parameter_decay_scale")
    return exec::ControlOp::create(builder, location, builder.getF32Type(), field);
  // The kernel's last argument is twice the parameter's index.
  auto kernel = op->getParentOfType<exec::KernelOp>();
  Value entry = kernel.getBody().front().getArguments().back();
  if (!isRateScale)
    entry = arith::AddIOp::create(builder, location, entry, i64Constant(builder, location, 1));
  return exec::ParameterScaleOp::create(builder, location, builder.getF32Type(), entry);
}

ScalarForms::ScalarForms(MLIRContext *context) : context(context) {
  add<uls::AddOp>(binary<arith::AddFOp, arith::AddIOp>());
  add<uls::SubOp>(binary<arith::SubFOp, arith::SubIOp>());
  add<uls::MulOp>(binary<arith::MulFOp, arith::MulIOp>());
  add<uls::DivOp>(binary<arith::DivFOp, arith::DivSIOp>());
  add<uls::MaximumOp>(binary<arith::MaximumFOp, arith::MaxSIOp>());
  add<uls::MinimumOp>(binary<arith::MinimumFOp, arith::MinSIOp>());
  add<uls::NegOp>(unary<arith::NegFOp>());
  add<uls::ExpOp>(unary<math::ExpOp>());
  add<uls::LogOp>(unary<math::LogOp>());
  add<uls::SqrtOp>(unary<math::SqrtOp>());
  add<uls::RsqrtOp>(unary<math::RsqrtOp>());
  add<uls::TanhOp>(unary<math::TanhOp>());
  add<uls::ControlOp>(buildControl);
  add<uls::ConvertOp>([](OpBuilder &builder, Location location, Operation *op, ValueRange v) {
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    return convertElement(builder, location, v[0], getComputeType(element));
  });
  add<uls::AccumulateOp>(binary<arith::AddFOp, arith::AddIOp>());
  add<uls::SelectOp>([](OpBuilder &builder, Location location, Operation *, ValueRange v) -> Value {
    Value zero = arith::ConstantOp::create(builder, location, builder.getZeroAttr(v[0].getType()));
    Value holds = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::UNE, v[0], zero);
    return arith::SelectOp::create(builder, location, holds, v[1], v[2]);
  });
  add<uls::MaskOp>([](OpBuilder &builder, Location location, Operation *op, ValueRange v) -> Value {
    // Ordered comparisons: false where one side is NaN.
    static constexpr std::pair<arith::CmpFPredicate, arith::CmpIPredicate> predicates[] = {
        {arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt},
        {arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle},
        {arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt},
        {arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge}};
    auto [onFloats, onIntegers] =
        predicates[static_cast<int>(cast<uls::MaskOp>(op).getComparison())];
    Value holds = isa<FloatType>(v[0].getType())
                      ? Value(arith::CmpFOp::create(builder, location, onFloats, v[0], v[1]))
                      : Value(arith::CmpIOp::create(builder, location, onIntegers, v[0], v[1]));
    Value zero = arith::ConstantOp::create(builder, location, builder.getZeroAttr(v[2].getType()));
    return arith::SelectOp::create(builder, location, holds, v[2], zero);
  });
  add<uls::SiluOp>(
      formula([](Scalars s, Operation *, ValueRange v) { return s.mul(v[0], s.sigmoid(v[0])); }));
  add<uls::SiluGradOp>(formula([](Scalars s, Operation *, ValueRange v) {
    return s.mul(buildSiluDerivative(s, v[0]), v[1]);
  }));
  add<uls::GeluOp>(formula([](Scalars s, Operation *op, ValueRange v) {
    return buildGelu(s, cast<uls::GeluOp>(op).getApproximation(), v[0]);
  }));
  add<uls::GeluGradOp>(formula([](Scalars s, Operation *op, ValueRange v) {
    return s.mul(buildGeluDerivative(s, cast<uls::GeluGradOp>(op).getApproximation(), v[0]), v[1]);
  }));
  add<uls::ClipCoefficientOp>(formula([](Scalars s, Operation *, ValueRange v) {
    Value one = s.constant(1.0), zero = s.constant(0.0);
    Value ratio = s.div(v[1], s.add(v[0], s.constant(1e-6)));
    Value clipped = arith::MinimumFOp::create(s.builder, s.location, one, ratio);
    Value off = arith::CmpFOp::create(s.builder, s.location, arith::CmpFPredicate::OEQ, v[1], zero);
    return arith::SelectOp::create(s.builder, s.location, off, one, clipped);
  }));
}

const ScalarForm *ScalarForms::lookup(Operation *op) const {
  auto it = forms.find(op->getName());
  return it == forms.end() ? nullptr : &it->second;
}

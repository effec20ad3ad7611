//===- EmitMath.cpp - Elementary functions in generated code -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

// The exponential and the logarithm follow Cephes (Moshier); tanh and erf are the rational
// approximations that Eigen and XLA use. Clamps are written as `x < c ? c : x`, which keeps NaN.

#include "passes/Lower/EmitMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace ulsc::lower;

static constexpr float infinity = std::numeric_limits<float>::infinity();

/// Horner's scheme, highest coefficient first.
static Value polynomial(CodeBuilder &code, Value x, ArrayRef<float> coefficients) {
  Value y = code.f32(coefficients.front());
  for (float coefficient : coefficients.drop_front())
    y = code.fma(y, x, code.f32(coefficient));
  return y;
}

static Value clamp(CodeBuilder &code, Value x, float low, float high) {
  x = code.select(code.cmpf(arith::CmpFPredicate::OLT, x, code.f32(low)), code.f32(low), x);
  return code.select(code.cmpf(arith::CmpFPredicate::OGT, x, code.f32(high)), code.f32(high), x);
}

/// `y`, but 1 and -1 where `x` is past `bound` on either side.
static Value saturate(CodeBuilder &code, Value x, Value y, float bound) {
  y = code.select(code.cmpf(arith::CmpFPredicate::OLT, x, code.f32(-bound)), code.f32(-1.0f), y);
  return code.select(code.cmpf(arith::CmpFPredicate::OGT, x, code.f32(bound)), code.f32(1.0f), y);
}

/// 2^n for the i32 `n` in [-126, 127].
static Value powerOfTwo(CodeBuilder &code, Value n) {
  Value biased = code.add(n, code.i32(127));
  return code.bitcast(code.f32Type(),
                      arith::ShLIOp::create(code.b, code.loc, biased, code.i32(23)));
}

Value ulsc::lower::emitExp(CodeBuilder &code, Value x) {
  // Past these bounds the result is 0 and infinity.
  x = clamp(code, x, -104.0f, 89.0f);
  // Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
  const float shift = 12582912.0f;
  Value shifted = code.fma(x, code.f32(1.44269504088896341f), code.f32(shift));
  Value n = code.subf(shifted, code.f32(shift));
  Value integer = code.sub(code.bitcast(code.i32Type(), shifted), code.i32(0x4b400000));
  Value r = code.fma(n, code.f32(-0.693359375f), x);
  r = code.fma(n, code.f32(2.12194440e-4f), r);
  Value y = polynomial(code, r,
                       {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                        1.6666665459e-1f, 5.0000001201e-1f});
  y = code.addf(code.fma(y, code.mulf(r, r), r), code.f32(1.0f));
  // Two factors reach subnormal results and 2^128.
  Value half = arith::ShRSIOp::create(code.b, code.loc, integer, code.i32(1));
  y = code.mulf(y, powerOfTwo(code, half));
  return code.mulf(y, powerOfTwo(code, code.sub(integer, half)));
}

Value ulsc::lower::emitLog(CodeBuilder &code, Value x) {
  const float smallest = 1.17549435e-38f;
  Value isTiny = code.cmpf(arith::CmpFPredicate::OLT, x, code.f32(smallest));
  Value normal = code.select(isTiny, code.mulf(x, code.f32(8388608.0f)), x);
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
  Value bits = code.sub(code.bitcast(code.i32Type(), normal), code.i32(0x3f3504f3));
  Value exponent = arith::ShRSIOp::create(code.b, code.loc, bits, code.i32(23));
  exponent = code.sub(exponent, code.select(isTiny, code.i32(23), code.i32(0)));
  Value mantissa = arith::AndIOp::create(code.b, code.loc, bits, code.i32(0x007fffff));
  Value m = code.bitcast(code.f32Type(), code.add(mantissa, code.i32(0x3f3504f3)));
  Value e = arith::SIToFPOp::create(code.b, code.loc, code.f32Type(), exponent);
  Value r = code.subf(m, code.f32(1.0f));
  Value z = code.mulf(r, r);
  Value y = polynomial(code, r,
                       {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f,
                        1.4249322787e-1f, -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f,
                        3.3333331174e-1f});
  y = code.mulf(y, code.mulf(r, z));
  y = code.fma(e, code.f32(-2.12194440e-4f), y);
  y = code.fma(z, code.f32(-0.5f), y);
  y = code.fma(e, code.f32(0.693359375f), code.addf(r, y));
  // The edges: log(0), of negative numbers, of infinity and of NaN.
  Value zero = code.f32(0.0f);
  y = code.select(code.cmpf(arith::CmpFPredicate::OEQ, x, zero), code.f32(-infinity), y);
  y = code.select(code.cmpf(arith::CmpFPredicate::OLT, x, zero), code.f32Bits(0x7fc00000), y);
  y = code.select(code.cmpf(arith::CmpFPredicate::OEQ, x, code.f32(infinity)), x, y);
  return code.select(code.cmpf(arith::CmpFPredicate::UNO, x, x), x, y);
}

Value ulsc::lower::emitLog1p(CodeBuilder &code, Value x) {
  Value u = code.addf(x, code.f32(1.0f));
  Value lost = code.subf(x, code.subf(u, code.f32(1.0f)));
  Value y = code.addf(emitLog(code, u), code.divf(lost, u));
  Value isEdge = code.cmpf(arith::CmpFPredicate::OEQ, u, code.f32(infinity));
  y = code.select(isEdge, u, y);
  return code.select(code.cmpf(arith::CmpFPredicate::OEQ, u, code.f32(0.0f)), code.f32(-infinity),
                     y);
}

Value ulsc::lower::emitTanh(CodeBuilder &code, Value x) {
  Value bounded = clamp(code, x, -9.0f, 9.0f);
  Value z = code.mulf(bounded, bounded);
  Value p = polynomial(code, z,
                       {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f,
                        5.12229709037114e-08f, 1.48572235717979e-05f, 6.37261928875436e-04f,
                        4.89352455891786e-03f});
  Value q = polynomial(
      code, z,
      {1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f, 4.89352518554385e-03f});
  Value y = code.divf(code.mulf(bounded, p), q);
  Value isTiny = code.cmpf(arith::CmpFPredicate::OLT, math::AbsFOp::create(code.b, code.loc, x),
                           code.f32(0.0004f));
  return saturate(code, x, code.select(isTiny, x, y), 9.0f);
}

Value ulsc::lower::emitErf(CodeBuilder &code, Value x) {
  Value bounded = clamp(code, x, -3.832506856900711f, 3.832506856900711f);
  Value z = code.mulf(bounded, bounded);
  Value p = polynomial(code, z,
                       {-2.72614225801306e-10f, 2.77068142495902e-08f, -2.10102402082508e-06f,
                        -5.69250639462346e-05f, -7.34990630326855e-04f, -2.95459980854025e-03f,
                        -1.60960333262415e-02f});
  Value q = polynomial(code, z,
                       {-1.45660718464996e-05f, -2.13374055278905e-04f, -1.68282697438203e-03f,
                        -7.37332916720468e-03f, -1.42647390514189e-02f});
  return saturate(code, x, code.divf(code.mulf(bounded, p), q), 3.8325068f);
}

//===---------------------------------------------------------------------------------------===//
// Sine and cosine
//===---------------------------------------------------------------------------------------===//

static Value f64(CodeBuilder &code, double value) {
  return arith::ConstantOp::create(code.b, code.loc, code.b.getF64FloatAttr(value));
}

/// Horner's scheme in double precision.
static Value widePolynomial(CodeBuilder &code, Value x, ArrayRef<double> coefficients) {
  Value y = f64(code, coefficients.front());
  for (double coefficient : coefficients.drop_front())
    y = code.fma(y, x, f64(code, coefficient));
  return y;
}

/// The sine of x + `quarters` * pi / 2. In double precision, in which the angles that positions
/// make keep their digits when multiples of pi / 2 are taken off.
static Value emitSine(CodeBuilder &code, Value x, int64_t quarters) {
  Value wide = arith::ExtFOp::create(code.b, code.loc, code.b.getF64Type(), x);
  // Adding 1.5 * 2^52 rounds to an integer, which then stands in the low bits.
  const double shift = 6755399441055744.0;
  Value shifted = code.fma(wide, f64(code, 0.63661977236758134308), f64(code, shift));
  Value n = code.subf(shifted, f64(code, shift));
  Value r = code.fma(n, f64(code, -1.57079632679489655800), wide);
  r = code.fma(n, f64(code, -6.12323399573676603587e-17), r);
  Value z = code.mulf(r, r);
  Value sine = widePolynomial(code, z,
                              {1.58962301576546568060e-10, -2.50507477628578072866e-8,
                               2.75573136213857245213e-6, -1.98412698295895385996e-4,
                               8.33333333332211858878e-3, -1.66666666666666307295e-1});
  sine = code.fma(code.mulf(r, z), sine, r);
  Value cosine = widePolynomial(code, z,
                                {-1.13585365213876817300e-11, 2.08757008419747316778e-9,
                                 -2.75573141792967388112e-7, 2.48015872888517045348e-5,
                                 -1.38888888888730564116e-3, 4.16666666666665929218e-2});
  cosine = code.fma(code.mulf(z, z), cosine, code.fma(z, f64(code, -0.5), f64(code, 1.0)));
  Value quarter = code.add(code.bitcast(code.i64Type(), shifted), code.i64(quarters));
  auto hasBit = [&](int64_t bit) {
    Value masked = arith::AndIOp::create(code.b, code.loc, quarter, code.i64(bit));
    return code.cmpi(arith::CmpIPredicate::ne, masked, code.i64(0));
  };
  Value y = code.select(hasBit(1), cosine, sine);
  y = code.select(hasBit(2), arith::NegFOp::create(code.b, code.loc, y), y);
  return arith::TruncFOp::create(code.b, code.loc, code.f32Type(), y);
}

Value ulsc::lower::emitSin(CodeBuilder &code, Value x) { return emitSine(code, x, 0); }

Value ulsc::lower::emitCos(CodeBuilder &code, Value x) { return emitSine(code, x, 1); }

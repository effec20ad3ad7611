//===- EmitRandom.cpp - The counter-based generator in generated code -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/EmitRandom.h"

using namespace mlir;
using namespace ulsc::lower;

static Value truncate(CodeBuilder &code, Value x) {
  return arith::TruncIOp::create(code.b, code.loc, code.i32Type(), x);
}
static Value highWord(CodeBuilder &code, Value x) {
  return truncate(code, arith::ShRUIOp::create(code.b, code.loc, x, code.i64(32)));
}
static Value xorOf(CodeBuilder &code, Value x, Value y) {
  return arith::XOrIOp::create(code.b, code.loc, x, y);
}

/// `ulsc_random_mix`.
static Value mix(CodeBuilder &code, Value x) {
  auto fold = [&](int64_t shift) {
    x = xorOf(code, x, arith::ShRUIOp::create(code.b, code.loc, x, code.i64(shift)));
  };
  fold(30);
  x = code.mul(x, code.i64(static_cast<int64_t>(UINT64_C(0xbf58476d1ce4e5b9))));
  fold(27);
  x = code.mul(x, code.i64(static_cast<int64_t>(UINT64_C(0x94d049bb133111eb))));
  fold(31);
  return x;
}

RandomStream ulsc::lower::emitRandomStream(CodeBuilder &code, Value seed, uint64_t nameHash,
                                           Value instance, Value step) {
  Value next = code.add(seed, code.i64(1));
  Value spread = code.mul(next, code.i64(static_cast<int64_t>(UINT64_C(0x9e3779b97f4a7c15))));
  Value key = mix(code, code.add(spread, code.i64(static_cast<int64_t>(nameHash))));
  return {truncate(code, key), highWord(code, key), truncate(code, instance), truncate(code, step)};
}

Value ulsc::lower::emitRandomWord(CodeBuilder &code, const RandomStream &stream, Value index) {
  Value c0 = truncate(code, index), c1 = highWord(code, index), c2 = stream.instance,
        c3 = stream.step;
  Value k0 = stream.key0, k1 = stream.key1;
  auto product = [&](Value x, uint32_t factor) {
    Value wide = arith::ExtUIOp::create(code.b, code.loc, code.i64Type(), x);
    return code.mul(wide, code.i64(factor));
  };
  for (int round = 0; round < 10; ++round) {
    Value p0 = product(c0, UINT32_C(0xD2511F53)), p1 = product(c2, UINT32_C(0xCD9E8D57));
    c0 = xorOf(code, xorOf(code, highWord(code, p1), c1), k0);
    c1 = truncate(code, p1);
    c2 = xorOf(code, xorOf(code, highWord(code, p0), c3), k1);
    c3 = truncate(code, p0);
    k0 = code.add(k0, code.i32(UINT32_C(0x9E3779B9)));
    k1 = code.add(k1, code.i32(UINT32_C(0xBB67AE85)));
  }
  return c0;
}

Value ulsc::lower::emitDropThreshold(CodeBuilder &code, Value rate) {
  Type f64 = code.b.getF64Type();
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(code.b, code.loc, code.b.getF64FloatAttr(value));
  };
  Value wide = arith::ExtFOp::create(code.b, code.loc, f64, rate);
  Value scaled = arith::MulFOp::create(code.b, code.loc, wide, constant(4294967296.0));
  Value positive = code.select(code.cmpf(arith::CmpFPredicate::OGT, scaled, constant(0.0)), scaled,
                               constant(0.0));
  Value bounded =
      code.select(code.cmpf(arith::CmpFPredicate::OLT, positive, constant(4294967295.0)), positive,
                  constant(4294967295.0));
  return truncate(code, arith::FPToSIOp::create(code.b, code.loc, code.i64Type(), bounded));
}

Value ulsc::lower::emitDropoutRate(CodeBuilder &code, Value controlRate, float compiledRate) {
  Value isUnset = code.cmpf(arith::CmpFPredicate::OLT, controlRate, code.f32(0.0f));
  return code.select(isUnset, code.f32(compiledRate), controlRate);
}

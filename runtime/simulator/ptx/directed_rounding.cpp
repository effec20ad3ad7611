// Arithmetic with .rz, .rm and .rp: the processor's rounding mode changes for the 32 lanes.
#include "simulator/ptx/float_values.h"
#include "simulator/ptx/warp.h"

#include <cfenv>

#pragma STDC FENV_ACCESS ON

namespace ulsc::simulator::ptx {

namespace {

int processorMode(uint8_t rounding) {
  switch (Rounding(rounding)) {
  case Rounding::Zero:
    return FE_TOWARDZERO;
  case Rounding::Down:
    return FE_DOWNWARD;
  case Rounding::Up:
    return FE_UPWARD;
  default:
    return FE_TONEAREST;
  }
}

template <typename T>
T compute(Arithmetic operation, T a, T b, T c) {
  switch (operation) {
  case Arithmetic::Add:
    return a + b;
  case Arithmetic::Subtract:
    return a - b;
  case Arithmetic::Multiply:
    return a * b;
  case Arithmetic::Fma:
    return std::fma(a, b, c);
  case Arithmetic::Divide:
    return a / b;
  case Arithmetic::SquareRoot:
    return std::sqrt(a);
  default:
    return T(1) / a;
  }
}

template <typename T, Arithmetic operation>
void directed(Warp &warp, const Instruction &in) {
  const T *sources[3] = {};
  for (int i = 0; i < 3; ++i)
    if (in.source[i] != noPlace)
      sources[i] = warp.read<T>(in.source[i]);
  volatile T results[warpLanes]; // computed before the mode is set back
  std::fesetround(processorMode(in.mode));
  for (uint32_t lane = 0; lane < warpLanes; ++lane) {
    volatile T values[3] = {sources[0][lane], sources[1] ? sources[1][lane] : T(0),
                            sources[2] ? sources[2][lane] : T(0)};
    for (volatile T &value : values)
      if (in.flushes)
        value = flush(T(value));
    results[lane] = compute<T>(operation, values[0], values[1], values[2]);
  }
  std::fesetround(FE_TONEAREST);
  forLanes<T>(warp, in.result, [&](uint32_t lane) {
    T value = results[lane];
    if (in.flushes)
      value = flush(value);
    return canonical(in.saturates ? saturate(value) : value);
  });
}

template <typename T>
Handler handlerOf(Arithmetic operation) {
  switch (operation) {
  case Arithmetic::Add:
    return directed<T, Arithmetic::Add>;
  case Arithmetic::Subtract:
    return directed<T, Arithmetic::Subtract>;
  case Arithmetic::Multiply:
    return directed<T, Arithmetic::Multiply>;
  case Arithmetic::Fma:
    return directed<T, Arithmetic::Fma>;
  case Arithmetic::Divide:
    return directed<T, Arithmetic::Divide>;
  case Arithmetic::SquareRoot:
    return directed<T, Arithmetic::SquareRoot>;
  default:
    return directed<T, Arithmetic::Reciprocal>;
  }
}

} // namespace

Handler directedArithmetic(Arithmetic operation, Type type) {
  return type == Type::F32 ? handlerOf<float>(operation) : handlerOf<double>(operation);
}

} // namespace ulsc::simulator::ptx

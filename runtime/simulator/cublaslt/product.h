// The numbers of a product.
#ifndef ULSC_RUNTIME_SIMULATOR_CUBLASLT_PRODUCT_H
#define ULSC_RUNTIME_SIMULATOR_CUBLASLT_PRODUCT_H

#include "simulator/cublaslt/algorithms.h"

namespace ulsc::simulator {

/// Multiplies in f32, applies the epilogue in f32, rounds once to D's type. One thread, so that a
/// call gives the same bits each time. Where beta is 0, C is not read.
void multiply(const Problem &problem, const Operands &operands, float alpha, float beta);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUBLASLT_PRODUCT_H

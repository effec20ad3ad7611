// cublasLtMatmul as an operation of a stream.
#ifndef ULSC_RUNTIME_SIMULATOR_CUBLASLT_MATMUL_OPERATION_H
#define ULSC_RUNTIME_SIMULATOR_CUBLASLT_MATMUL_OPERATION_H

#include "simulator/core/operation.h"
#include "simulator/cublaslt/algorithms.h"

namespace ulsc::simulator {

/// Builds the operation of a checked product. Alpha and beta are read now from the host, or when it
/// runs from the device, as the pointer mode says. Reports a result that overlaps what is read.
Outcome makeOperation(const Problem &problem, const Operands &operands,
                      const Requirements &requirements, const void *alpha, const void *beta,
                      Operation &operation);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUBLASLT_MATMUL_OPERATION_H

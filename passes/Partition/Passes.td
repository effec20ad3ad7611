//===- Passes.td - Passes that makes shapes local and communication explicit -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_PASSES_PARTITION_PASSES_TD
#define ULSC_PASSES_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // ULSC_PASSES_PARTITION_PASSES_TD

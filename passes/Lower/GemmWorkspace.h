//===- GemmWorkspace.h - Memory that a GEMM lends its library ----------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_GEMMWORKSPACE_H
#define ULSC_PASSES_LOWER_GEMMWORKSPACE_H

#include "dialects/Exec/ExecOps.h"

namespace ulsc {

/// Bytes of workspace that a GEMM is given. On a device: what cuBLASLt's documentation recommends
/// for the newest architectures, so that its split sums over k are open to it. On the cpu: what a
/// copy of its three matrices in f32 takes, up to a bound. The library packs operands there that it
/// can't read as they lie, 16-bit ones on a CPU without 16-bit products among them; with less than
/// it asks for it works in smaller tiles.
int64_t gemmWorkspaceBytes(exec::GemmOp op, bool isForDevice);

} // namespace ulsc

#endif // ULSC_PASSES_LOWER_GEMMWORKSPACE_H

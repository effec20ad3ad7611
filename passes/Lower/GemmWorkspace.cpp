//===- GemmWorkspace.cpp - Memory that a GEMM lends its library -------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/GemmWorkspace.h"

using namespace mlir;
using namespace ulsc;

/// A few times a core's cache: larger tiles are no faster, and the workspace counts at the peak.
static constexpr int64_t kMostBytes = 16 << 20;

/// 32 MiB, and what aligning them to 256 bytes takes.
static constexpr int64_t kDeviceBytes = (32 << 20) + 256;

int64_t ulsc::gemmWorkspaceBytes(exec::GemmOp op, bool isForDevice) {
  if (isForDevice)
    return kDeviceBytes;
  ArrayRef<int64_t> sizes = op.getSizes();
  int64_t m = sizes[1], n = sizes[2], k = sizes[3];
  // One after the other, so that no product of sizes overflows.
  double bytes = 4.0 * (double(m) * double(k) + double(k) * double(n) + double(m) * double(n));
  return bytes < double(kMostBytes) ? static_cast<int64_t>(bytes) : kMostBytes;
}

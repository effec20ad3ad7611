//===- DeduplicateKernels.cpp - Keep one of each set of equal kernels -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OperationSupport.h"
#include "passes/Lower/Passes.h"

namespace ulsc {
#define GEN_PASS_DEF_DEDUPLICATEKERNELSPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

namespace {

/// Whether two kernels differ in nothing but name and locations.
bool isEqual(exec::KernelOp x, exec::KernelOp y) {
  return x.getFunctionType() == y.getFunctionType() && x.getKind() == y.getKind() &&
         x.getRowDims() == y.getRowDims() &&
         OperationEquivalence::isRegionEquivalentTo(&x.getBody(), &y.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

/// A hash that equal kernels share.
llvm::hash_code hashKernel(exec::KernelOp kernel) {
  llvm::hash_code hash =
      llvm::hash_combine(kernel.getFunctionType(), kernel.getKind(), kernel.getRowDims());
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    hash = llvm::hash_combine(hash, op->getName(), op->getAttrDictionary());
  });
  return hash;
}

struct DeduplicateKernels : public ulsc::impl::DeduplicateKernelsPassBase<DeduplicateKernels> {
  void runOnOperation() override {
    llvm::DenseMap<size_t, SmallVector<exec::KernelOp>> kernels;
    llvm::DenseMap<StringAttr, StringAttr> renamed;
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<exec::KernelOp>())) {
      SmallVector<exec::KernelOp> &bucket = kernels[hashKernel(kernel)];
      auto *found =
          llvm::find_if(bucket, [&](exec::KernelOp other) { return isEqual(kernel, other); });
      if (found == bucket.end()) {
        bucket.push_back(kernel);
        continue;
      }
      renamed[kernel.getSymNameAttr()] = found->getSymNameAttr();
      kernel.erase();
    }
    getOperation().walk([&](exec::LaunchOp launch) {
      if (StringAttr name = renamed.lookup(launch.getKernelAttr().getAttr()))
        launch.setKernelAttr(FlatSymbolRefAttr::get(name));
    });
  }
};

} // namespace

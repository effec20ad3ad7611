//===- AttachManifest.cpp - Gives the program its manifest ------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/Passes.h"
#include "ulsc/Target/Manifest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace ulsc {
#define GEN_PASS_DEF_ATTACHMANIFESTPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

namespace {
struct AttachManifest : ulsc::impl::AttachManifestPassBase<AttachManifest> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    // A program that was written by hand at the exec stage describes itself, or not at all.
    if (!module->hasAttr("uls.model"))
      return;
    auto manifest = buildManifest(module);
    if (failed(manifest))
      return signalPassFailure();
    module->setAttr("exec.manifest", StringAttr::get(&getContext(), *manifest));
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<uls::ParamOp, uls::StateOp, dist::MeshOp>(op))
        op.erase();
    for (NamedAttribute attribute : llvm::to_vector(module->getDiscardableAttrs()))
      if (attribute.getName() != "exec.manifest" &&
          !attribute.getName().getValue().starts_with("llvm."))
        module->removeDiscardableAttr(attribute.getName());
  }
};
} // namespace

//===- ChooseAttention.cpp - Gives attention to a library -------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace ulsc {
#define GEN_PASS_DEF_CHOOSEATTENTIONPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

namespace {
struct ChooseAttention : ulsc::impl::ChooseAttentionPassBase<ChooseAttention> {
  using ChooseAttentionPassBase::ChooseAttentionPassBase;
  void runOnOperation() override {}
};
} // namespace

//===- LegalizeProducts.cpp - Products in types that the library has --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/ContractionShape.h"
#include "passes/Lower/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace ulsc {
#define GEN_PASS_DEF_LEGALIZEPRODUCTSPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Has a product of types that the library lacks (f16 into bf16, f32 into bf16) give f32, which
/// what adds it up takes as it is, and is converted for anyone else.
static void useLibraryTypes(uls::EinsumOp op) {
  auto lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs());
  // The narrower operand becomes what the other is.
  bool isLhsNarrow = lhs.getElementTypeBitWidth() < rhs.getElementTypeBitWidth();
  Type operands = (isLhsNarrow ? rhs : lhs).getElementType(),
       result = typeOf(op.getOutput()).getElementType();
  if (result == operands || result.isF32())
    return;
  OpBuilder builder(op);
  Value product = uls::EinsumOp::create(builder, op.getLoc(),
                                        typeOf(op.getOutput()).clone(builder.getF32Type()),
                                        op.getEquationAttr(), op.getLhs(), op.getRhs());
  if (uls::AccumulateOp accumulate = getAccumulation(op))
    accumulate.getValueMutable().assign(product);
  else
    op.getOutput().replaceAllUsesWith(
        uls::ConvertOp::create(builder, op.getLoc(), op.getType(), product));
  op.erase();
}

namespace {
struct LegalizeProducts : ulsc::impl::LegalizeProductsPassBase<LegalizeProducts> {
  void runOnOperation() override {
    SmallVector<uls::EinsumOp> products;
    getOperation().walk([&](uls::EinsumOp op) { products.push_back(op); });
    llvm::for_each(products, useLibraryTypes);
  }
};
} // namespace

//===- UlsFunctions.cpp - Syntax and methods of the function-like ops
//---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"

#include "dialects/FunctionSyntax.h"

using namespace mlir;
using namespace ulsc::uls;

ULSC_FUNCTION_SYNTAX(BlockOp)
ULSC_FUNCTION_SYNTAX(ForwardOp)
ULSC_FUNCTION_SYNTAX(StepOp)
ULSC_FUNCTION_SYNTAX(UpdateRuleOp)

ResultOp BlockOp::getResultOp() {
  for (Operation &op : getEntry())
    if (auto result = llvm::dyn_cast<ResultOp>(op))
      return result;
  return {};
}

ArrayRef<int64_t> ParamOp::getUnpaddedShape() {
  if (auto shape = getLogicalShape())
    return *shape;
  return getTensorType().getShape();
}

SmallVector<SmallVector<int64_t>> ParamOp::getExternalDims() {
  SmallVector<SmallVector<int64_t>> groups;
  if (auto external = getExternal()) {
    for (auto group : external->getAsRange<ArrayAttr>()) {
      groups.emplace_back();
      for (auto dim : group.getAsRange<IntegerAttr>())
        groups.back().push_back(dim.getInt());
    }
    return groups;
  }
  for (int64_t dim = 0; dim < getTensorType().getRank(); ++dim)
    groups.push_back({dim});
  return groups;
}

SmallVector<int64_t> ParamOp::getExternalShape() {
  SmallVector<int64_t> shape;
  for (ArrayRef<int64_t> group : getExternalDims()) {
    int64_t size = 1;
    for (int64_t dim : group)
      size *= getUnpaddedShape()[dim];
    shape.push_back(size);
  }
  return shape;
}

int64_t ParamOp::getParameterCount() {
  int64_t count = 1;
  for (int64_t size : getUnpaddedShape())
    count *= size;
  return count;
}

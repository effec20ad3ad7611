//===- UlsFunctions.cpp - Syntax and methods of the function-like ops
//---------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"

#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace ulsc::uls;

template <typename Op>
static ParseResult parseFunction(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> arguments, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, Op::getFunctionTypeAttrName(result.name), buildType,
      Op::getArgAttrsAttrName(result.name), Op::getResAttrsAttrName(result.name));
}

template <typename Op>
static void printFunction(Op op, OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, op, /*isVariadic=*/false,
                                           op.getFunctionTypeAttrName(), op.getArgAttrsAttrName(),
                                           op.getResAttrsAttrName());
}

#define ULSC_FUNCTION_SYNTAX(Op)                                                                   \
  ParseResult Op::parse(OpAsmParser &parser, OperationState &result) {                             \
    return parseFunction<Op>(parser, result);                                                      \
  }                                                                                                \
  void Op::print(OpAsmPrinter &printer) { printFunction<Op>(*this, printer); }
ULSC_FUNCTION_SYNTAX(BlockOp)
ULSC_FUNCTION_SYNTAX(ForwardOp)
ULSC_FUNCTION_SYNTAX(StepOp)
ULSC_FUNCTION_SYNTAX(UpdateRuleOp)
#undef ULSC_FUNCTION_SYNTAX

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

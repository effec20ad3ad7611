//===- FunctionSyntax.h - Parser and printer of function-like ops -----------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_DIALECTS_FUNCTIONSYNTAX_H
#define ULSC_DIALECTS_FUNCTIONSYNTAX_H

#include "mlir/Interfaces/FunctionImplementation.h"

namespace ulsc {

template <typename Op>
mlir::ParseResult parseFunction(mlir::OpAsmParser &parser, mlir::OperationState &result) {
  namespace implementation = mlir::function_interface_impl;
  auto buildType = [](mlir::Builder &builder, llvm::ArrayRef<mlir::Type> arguments,
                      llvm::ArrayRef<mlir::Type> results, implementation::VariadicFlag,
                      std::string &) { return builder.getFunctionType(arguments, results); };
  llvm::SMLoc location = parser.getCurrentLocation();
  if (implementation::parseFunctionOp(
          parser, result, /*allowVariadic=*/false, Op::getFunctionTypeAttrName(result.name),
          buildType, Op::getArgAttrsAttrName(result.name), Op::getResAttrsAttrName(result.name)))
    return mlir::failure();
  // What does not fit would be dropped without a word when attributes become properties.
  return Op::verifyInherentAttrs(result.name, result.attributes, [&] {
    return parser.emitError(location) << "'" << result.name << "' op ";
  });
}

template <typename Op>
void printFunction(mlir::OpAsmPrinter &printer, Op op) {
  mlir::function_interface_impl::printFunctionOp(
      printer, op, /*isVariadic=*/false, op.getFunctionTypeAttrName(), op.getArgAttrsAttrName(),
      op.getResAttrsAttrName());
}

} // namespace ulsc

/// Defines `parse` and `print` of an op that is written as functions are.
#define ULSC_FUNCTION_SYNTAX(Op)                                                                   \
  mlir::ParseResult Op::parse(mlir::OpAsmParser &parser, mlir::OperationState &result) {           \
    return ulsc::parseFunction<Op>(parser, result);                                                \
  }                                                                                                \
  void Op::print(mlir::OpAsmPrinter &printer) { ulsc::printFunction<Op>(printer, *this); }

#endif // ULSC_DIALECTS_FUNCTIONSYNTAX_H

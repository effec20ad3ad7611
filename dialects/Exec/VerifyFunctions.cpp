//===- VerifyFunctions.cpp - Verifiers of functions and calls -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace ulsc::exec;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

template <typename Op>
static ParseResult parseFunctionLike(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> arguments, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, Op::getFunctionTypeAttrName(result.name), buildType,
      Op::getArgAttrsAttrName(result.name), Op::getResAttrsAttrName(result.name));
}

template <typename Op>
static void printFunctionLike(OpAsmPrinter &printer, Op op) {
  function_interface_impl::printFunctionOp(printer, op, /*isVariadic=*/false,
                                           op.getFunctionTypeAttrName(), op.getArgAttrsAttrName(),
                                           op.getResAttrsAttrName());
}

ParseResult FunctionOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunctionLike<FunctionOp>(parser, result);
}
void FunctionOp::print(OpAsmPrinter &printer) { printFunctionLike(printer, *this); }

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunctionLike<KernelOp>(parser, result);
}
void KernelOp::print(OpAsmPrinter &printer) { printFunctionLike(printer, *this); }

//===----------------------------------------------------------------------===//
// Functions and calls
//===----------------------------------------------------------------------===//

/// Checks that the buffers of `function` lie within its frame.
static LogicalResult verifyFrame(FunctionOp function) {
  std::optional<uint64_t> frame = function.getFrameBytes();
  if (!frame)
    return success();
  WalkResult result = function.walk([&](BufferOp buffer) {
    if (!buffer.getOffset())
      return buffer.emitOpError("has no offset in a function with frame_bytes"),
             WalkResult::interrupt();
    int64_t end = *buffer.getOffset() + getBytes(buffer.getResult().getType());
    if (end > static_cast<int64_t>(*frame)) {
      buffer.emitOpError("ends at byte ") << end << " of a frame of " << *frame << " bytes";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult FunctionOp::verify() {
  if (!getResultTypes().empty())
    return emitOpError("has results; an exec.function writes into buffers among its arguments");
  for (auto [i, type] : llvm::enumerate(getArgumentTypes()))
    if (!isBuffer(type) && !type.isInteger(64) && !type.isIndex())
      return emitOpError("argument ")
             << i << " is " << type
             << "; memrefs of static shape and identity layout, i64 and index are legal";
  if (getEntry() && !getArgumentTypes().empty())
    return emitOpError("the entry function takes no arguments, not ") << getArgumentTypes().size();
  if (isExternal())
    return success();
  if (!llvm::hasSingleElement(getBody()))
    return emitOpError("has ") << getBody().getBlocks().size() << " blocks, not one";
  return verifyFrame(*this);
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<FunctionOp>(*this, getCalleeAttr());
  if (!callee)
    return emitOpError("calls @") << getCallee() << ", which is no exec.function";
  if (callee.getNumArguments() != getArgs().size())
    return emitOpError("passes ") << getArgs().size() << " operands to @" << getCallee()
                                  << ", which takes " << callee.getNumArguments();
  for (auto [i, operand, type] : llvm::enumerate(getArgs(), callee.getArgumentTypes())) {
    auto from = dyn_cast<MemRefType>(operand.getType());
    auto to = dyn_cast<MemRefType>(type);
    bool matches = from && to ? from.getShape() == to.getShape() &&
                                    from.getElementType() == to.getElementType()
                              : operand.getType() == type;
    if (!matches)
      return emitOpError("passes ") << operand.getType() << " as argument " << i << " of @"
                                    << getCallee() << ", which takes " << type;
  }
  int64_t needed = callee.getFrameBytes().value_or(0);
  int64_t given = getFrame() ? getBytes(cast<MemRefType>(getFrame().getType())) : 0;
  auto caller = (*this)->getParentOfType<FunctionOp>();
  if (caller && caller.getFrameBytes() && given < needed)
    return emitOpError("gives ") << given << " bytes to the frame of @" << getCallee()
                                 << ", which takes " << needed;
  return success();
}

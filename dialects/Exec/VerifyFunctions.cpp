//===- VerifyFunctions.cpp - Syntax and verifiers of functions and calls -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "dialects/FunctionSyntax.h"

using namespace mlir;
using namespace ulsc::exec;

ULSC_FUNCTION_SYNTAX(FunctionOp)
ULSC_FUNCTION_SYNTAX(KernelOp)

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

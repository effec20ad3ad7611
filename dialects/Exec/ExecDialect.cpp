//===- ExecDialect.cpp - The exec dialect -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ExecDialect.h"
#include "dialects/Exec/ExecOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ulsc::exec;

#include "dialects/Exec/ExecDialect.cpp.inc"
#include "dialects/Exec/ExecEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Exec/ExecAttrs.cpp.inc"
      >();
  registerOps();
}

LogicalResult ExecDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kLibraryAttrName && !isa<AttentionLibraryAttr>(attribute.getValue()))
    return op->emitOpError() << "has " << kLibraryAttrName << " = " << attribute.getValue()
                             << ", not a library of attention such as "
                                "#exec.attention_library<cudnn>";
  return success();
}

/// More bytes than any memory has, few enough that sums of a few of them are numbers.
static constexpr int64_t kLargestBytes = int64_t(1) << 60;

/// `type` as a memref whose bytes can be counted, or null.
static MemRefType asCounted(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  Type element = memref ? memref.getElementType() : Type();
  if (!memref || !memref.hasStaticShape() || !(element.isIntOrFloat() || element.isIndex()))
    return {};
  int64_t bytes = getElementBytes(element);
  for (int64_t size : memref.getShape())
    if (llvm::MulOverflow(bytes, size, bytes) || bytes > kLargestBytes)
      return {};
  return memref;
}

bool ulsc::exec::isBuffer(Type type) {
  MemRefType memref = asCounted(type);
  return memref && memref.getLayout().isIdentity();
}

bool ulsc::exec::isContiguous(Type type) {
  MemRefType memref = asCounted(type);
  if (!memref)
    return false;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(memref.getStridesAndOffset(strides, offset)))
    return false;
  int64_t expected = 1;
  for (int64_t i = memref.getRank() - 1; i >= 0; --i) {
    if (memref.getDimSize(i) != 1 && strides[i] != expected)
      return false;
    expected *= memref.getDimSize(i);
  }
  return true;
}

int64_t ulsc::exec::getElementBytes(Type elementType) {
  if (elementType.isIndex())
    return 8;
  return (elementType.getIntOrFloatBitWidth() + 7) / 8;
}

int64_t ulsc::exec::getBytes(ShapedType type) {
  return type.getNumElements() * getElementBytes(type.getElementType());
}

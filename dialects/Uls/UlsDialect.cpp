//===- UlsDialect.cpp - Registration of the uls dialect ---------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ulsc::uls;

#include "dialects/Uls/UlsDialect.cpp.inc"
#include "dialects/Uls/UlsEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Uls/UlsAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Uls/UlsTypes.cpp.inc"
#include "dialects/Uls/UlsInterfaces.cpp.inc"

void UlsDialect::registerAttrs() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Uls/UlsAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Uls/UlsTypes.cpp.inc"
      >();
}

void InitAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyInitKind(getKind());
  if (getKind() == InitKind::Normal) {
    printer << ", ";
    printer.printFloat(getStd().getValue());
  }
  printer << '>';
}

Attribute InitAttr::parse(AsmParser &parser, Type) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&keyword))
    return {};
  std::optional<InitKind> kind = symbolizeInitKind(keyword);
  if (!kind) {
    parser.emitError(loc) << "unknown initial value '" << keyword
                          << "'; expected zeros, ones or normal";
    return {};
  }
  double std = 0.0;
  if (*kind == InitKind::Normal && (parser.parseComma() || parser.parseFloat(std)))
    return {};
  if (parser.parseGreater())
    return {};
  return InitAttr::get(parser.getContext(), *kind, std);
}

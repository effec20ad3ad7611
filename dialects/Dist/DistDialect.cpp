//===- DistDialect.cpp - Registration of the dist dialect -----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ulsc::dist;

#include "dialects/Dist/DistDialect.cpp.inc"
#include "dialects/Dist/DistEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Dist/DistTypes.cpp.inc"

void DistDialect::initialize() {
  registerAttrs();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Dist/DistTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Dist/DistOps.cpp.inc"
      >();
}

Type HandleType::parse(AsmParser &parser) {
  SmallVector<Type> results;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     [&] { return parser.parseType(results.emplace_back()); }))
    return {};
  return get(parser.getContext(), results);
}

void HandleType::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(getResults(), printer);
  printer << ">";
}

//===- InitAllDialects.cpp - Registration of all dialects -------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/InitAllDialects.h"

#include "dialects/Dist/Dist.h"
#include "dialects/Uls/Uls.h"

#include "mlir/IR/DialectRegistry.h"

void ulsc::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<dist::DistDialect, uls::UlsDialect>();
}

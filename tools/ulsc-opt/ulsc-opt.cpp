//===- ulsc-opt.cpp - Runs passes on IR in text form ------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/InitAllDialects.h"
#include "ulsc/InitAllPasses.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ulsc::registerAllDialects(registry);
  ulsc::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "ulsc optimizer driver\n", registry));
}

//===- InitAllDialects.cpp - Registration of all dialects -------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/InitAllDialects.h"

#include "dialects/Dist/Dist.h"
#include "dialects/Exec/ExecDialect.h"
#include "dialects/Uls/Uls.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"

void ulsc::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<dist::DistDialect, exec::ExecDialect, uls::UlsDialect>();
  registry
      .insert<mlir::affine::AffineDialect, mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
              mlir::func::FuncDialect, mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect,
              mlir::linalg::LinalgDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
              mlir::scf::SCFDialect, mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
}

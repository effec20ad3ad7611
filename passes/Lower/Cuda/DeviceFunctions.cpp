//===- DeviceFunctions.cpp - Functions of the device, and what the host knows of them ---------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/DeviceFunctions.h"

#include "dialects/Exec/ExecOps.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

DeviceFunctions::DeviceFunctions(ModuleOp module) : module(module) {
  kernels = module.lookupSymbol<ModuleOp>(kModuleName);
  if (kernels)
    return;
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  kernels = ModuleOp::create(builder, module.getLoc(), kModuleName);
}

/// PTX names have letters, digits, `_` and `$`.
static std::string makeName(StringRef name) {
  std::string result;
  for (char letter : name)
    result += llvm::isAlnum(letter) || letter == '_' ? letter : '$';
  return llvm::isDigit(result.front()) ? "k$" + result : result;
}

LLVM::LLVMFuncOp DeviceFunctions::create(Location loc, StringRef name, size_t pointers,
                                         size_t scalars) {
  OpBuilder builder = OpBuilder::atBlockEnd(kernels.getBody());
  MLIRContext *context = builder.getContext();
  SmallVector<Type> types(pointers + 1, LLVM::LLVMPointerType::get(context));
  types.append(scalars, builder.getI64Type());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  auto function = LLVM::LLVMFuncOp::create(builder, loc, makeName(name), type);
  // Two names of the program may be one of PTX.
  SymbolTable symbols(kernels);
  function->remove();
  symbols.insert(function);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  function.addEntryBlock(builder);
  return function;
}

void DeviceFunctions::describe(LLVM::LLVMFuncOp function, StringAttr name, TypeRange buffers,
                               size_t outputs, size_t scalars, const Geometry &geometry) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  MLIRContext *context = builder.getContext();
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    builder.getDenseI32ArrayAttr({int32_t(geometry.threads)}));
  // ptxas aims at four blocks of 256 threads and spills for it; of three, each thread has 80
  // registers.
  if (geometry.threads == 256)
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), builder.getI32IntegerAttr(3));
  function->setAttr(kDescriptorAttrName, name);
  Location loc = function.getLoc();
  StringRef symbol = function.getSymName();
  // NUL-terminated.
  std::string text = (symbol + StringRef("\0", 1)).str();
  auto textType = LLVM::LLVMArrayType::get(builder.getI8Type(), text.size());
  auto string =
      LLVM::GlobalOp::create(builder, loc, textType, /*isConstant=*/true, LLVM::Linkage::Internal,
                             (name.getValue() + ".name").str(), builder.getStringAttr(text));
  SmallVector<int64_t> bytes;
  for (Type buffer : buffers)
    bytes.push_back(exec::getBytes(cast<ShapedType>(buffer)));
  auto bytesType = LLVM::LLVMArrayType::get(builder.getI64Type(), bytes.size());
  auto sizes =
      LLVM::GlobalOp::create(builder, loc, bytesType, /*isConstant=*/true, LLVM::Linkage::Internal,
                             (name.getValue() + ".bytes").str(), builder.getI64TensorAttr(bytes));
  Type pointer = LLVM::LLVMPointerType::get(context), i32 = builder.getI32Type();
  auto type =
      LLVM::LLVMStructType::getLiteral(context, {pointer, pointer, i32, i32, pointer, i32, i32});
  auto descriptor = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/false,
                                           LLVM::Linkage::Internal, name.getValue(), Attribute());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&descriptor.getInitializerRegion());
  Value value = LLVM::UndefOp::create(builder, loc, type);
  auto set = [&](Value field, int64_t position) {
    value = LLVM::InsertValueOp::create(builder, loc, value, field, position);
  };
  set(LLVM::AddressOfOp::create(builder, loc, pointer, string.getSymName()), 0);
  set(LLVM::ZeroOp::create(builder, loc, pointer), 1);
  set(LLVM::ConstantOp::create(builder, loc, i32, builder.getI32IntegerAttr(buffers.size())), 2);
  set(LLVM::ConstantOp::create(builder, loc, i32, builder.getI32IntegerAttr(scalars)), 3);
  set(LLVM::AddressOfOp::create(builder, loc, pointer, sizes.getSymName()), 4);
  set(LLVM::ConstantOp::create(builder, loc, i32, builder.getI32IntegerAttr(outputs)), 5);
  set(LLVM::ConstantOp::create(builder, loc, i32, builder.getI32IntegerAttr(0)), 6);
  LLVM::ReturnOp::create(builder, loc, value);
}

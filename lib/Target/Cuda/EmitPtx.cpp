//===- EmitPtx.cpp - PTX of a program's kernels -----------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "lib/Target/Optimize.h"
#include "ulsc/Target/Cuda.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm-c/Target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace ulsc;

namespace {
/// An architecture, and the oldest PTX that has it: drivers as old as that load the program.
struct Architecture {
  StringRef name, features;
};
constexpr Architecture kArchitectures[] = {
    {"sm_80", "+ptx70"}, {"sm_90", "+ptx78"}, {"sm_100", "+ptx86"}};
} // namespace

ArrayRef<StringRef> ulsc::getCudaArchitectures() {
  static const StringRef names[] = {kArchitectures[0].name, kArchitectures[1].name,
                                    kArchitectures[2].name};
  return names;
}

static std::unique_ptr<llvm::TargetMachine> createMachine(Location loc,
                                                          const CudaOptions &options) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  const Architecture *found = llvm::find_if(
      kArchitectures, [&](const Architecture &each) { return each.name == options.arch; });
  if (found == std::end(kArchitectures)) {
    emitError(loc) << "unknown architecture '" << options.arch << "'; expected one of "
                   << llvm::join(getCudaArchitectures(), ", ");
    return nullptr;
  }
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    emitError(loc) << "no code generator for '" << triple.str() << "': " << error;
    return nullptr;
  }
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, found->name, found->features, llvm::TargetOptions(),
                                  std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

FailureOr<std::string> ulsc::emitPtx(Operation *kernels, const CudaOptions &options) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(kernels->getLoc(), options);
  if (!machine)
    return failure();
  MLIRContext &mlirContext = *kernels->getContext();
  registerBuiltinDialectTranslation(mlirContext);
  registerLLVMDialectTranslation(mlirContext);
  registerNVVMDialectTranslation(mlirContext);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return failure();
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  optimizeModule(*module, *machine, options.level);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return kernels->emitError() << "the target '" << machine->getTargetTriple().str()
                                << "' has no text form";
  passes.run(*module);
  return text.str().str();
}

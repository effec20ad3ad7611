//===- EmitObject.cpp - Machine code for the CPU -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/Optimize.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "ulsc/Target/Cpu.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace ulsc;

static llvm::CodeGenOptLevel codeGenLevel(unsigned level) {
  return level == 0   ? llvm::CodeGenOptLevel::None
         : level == 1 ? llvm::CodeGenOptLevel::Less
         : level == 2 ? llvm::CodeGenOptLevel::Default
                      : llvm::CodeGenOptLevel::Aggressive;
}

std::unique_ptr<llvm::TargetMachine> ulsc::createCpuMachine(Location loc,
                                                            const CpuOptions &options) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    emitError(loc) << "no code generator for '" << triple.str() << "': " << error;
    return nullptr;
  }
  std::string cpu = options.cpu, features;
  if (cpu == "native") {
    cpu = llvm::sys::getHostCPUName().str();
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      features += (features.empty() ? "" : ",") + std::string(feature.second ? "+" : "-") +
                  feature.first().str();
  }
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, cpu, features, llvm::TargetOptions(), llvm::Reloc::PIC_,
                                  std::nullopt, codeGenLevel(options.level)));
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(cpu)) {
    emitError(loc) << "unknown cpu '" << options.cpu << "' for '" << triple.str() << "'";
    return nullptr;
  }
  return machine;
}

/// Tells every function what machine it is for.
static void setFunctionAttributes(llvm::Module &module, llvm::TargetMachine &machine) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    // Vector and scalar code of one loop divide alike, so that results don't depend on where a loop
    // is cut.
    function.addFnAttr("reciprocal-estimates", "none");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (machine.getTargetFeatureString().contains("+avx512f"))
      function.addFnAttr("prefer-vector-width", "512");
  }
}

std::unique_ptr<llvm::Module> ulsc::translateForCpu(ModuleOp module, llvm::LLVMContext &context,
                                                    llvm::TargetMachine &machine,
                                                    const CpuOptions &options) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(module, context, "program");
  if (!translated)
    return nullptr;
  translated->setTargetTriple(machine.getTargetTriple());
  translated->setDataLayout(machine.createDataLayout());
  setFunctionAttributes(*translated, machine);
  optimizeModule(*translated, machine, options.level);
  return translated;
}

LogicalResult ulsc::emitCpuObject(ModuleOp module, const CpuOptions &options, StringRef path) {
  std::unique_ptr<llvm::TargetMachine> machine = createCpuMachine(module.getLoc(), options);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated = translateForCpu(module, context, *machine, options);
  if (!translated)
    return failure();
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (error)
    return module.emitError() << "cannot write '" << path << "': " << error.message();
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return module.emitError() << "the target '" << machine->getTargetTriple().str()
                              << "' has no object files";
  passes.run(*translated);
  return success();
}

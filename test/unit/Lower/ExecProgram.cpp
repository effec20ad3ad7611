//===- ExecProgram.cpp - Compiles and runs an exec program in this process -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "ExecTarget.h"
#include "dialects/Exec/ExecDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Lower/Passes.h"
#include "ulsc/Target/Cpu.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include <chrono>

using namespace mlir;

static void gemmTile(int64_t transposeA, int64_t transposeB, int64_t m, int64_t n, int64_t k,
                     float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                     float beta, float *c, int64_t ldc) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += double(transposeA ? a[l * lda + i] : a[i * lda + l]) *
               (transposeB ? b[j * ldb + l] : b[l * ldb + j]);
      c[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]);
    }
}

static void gemm(ulsc_context *, const ulsc_gemm_desc *d, const void *a, const void *b, void *c,
                 const void *, void *, void *) {
  auto *x = static_cast<const float *>(a), *y = static_cast<const float *>(b);
  auto *z = static_cast<float *>(c);
  for (int64_t i = 0; i < d->batch; ++i)
    for (int64_t m = 0; m < d->m; ++m)
      for (int64_t n = 0; n < d->n; ++n) {
        double sum = d->accumulate ? z[i * d->c_batch + m * d->c_m + n * d->c_n] : 0;
        for (int64_t k = 0; k < d->k; ++k)
          sum += double(x[i * d->a_batch + m * d->a_m + k * d->a_k]) *
                 y[i * d->b_batch + k * d->b_k + n * d->b_n];
        z[i * d->c_batch + m * d->c_m + n * d->c_n] = sum;
      }
}

static void collectiveStart(ulsc_context *, const ulsc_collective_desc *d, void *const *inputs,
                            void *const *outputs, int32_t) {
  for (int i = 0; i < d->operands; ++i)
    std::memmove(outputs[i], inputs[i], d->elements[i] * 4);
}
static void collectiveWait(ulsc_context *, int32_t) {}
static void blockBegin(ulsc_context *, const char *, const char *) {}
static void blockEnd(ulsc_context *) {}

struct ExecProgram::Machine {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::unique_ptr<ExecTarget> target;
};

ExecProgram::~ExecProgram() = default;

static MLIRContext &sharedContext() {
  static MLIRContext context;
  context.loadDialect<arith::ArithDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                      math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                      tensor::TensorDialect, ulsc::exec::ExecDialect>();
  return context;
}

ExecProgram::ExecProgram(const std::string &text, int64_t arenaBytes)
    : machine(std::make_unique<Machine>()),
      arena(static_cast<char *>(std::aligned_alloc(64, arenaBytes)), std::free), bytes(arenaBytes) {
  std::memset(arena.get(), 0, bytes);
  control.dropout_rate = -1;
  MLIRContext &context = sharedContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return;
  auto begin = std::chrono::steady_clock::now();
  PassManager passes(&context);
  machine->target = makeExecTarget();
  machine->target->buildPipeline(passes);
  if (failed(passes.run(*module)))
    return;
  ulsc::CpuOptions options;
  auto target = ulsc::createCpuMachine(module->getLoc(), options);
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> translated =
      ulsc::translateForCpu(*module, *llvmContext, *target, options);
  if (!translated)
    return;
  if (std::getenv("ULSC_TEST_PRINT"))
    translated->print(llvm::errs(), nullptr);
  llvm::orc::JITTargetMachineBuilder builder(target->getTargetTriple());
  builder.setCPU(target->getTargetCPU().str());
  builder.addFeatures(llvm::SubtargetFeatures(target->getTargetFeatureString()).getFeatures());
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  auto created = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create();
  machine->jit = std::move(llvm::cantFail(std::move(created)));
  auto &jit = *machine->jit;
  llvm::orc::SymbolMap symbols;
  auto define = [&](const char *name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                          llvm::JITSymbolFlags::Exported};
  };
  define("ulsc_gemm_tile", &gemmTile);
  define("ulsc_gemm", &gemm);
  define("ulsc_collective_start", &collectiveStart);
  define("ulsc_collective_wait", &collectiveWait);
  define("ulsc_block_begin", &blockBegin);
  define("ulsc_block_end", &blockEnd);
  define("memset", &::memset);
  define("memcpy", &::memcpy);
  define("memmove", &::memmove);
  for (auto [name, function] : machine->target->getFunctions())
    define(name, function);
  llvm::cantFail(jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(symbols)));
  llvm::cantFail(
      jit.addIRModule(llvm::orc::ThreadSafeModule(std::move(translated), std::move(llvmContext))));
  step = llvm::cantFail(jit.lookup("ulsc_step")).toPtr<void (*)(ulsc_context *)>();
  auto kernels = jit.lookup("ulsc_kernels");
  machine->target->load(kernels ? kernels->toPtr<const char *>() : nullptr);
  if (!kernels)
    llvm::consumeError(kernels.takeError());
  compileSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void ExecProgram::run(int threads) {
  machine->target->run(step, arena.get(), bytes, control, threads);
}

int64_t ExecProgram::countLaunches() const { return machine->target->countLaunches(); }

std::string format(std::string text,
                   const std::vector<std::pair<std::string, std::string>> &values) {
  for (auto &[name, value] : values) {
    std::string pattern = "$" + name;
    for (size_t at = text.find(pattern); at != std::string::npos;
         at = text.find(pattern, at + value.size()))
      text.replace(at, pattern.size(), value);
  }
  return text;
}

std::string launchOnce(const std::string &text, const std::string &name,
                       const std::vector<Operand> &inputs, const std::vector<Operand> &outputs,
                       const std::vector<int64_t> &scalars) {
  std::string body, program = text + "\nexec.function @ulsc_step() attributes {entry} {\n";
  int count = 0;
  auto list = [&](const std::vector<Operand> &operands) {
    std::string values, types;
    for (const Operand &operand : operands) {
      std::string value = "%b" + std::to_string(count++), type = "memref<" + operand.type + ">";
      program += "  " + value + " = exec.buffer activations offset(" +
                 std::to_string(operand.offset) + ") : " + type + "\n";
      values += (values.empty() ? "" : ", ") + value;
      types += (types.empty() ? "" : ", ") + type;
    }
    return "(" + values + " : " + types + ")";
  };
  body = "  exec.launch @" + name + (inputs.empty() ? "" : " ins" + list(inputs)) + " outs" +
         list(outputs);
  std::string values, types;
  for (int64_t scalar : scalars) {
    std::string value = "%s" + std::to_string(count++);
    program += "  " + value + " = arith.constant " + std::to_string(scalar) + " : i64\n";
    values += (values.empty() ? "" : ", ") + value;
    types += types.empty() ? "i64" : ", i64";
  }
  if (!scalars.empty())
    body += " scalars(" + values + " : " + types + ")";
  return program + body + "\n  exec.return\n}\n";
}

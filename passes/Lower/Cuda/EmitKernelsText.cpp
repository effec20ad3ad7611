//===- EmitKernelsText.cpp - The kernels of a program as PTX ----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/DeviceFunctions.h"
#include "passes/Lower/Passes.h"
#include "passes/Lower/RuntimeCalls.h"
#include "ulsc/Target/Cuda.h"

#include "llvm/ADT/StringExtras.h"

namespace ulsc {
#define GEN_PASS_DEF_EMITKERNELSTEXTPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

/// By the names of descriptors, the ops of the source model that launches are of.
static llvm::StringMap<SmallVector<std::string>> collectSources(ModuleOp module) {
  llvm::StringMap<SmallVector<std::string>> sources;
  module.walk([&](exec::LaunchOp launch) {
    std::string source = lower::describeSources(launch.getLoc());
    SmallVector<std::string> &all = sources[launch.getKernel()];
    if (!source.empty() && !llvm::is_contained(all, source))
      all.push_back(source);
  });
  return sources;
}

/// ptxas refuses other letters, in comments, too.
static std::string makeAscii(StringRef text) {
  std::string result;
  while (!text.empty()) {
    if (text.consume_front("…")) {
      result += "...";
      continue;
    }
    result += llvm::isASCII(text.front()) ? text.front() : '?';
    text = text.drop_front();
  }
  return result;
}

/// Puts before each kernel of `text` whose launches it serves, as a comment: kernels that are equal
/// are one, so that their names say it of one launch only.
static std::string addSources(StringRef text, const llvm::StringMap<std::string> &sources) {
  constexpr StringLiteral entry = ".visible .entry ";
  std::string result;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    if (line.starts_with(entry))
      if (auto found = sources.find(
              line.drop_front(entry.size()).take_until([](char letter) { return letter == '('; }));
          found != sources.end())
        result += "// source: " + makeAscii(found->second) + "\n";
    result += (line + "\n").str();
    text = rest;
  }
  return result;
}

/// By the names of kernels in the text, what is known of their launches; the functions have no
/// name of a descriptor any more.
static llvm::StringMap<std::string> takeSources(ModuleOp module, ModuleOp kernels) {
  constexpr size_t most = 4;
  llvm::StringMap<SmallVector<std::string>> launched = collectSources(module);
  llvm::StringMap<std::string> sources;
  for (auto function : kernels.getOps<LLVM::LLVMFuncOp>()) {
    auto name = dyn_cast_or_null<StringAttr>(
        function->removeAttr(lower::DeviceFunctions::kDescriptorAttrName));
    auto found = name ? launched.find(name.getValue()) : launched.end();
    if (found == launched.end() || found->second.empty())
      continue;
    ArrayRef<std::string> names = found->second;
    std::string &text = sources[function.getSymName()];
    text = llvm::join(names.take_front(most), "; ");
    if (names.size() > most)
      text += ("; and " + Twine(names.size() - most) + " more").str();
  }
  return sources;
}

namespace {
struct EmitKernelsText : ulsc::impl::EmitKernelsTextPassBase<EmitKernelsText> {
  using EmitKernelsTextPassBase::EmitKernelsTextPassBase;

  void runOnOperation() override {
    auto kernels = getOperation().lookupSymbol<ModuleOp>(lower::DeviceFunctions::kModuleName);
    if (!kernels)
      return;
    CudaOptions options;
    options.arch = arch;
    llvm::StringMap<std::string> sources = takeSources(getOperation(), kernels);
    FailureOr<std::string> text = emitPtx(kernels, options);
    if (failed(text))
      return signalPassFailure();
    lower::RuntimeCalls(getOperation())
        .defineString("ulsc_kernels", addSources(*text, sources), /*isExported=*/true);
    if (!keep)
      kernels.erase();
  }
};
} // namespace

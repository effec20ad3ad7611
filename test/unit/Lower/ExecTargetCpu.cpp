//===- ExecTargetCpu.cpp - Programs of tests on the cpu
//-----------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ExecTarget.h"

#include "mlir/Pass/PassManager.h"
#include "passes/Lower/Passes.h"

#include <algorithm>

static int parts = 1;

static void launch(ulsc_context *context, ulsc_kernel kernel, const char *, const char *,
                   void *const *arguments, int64_t extent, int64_t grain) {
  int64_t chunks = (extent + grain - 1) / grain;
  int64_t each = (chunks + parts - 1) / parts;
  for (int64_t first = 0, thread = 0; first < chunks; first += each, ++thread)
    kernel(context, arguments, first * grain, std::min(extent, (first + each) * grain), thread);
}

namespace {
class CpuTarget final : public ExecTarget {
public:
  void buildPipeline(mlir::PassManager &passes) override { ulsc::buildCpuPipeline(passes); }
  std::vector<std::pair<const char *, void *>> getFunctions() override {
    return {{"ulsc_launch", reinterpret_cast<void *>(&launch)}};
  }
  void load(const char *) override {}
  void run(void (*step)(ulsc_context *), char *arena, int64_t, ulsc_control &control,
           int order) override {
    parts = order;
    ulsc_context context = {arena, &control, reinterpret_cast<char *>(&control)};
    step(&context);
  }
};
} // namespace

std::unique_ptr<ExecTarget> makeExecTarget() { return std::make_unique<CpuTarget>(); }

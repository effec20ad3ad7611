//===- ExecTargetCuda.cpp - Programs of tests on the simulated device -------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ExecTarget.h"

#include "cuda/driver_functions.h"

#include "mlir/Pass/PassManager.h"
#include "passes/Lower/Passes.h"

#include <cstdio>

using namespace ulsc::cuda;

#define ULSC_DECLARE(name, result, parameters) extern "C" result name parameters;
ULSC_CUDA_DRIVER_FUNCTIONS(ULSC_DECLARE)
extern "C" void ulsc_simulator_declare_buffers(void *const *buffers, const int64_t *bytes,
                                               int count, int outputs);

static void check(Result result, const char *operation) {
  if (result == Success)
    return;
  std::fprintf(stderr, "%s failed with error %u\n", operation, unsigned(result));
  std::abort();
}

namespace {
struct State {
  Module module = nullptr;
  Stream stream = nullptr;
  DevicePointer arena = 0, control = 0;
  int64_t launches = 0;
};
} // namespace

static State *current = nullptr;

static void launch(ulsc_context *context, ulsc_kernel kernel, const char *, const char *,
                   void *const *arguments, int64_t blocks, int64_t threads) {
  auto &described = *reinterpret_cast<ulsc_device_kernel *>(kernel);
  Function function = nullptr;
  check(cuModuleGetFunction(&function, current->module, described.symbol), described.symbol);
  std::vector<void *> values = {context->device_control}, parameters;
  if (described.reads_arena)
    values.push_back(context->arena);
  else
    values.insert(values.end(), arguments, arguments + described.pointers + described.scalars);
  for (void *&value : values)
    parameters.push_back(&value);
  ++current->launches;
  ulsc_simulator_declare_buffers(arguments, described.bytes, described.pointers, described.outputs);
  check(cuLaunchKernel(function, unsigned(blocks), 1, 1, unsigned(threads), 1, 1, 0,
                       current->stream, parameters.data(), nullptr),
        described.symbol);
}

static void copy(ulsc_context *, const char *, void *target, const void *source, int64_t bytes) {
  check(cuMemcpyDtoDAsync_v2(DevicePointer(target), DevicePointer(source), size_t(bytes),
                             current->stream),
        "copy");
}

static void fill(ulsc_context *, const char *, void *target, uint32_t value, int32_t elementBytes,
                 int64_t count) {
  auto pointer = DevicePointer(target);
  check(elementBytes == 1   ? cuMemsetD8Async(pointer, uint8_t(value), count, current->stream)
        : elementBytes == 2 ? cuMemsetD16Async(pointer, uint16_t(value), count, current->stream)
                            : cuMemsetD32Async(pointer, value, count, current->stream),
        "fill");
}

namespace {
class CudaTarget final : public ExecTarget {
public:
  void buildPipeline(mlir::PassManager &passes) override {
    ulsc::buildCudaPipeline(passes, "sm_90");
  }
  std::vector<std::pair<const char *, void *>> getFunctions() override {
    return {{"ulsc_launch", reinterpret_cast<void *>(&launch)},
            {"ulsc_copy", reinterpret_cast<void *>(&copy)},
            {"ulsc_fill", reinterpret_cast<void *>(&fill)}};
  }
  void load(const char *kernels) override {
    check(cuInit(0), "cuInit");
    Context context = nullptr;
    check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cuStreamCreate(&state.stream, StreamNonBlocking), "cuStreamCreate");
    if (std::getenv("ULSC_TEST_PRINT") && kernels)
      std::fputs(kernels, stderr);
    if (kernels)
      check(cuModuleLoadDataEx(&state.module, kernels, 0, nullptr, nullptr), "cuModuleLoadDataEx");
  }
  void run(void (*step)(ulsc_context *), char *arena, int64_t bytes, ulsc_control &control,
           int) override {
    current = &state;
    if (!state.arena) {
      check(cuMemAlloc_v2(&state.arena, size_t(bytes)), "cuMemAlloc");
      check(cuMemAlloc_v2(&state.control, sizeof(control)), "cuMemAlloc");
    }
    Stream stream = state.stream;
    check(cuMemcpyHtoDAsync_v2(state.arena, arena, size_t(bytes), stream), "to the device");
    check(cuMemcpyHtoDAsync_v2(state.control, &control, sizeof(control), stream), "to the device");
    check(cuStreamSynchronize(stream), "cuStreamSynchronize");
    ulsc_context context = {reinterpret_cast<char *>(state.arena), &control,
                            reinterpret_cast<char *>(state.control)};
    state.launches = 0;
    step(&context);
    check(cuMemcpyDtoHAsync_v2(arena, state.arena, size_t(bytes), stream), "from the device");
    check(cuMemcpyDtoHAsync_v2(&control, state.control, sizeof(control), stream),
          "from the device");
    check(cuStreamSynchronize(stream), "cuStreamSynchronize");
  }
  int64_t countLaunches() const override { return state.launches; }

private:
  State state;
};
} // namespace

std::unique_ptr<ExecTarget> makeExecTarget() { return std::make_unique<CudaTarget>(); }

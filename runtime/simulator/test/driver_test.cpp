// The driver's and the runtime library's calls: answers, errors, limits of launches.
#include "device_program.h"
#include "simulator/core/streams.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <fstream>

#include <nlohmann/json.hpp>

using namespace ulsc;
using namespace ulsc::simulator::test;

extern "C" {
Result cudaMalloc(void **pointer, size_t bytes);
Result cudaFree(void *pointer);
Result cudaMemcpyAsync(void *target, const void *source, size_t bytes, cuda::CopyKind kind,
                       cuda::Stream stream);
Result cudaStreamSynchronize(cuda::Stream stream);
Result cudaGetLastError();
Result cudaPeekAtLastError();
const char *cudaGetErrorString(Result error);
Result cudaRuntimeGetVersion(int *version);
Result cuDriverGetVersion(int *version);
Result cuGetErrorName(Result error, const char **name);
Result cuModuleLoadDataEx(cuda::Module *module, const void *image, unsigned count,
                          uint32_t *options, void **values);
}

namespace {

void expectEqual(long value, long expected, const char *what) {
  if (value != expected)
    throw std::runtime_error(std::string(what) + " is " + std::to_string(value) + " instead of " +
                             std::to_string(expected));
}
#define EXPECT_VALUE(VALUE, EXPECTED) expectEqual(long(VALUE), long(EXPECTED), #VALUE)

void expectFine(const std::function<void()> &program,
                const std::vector<std::pair<std::string, std::string>> &environment = {}) {
  Outcome outcome = runInChild(program, environment);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
}

const std::string limited = R"(.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry plain(.param .u64 p, .param .align 8 .b8 pair[16], .param .u8 small)
{
.reg .b32 %r<4>;
.reg .b64 %rd<8>;
.shared .align 4 .b8 fixed[1024];
ld.param.u64 %rd1, [p];
ld.param.u64 %rd2, [pair+8];
ld.param.u8 %r1, [small];
st.global.u64 [%rd1], %rd2;
st.global.u32 [%rd1+8], %r1;
mov.u32 %r2, %dynamic_smem_size;
st.global.u32 [%rd1+12], %r2;
ret;
}
.visible .entry exact() .reqntid 64, 2, 1 { ret; }
.visible .entry most() .maxntid 64 { ret; }
)";

} // namespace

TEST(Driver, NeedsInitialisationAndAContext) {
  expectFine([] {
    cuda::DevicePointer pointer = 0;
    int count = 0;
    EXPECT_VALUE(cuDeviceGetCount(&count), cuda::NotInitialized);
    EXPECT_VALUE(cuMemAlloc_v2(&pointer, 4), cuda::NotInitialized);
    check(cuInit(0));
    EXPECT_VALUE(cuMemAlloc_v2(&pointer, 4), cuda::InvalidContext);
    begin();
    check(cuMemAlloc_v2(&pointer, 4));
    EXPECT_VALUE(cuMemAlloc_v2(&pointer, 0), cuda::InvalidValue);
  });
}

TEST(Driver, DescribesItsDevice) {
  expectFine(
      [] {
        begin();
        auto attribute = [](cuda::DeviceAttribute which) {
          int value = -1;
          check(cuDeviceGetAttribute(&value, which, 0));
          return value;
        };
        EXPECT_VALUE(attribute(cuda::WarpSize), 32);
        EXPECT_VALUE(attribute(cuda::MultiprocessorCount), 132);
        EXPECT_VALUE(attribute(cuda::ComputeCapabilityMajor), 10);
        EXPECT_VALUE(attribute(cuda::ComputeCapabilityMinor), 0);
        EXPECT_VALUE(attribute(cuda::MaxSharedMemoryPerBlockOptin), 227 << 10);
        int count = 0, value = 0;
        check(cuDeviceGetCount(&count));
        EXPECT_VALUE(count, 2);
        EXPECT_VALUE(cuDeviceGetAttribute(&value, cuda::DeviceAttribute(9999), 0),
                     cuda::InvalidValue);
        EXPECT_VALUE(cuDeviceGetAttribute(&value, cuda::WarpSize, 2), cuda::InvalidDevice);
      },
      {{"ULSC_SIMULATOR_ARCH", "10.0"}, {"ULSC_SIMULATOR_DEVICES", "2"}});
}

TEST(Driver, ModulesOfANewerArchitectureAreRefused) {
  expectFine([] {
    begin();
    cuda::Module module = nullptr;
    EXPECT_VALUE(cuModuleLoadData(&module, fixture("kernels_sm_100.ptx").c_str()),
                 cuda::NoBinaryForGpu);
    EXPECT_VALUE(cuModuleLoadData(&module, ".version 8.0\n.target sm_90a\n"), cuda::Success);
    EXPECT_VALUE(cuModuleLoadData(&module, ".version 8.0\n.target sm_80a\n"), cuda::NoBinaryForGpu);
  });
  Outcome outcome = runInChild([] {
    begin();
    cuda::Module module = nullptr;
    cuModuleLoadData(&module, "\x7f"
                              "ELF");
  });
  EXPECT_EQ(outcome.exitCode, 86);
  EXPECT_NE(outcome.errors.find("ptx: a module is no PTX text"), std::string::npos)
      << outcome.errors;
}

TEST(Driver, ParametersOfEveryWidth) {
  expectFine([] {
    begin();
    Program program(limited);
    Buffer<uint64_t> out(2);
    struct {
      uint64_t first, second;
    } pair = {1, 0x123456789abcdef0};
    launch(program.function("plain"), {1, 1, 1, 256}, out.pointer(), pair, uint8_t(200));
    auto result = out.read();
    EXPECT_VALUE(result[0], 0x123456789abcdef0);
    EXPECT_VALUE(result[1], uint64_t(256) << 32 | 200);
    // The same as one buffer.
    struct {
      void *p;
      uint64_t pair[2];
      uint8_t small;
    } buffer = {out.pointer(), {1, 2}, 3};
    size_t size = sizeof buffer;
    void *extra[] = {cuda::launchParameterBuffer, &buffer, cuda::launchParameterBufferSize, &size,
                     cuda::launchParameterEnd};
    check(cuLaunchKernel(program.function("plain"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
    EXPECT_VALUE(out.read()[0], 2);
  });
}

TEST(Driver, LimitsOfLaunches) {
  expectFine([] {
    begin();
    Program program(limited);
    auto run = [&](const char *name, unsigned grid, unsigned x, unsigned y, unsigned shared = 0) {
      Buffer<uint64_t> out(2);
      uint64_t pair[2] = {};
      uint8_t small = 0;
      void *parameters[] = {&out.address, pair, &small};
      Result result = cuLaunchKernel(program.function(name), grid, 1, 1, x, y, 1, shared, nullptr,
                                     parameters, nullptr);
      check(cuCtxSynchronize());
      return result;
    };
    EXPECT_VALUE(run("exact", 1, 64, 2), cuda::Success);
    EXPECT_VALUE(run("exact", 1, 64, 1), cuda::InvalidValue);
    EXPECT_VALUE(run("most", 1, 64, 1), cuda::Success);
    EXPECT_VALUE(run("most", 1, 65, 1), cuda::InvalidValue);
    EXPECT_VALUE(run("plain", 1, 1025, 1), cuda::InvalidValue);
    EXPECT_VALUE(run("plain", 0, 1, 1), cuda::InvalidValue);
    EXPECT_VALUE(run("plain", 1, 1, 1, 47 << 10), cuda::Success);
    EXPECT_VALUE(run("plain", 1, 1, 1, (47 << 10) + 1), cuda::InvalidValue);
    EXPECT_VALUE(cuFuncSetAttribute(program.function("plain"),
                                    cuda::FunctionMaxDynamicSharedSizeBytes, 227 << 10),
                 cuda::InvalidValue);
    check(cuFuncSetAttribute(program.function("plain"), cuda::FunctionMaxDynamicSharedSizeBytes,
                             226 << 10));
    EXPECT_VALUE(run("plain", 1, 1, 1, 226 << 10), cuda::Success);
    cuda::Function missing = nullptr;
    EXPECT_VALUE(cuModuleGetFunction(&missing, program.module, "missing"), cuda::NotFound);
  });
}

TEST(Driver, FunctionsByName) {
  expectFine([] {
    auto find = [](const char *name) {
      void *function = nullptr;
      uint32_t status = 9;
      Result result = cuGetProcAddress_v2(name, &function, 13000, 0, &status);
      EXPECT_VALUE(status, result == cuda::Success ? 0 : 1);
      return function;
    };
    EXPECT_VALUE(find("cuMemAlloc") == reinterpret_cast<void *>(&cuMemAlloc_v2), true);
    EXPECT_VALUE(find("cuStreamBeginCapture") == reinterpret_cast<void *>(&cuStreamBeginCapture_v2),
                 true);
    EXPECT_VALUE(
        find("cuGraphInstantiate") == reinterpret_cast<void *>(&cuGraphInstantiateWithFlags), true);
    EXPECT_VALUE(find("cuEventRecord") == reinterpret_cast<void *>(&cuEventRecord), true);
    EXPECT_VALUE(find("cuTexRefCreate") == nullptr, true);
    int version = 0;
    check(cuDriverGetVersion(&version));
    EXPECT_VALUE(version, 13000);
    const char *name = nullptr;
    check(cuGetErrorName(cuda::CaptureUnjoined, &name));
    EXPECT_VALUE(std::string(name) == "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", true);
  });
}

TEST(RuntimeLibrary, MakesItsOwnContextAndKeepsTheLatestError) {
  expectFine([] {
    void *pointer = nullptr;
    check(cudaMalloc(&pointer, 64));
    int host[16] = {1, 2, 3}, back[16] = {};
    check(cudaMemcpyAsync(pointer, host, 64, cuda::CopyHostToDevice, nullptr));
    check(cudaMemcpyAsync(back, pointer, 64, cuda::CopyDefault, nullptr));
    EXPECT_VALUE(back[2], 3);
    EXPECT_VALUE(cudaFree(static_cast<char *>(pointer) + 4), cuda::InvalidValue);
    EXPECT_VALUE(cudaPeekAtLastError(), cuda::InvalidValue);
    EXPECT_VALUE(cudaGetLastError(), cuda::InvalidValue);
    EXPECT_VALUE(cudaGetLastError(), cuda::Success);
    check(cudaFree(pointer));
    int version = 0;
    check(cudaRuntimeGetVersion(&version));
    EXPECT_VALUE(version, 13000);
    EXPECT_VALUE(std::string(cudaGetErrorString(cuda::OutOfMemory)) == "out of memory", true);
  });
}

TEST(Reports, AreWrittenAsJson) {
  std::string path = testing::TempDir() + "simulator-report.jsonl";
  std::remove(path.c_str());
  Outcome outcome = runInChild(
      [] {
        begin();
        std::vector<int> host(4);
        Buffer<int> buffer(2);
        check(cuMemcpyHtoD_v2(buffer.address, host.data(), 16));
      },
      {{"ULSC_SIMULATOR_REPORT", path}});
  EXPECT_EQ(outcome.exitCode, 86);
  std::ifstream file(path);
  auto object = nlohmann::json::parse(file);
  EXPECT_EQ(object["kind"], "out-of-bounds");
  EXPECT_EQ(object["details"][0]["name"], "first bad byte");
  EXPECT_EQ(object["legal"], "addresses inside one live allocation");
  std::remove(path.c_str());
}

TEST(Scheduler, WorkThatNeverBecomesReadyIsReported) {
  Outcome outcome = runInChild(
      [] {
        begin();
        cuda::Stream stream = nullptr;
        check(cuStreamCreateWithPriority(&stream, cuda::StreamNonBlocking, 0));
        simulator::onStall([] { return std::string("rank 1 has not come"); });
        simulator::Operation operation;
        operation.name = "ncclAllReduce";
        operation.source = "gradients";
        operation.isReady = [] { return false; };
        simulator::enqueue(reinterpret_cast<simulator::StreamHandle>(stream), operation);
        check(cuStreamSynchronize(stream));
      },
      {{"ULSC_SIMULATOR_TIMEOUT", "1"}});
  EXPECT_EQ(outcome.exitCode, 86);
  for (const char *part :
       {"stall: nothing could run for 1 seconds",
        "'ncclAllReduce' (source gradients), which is not ready", "ranks: rank 1 has not come"})
    EXPECT_NE(outcome.errors.find(part), std::string::npos) << outcome.errors;
}

TEST(Scheduler, AdvancesWhileTheHostWaitsElsewhere) {
  expectFine([] {
    begin();
    static std::atomic<bool> hasRun{false};
    simulator::Operation operation;
    operation.name = "ncclAllReduce";
    operation.isReady = [] { return true; };
    operation.run = [] { hasRun = true; };
    simulator::enqueue(nullptr, operation);
    while (!hasRun) { // no call of the device: as in a barrier of MPI
    }
  });
}

TEST(Driver, OptionsOfLoading) {
  auto load = [](uint32_t option) {
    begin();
    char log[8] = "log";
    void *value = log;
    cuda::Module module = nullptr;
    check(cuModuleLoadDataEx(&module, ".version 8.0\n.target sm_80\n", 1, &option, &value));
    EXPECT_VALUE(log[0], option == cuda::JitErrorLogBuffer ? 0 : 'l');
  };
  expectFine([&] { load(cuda::JitErrorLogBuffer); });
  expectFine([&] { load(7); });
  Outcome outcome = runInChild([&] { load(30); });
  EXPECT_EQ(outcome.exitCode, 86);
  EXPECT_NE(outcome.errors.find("unsupported: cuModuleLoadDataEx has the option 30"),
            std::string::npos)
      << outcome.errors;
}

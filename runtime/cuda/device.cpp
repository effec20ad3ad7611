// The CUDA backend: one process and one GPU per rank, kernels from the program's PTX, GEMMs through
// cuBLASLt and attention through cuDNN where it is left to it, all on one compute stream.
#include "core/error.h"
#include "cuda/arena_view.h"
#include "cuda/attention.h"
#include "cuda/driver.h"
#include "cuda/event_clock.h"
#include "cuda/gemm.h"
#include "cuda/nccl_collectives.h"
#include "cuda/step_graph.h"
#include "device/device.h"
#include "device/thread_pool.h"

#include <vector>

namespace ulsc::runtime {

namespace {

class CudaDevice final : public Device {
public:
  CudaDevice(int localRank, const char *kernels, int threadCount, double collectiveTimeout,
             bool usesGraph)
      : driver(localRank), threadCount(threadCount), collectiveTimeout(collectiveTimeout) {
    configureThreads(threadCount);
    driver.check(driver.cuStreamCreate(&stream, cuda::StreamNonBlocking), "cuStreamCreate");
    eventClock = std::make_unique<EventClock>(driver, stream);
    if (usesGraph)
      stepGraph = std::make_unique<StepGraph>(driver, stream);
    loadKernels(kernels);
    void *host = nullptr;
    driver.check(driver.cuMemAllocHost_v2(&host, sizeof(ulsc_control)), "cuMemAllocHost");
    hostControl = new (host) ulsc_control{};
    driver.check(driver.cuMemAlloc_v2(&controlBlock, sizeof(ulsc_control)), "cuMemAlloc");
  }

  char *allocateArena(int64_t bytes) override {
    requireMemory(bytes);
    cuda::DevicePointer pointer = 0;
    driver.check(driver.cuMemAlloc_v2(&pointer, static_cast<size_t>(bytes)), "cuMemAlloc");
    if (pointer % ULSC_ALIGNMENT != 0)
      raise("the driver gave memory at ", pointer, ", which is not aligned to ", ULSC_ALIGNMENT,
            " bytes");
    driver.announce("the arena, cleared");
    driver.check(driver.cuMemsetD8Async(pointer, 0, static_cast<size_t>(bytes), stream),
                 "cuMemsetD8Async");
    arenaView = std::make_unique<CudaArenaView>(driver, stream, pointer);
    return reinterpret_cast<char *>(pointer);
  }

  ArenaView &view() override { return *arenaView; }
  WorkClock &clock() override { return *eventClock; }

  char *deviceControl(ulsc_control &) override { return reinterpret_cast<char *>(controlBlock); }

  const float *placeScales(const std::vector<float> &scales) override {
    size_t bytes = scales.size() * sizeof(float);
    cuda::DevicePointer pointer = 0;
    if (bytes == 0)
      return nullptr;
    driver.check(driver.cuMemAlloc_v2(&pointer, bytes), "cuMemAlloc");
    driver.announce("scales of parameters");
    driver.check(driver.cuMemcpyHtoDAsync_v2(pointer, scales.data(), bytes, stream),
                 "cuMemcpyHtoDAsync");
    driver.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
    return reinterpret_cast<const float *>(pointer);
  }

  void beginStep(const ulsc_control &control) override {
    arenaView->flush();
    eventClock->begin();
    if (ncclCollectives)
      ncclCollectives->beginStep(control.step);
    *hostControl = control;
    driver.announce("beginning of a step");
    driver.check(
        driver.cuMemcpyHtoDAsync_v2(controlBlock, hostControl, sizeof(ulsc_control), stream),
        "cuMemcpyHtoDAsync");
  }

  void endStep(ulsc_control &control) override {
    driver.announce("end of a step");
    driver.check(
        driver.cuMemcpyDtoHAsync_v2(hostControl, controlBlock, sizeof(ulsc_control), stream),
        "cuMemcpyDtoHAsync");
    driver.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
    if (ncclCollectives)
      ncclCollectives->endStep();
    control = *hostControl;
  }

  bool runStep(const std::function<void()> &step) override {
    if (!stepGraph)
      return Device::runStep(step);
    if (stepGraph->isReady() && ncclCollectives)
      ncclCollectives->repeatStep(eventClock->beginning());
    return stepGraph->run(step);
  }

  Collectives &collectives(Communicator &communicator) override {
    if (!ncclCollectives)
      ncclCollectives =
          std::make_unique<NcclCollectives>(driver, stream, communicator, collectiveTimeout);
    return *ncclCollectives;
  }

  void launch(ulsc_context *context, ulsc_kernel kernel, void *const *arguments, int64_t blocks,
              int64_t threads) override {
    auto &described = *reinterpret_cast<ulsc_device_kernel *>(kernel);
    if (!described.function)
      driver.check(
          driver.cuModuleGetFunction(reinterpret_cast<cuda::Function *>(&described.function),
                                     module, described.symbol),
          described.symbol);
    gatherArguments(*context, described, arguments);
    driver.declareBuffers(arguments, described.bytes, described.pointers, described.outputs);
    driver.check(driver.cuLaunchKernel(static_cast<cuda::Function>(described.function),
                                       static_cast<unsigned>(blocks), 1, 1,
                                       static_cast<unsigned>(threads), 1, 1, 0, stream,
                                       parameters.data(), nullptr),
                 described.symbol);
  }

  int64_t accessedBytes(ulsc_kernel kernel) const override {
    auto &described = *reinterpret_cast<const ulsc_device_kernel *>(kernel);
    int64_t bytes = 0;
    for (int i = 0; i < described.pointers; ++i)
      bytes += described.bytes[i];
    return bytes;
  }

  void gemm(const ulsc_gemm_desc &desc, const void *a, const void *b, void *c, const void *input,
            void *output, void *workspace) override {
    driver.announce(desc.name);
    products.run(desc, a, b, c, input, output, workspace, stream);
  }

  void attention(const ulsc_attention_desc &desc, const void *q, const void *k, const void *v,
                 void *out, void *lse, void *workspace) override {
    driver.announce(desc.name);
    attentions().run(desc, {q, k, v, out, lse}, workspace);
  }
  void attentionGrad(const ulsc_attention_desc &desc, const void *q, const void *k, const void *v,
                     const void *out, const void *lse, const void *dout, void *dq, void *dk,
                     void *dv, void *workspace) override {
    driver.announce(desc.name);
    attentions().run(desc, {q, k, v, out, lse, dout, dq, dk, dv}, workspace);
  }

  void copy(void *target, const void *source, int64_t bytes) override {
    if (target == source)
      return;
    driver.check(driver.cuMemcpyDtoDAsync_v2(reinterpret_cast<cuda::DevicePointer>(target),
                                             reinterpret_cast<cuda::DevicePointer>(source),
                                             static_cast<size_t>(bytes), stream),
                 "cuMemcpyDtoDAsync");
  }

  void fill(void *target, uint32_t value, int32_t elementBytes, int64_t count) override {
    auto pointer = reinterpret_cast<cuda::DevicePointer>(target);
    auto elements = static_cast<size_t>(count);
    cuda::Result result =
        elementBytes == 1
            ? driver.cuMemsetD8Async(pointer, static_cast<unsigned char>(value), elements, stream)
        : elementBytes == 2
            ? driver.cuMemsetD16Async(pointer, static_cast<unsigned short>(value), elements, stream)
            : driver.cuMemsetD32Async(pointer, value, elements, stream);
    driver.check(result, "cuMemset");
  }

  int threads() const override { return threadCount; }

  void announce(const char *source) override { driver.announce(source); }
  void enterBlock(const char *name, const char *source) override { driver.enter(name, source); }
  void leaveBlock() override { driver.leave(); }
  void forget(void *target, int64_t bytes) override { driver.forget(target, bytes, stream); }

private:
  CudaAttention &attentions() {
    if (!attentionByLibrary)
      attentionByLibrary = std::make_unique<CudaAttention>(stream, driver.computeCapability());
    return *attentionByLibrary;
  }

  void loadKernels(const char *kernels) {
    cuda::Result result = driver.cuModuleLoadDataEx(&module, kernels, 0, nullptr, nullptr);
    if (result == cuda::NoBinaryForGpu) {
      std::string arch = concat("sm_", driver.computeCapability());
      raise("the program's kernels are for ", findArchitecture(kernels),
            " and newer, but this GPU is ", arch, "; compile with --arch ", arch);
    }
    driver.check(result, "loading the program's kernels");
  }

  /// What PTX says that it is for: "sm_90".
  static std::string findArchitecture(const std::string &text) {
    const std::string directive = ".target ";
    size_t at = text.find(directive);
    if (at == std::string::npos)
      return "another architecture";
    at += directive.size();
    return text.substr(at, text.find_first_of(", \n", at) - at);
  }

  /// Each argument, the control block first, is 8 bytes; the driver wants their addresses.
  void gatherArguments(const ulsc_context &context, const ulsc_device_kernel &described,
                       void *const *arguments) {
    values = {context.device_control};
    if (described.reads_arena)
      values.push_back(context.arena);
    else
      values.insert(values.end(), arguments, arguments + described.pointers + described.scalars);
    parameters.clear();
    for (void *&value : values)
      parameters.push_back(&value);
  }

  /// Before anything of the arena is allocated.
  void requireMemory(int64_t bytes) {
    size_t free = 0, total = 0;
    driver.check(driver.cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
    if (static_cast<size_t>(bytes) > free)
      raise("the arena takes ", bytes, " bytes, but the GPU has ", free, " free of ", total,
            "; compile for more devices, a smaller micro-batch or with --recompute");
  }

  CudaDriver driver;
  int threadCount;
  double collectiveTimeout;
  CudaGemm products;
  std::unique_ptr<CudaAttention> attentionByLibrary;
  cuda::Stream stream = nullptr;
  cuda::Module module = nullptr;
  std::unique_ptr<CudaArenaView> arenaView;
  std::unique_ptr<EventClock> eventClock;
  std::unique_ptr<StepGraph> stepGraph;
  std::unique_ptr<NcclCollectives> ncclCollectives;
  ulsc_control *hostControl = nullptr; // pinned
  cuda::DevicePointer controlBlock = 0;
  std::vector<void *> values, parameters;
};

} // namespace

std::unique_ptr<Device> createCudaDevice(int localRank, const char *kernels, int threads,
                                         double collectiveTimeout, bool usesGraph) {
  if (!kernels)
    raise("the program's manifest has target cuda, but the program has no kernels");
  return std::make_unique<CudaDevice>(localRank, kernels, threads, collectiveTimeout, usesGraph);
}

} // namespace ulsc::runtime

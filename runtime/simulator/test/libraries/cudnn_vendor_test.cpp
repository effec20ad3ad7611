// The vendor's own heuristics on our graphs of attention, for GPUs that are described rather than
// there: that they take them, and what workspace they want.
#include "cuda/attention_graph.h"
#include "cuda/cudnn_plan.h"
#include "ulsc/AttentionWorkspace.h"

#include "core/error.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <optional>

namespace ulsc::runtime {
namespace {

using namespace cudnn;

/// The first that describes devices as text.
constexpr size_t oldestVersion = versionCode(9, 8, 0);

struct Gpu {
  const char *name;
  int version, multiprocessors, sharedBytes, l2Bytes;
  int64_t memory;
};

const Gpu gpus[] = {
    {"A100", 800, 108, 166912, 40 << 20, int64_t(80) << 30},
    {"H100", 900, 132, 232448, 50 << 20, int64_t(80) << 30},
    {"B200", 1000, 148, 232448, 126 << 20, int64_t(180) << 30},
};

std::string describe(const Gpu &gpu) {
  return concat("{\"deviceName\": \"", gpu.name,
                "\", \"cudaDeviceId\": 0, \"deviceVer\": ", gpu.version,
                ", \"driverVer\": 13000, \"isTccDriver\": 0, \"l2CacheSize\": ", gpu.l2Bytes,
                ", \"maxCtasPerSM\": 32, \"maxGridSize\": [2147483647, 65535, 65535], "
                "\"maxBlockSize\": [1024, 1024, 64], \"maxRegistersPerSM\": 65536"
                ", \"maxSharedMemoryPerBlock\": 49152, \"maxSharedMemoryPerBlockOptin\": ",
                gpu.sharedBytes,
                ", \"maxThreadsPerBlock\": 1024, \"maxThreadsPerSM\": 2048"
                ", \"memClockRateKHz\": 2619000, \"multiProcessorCount\": ",
                gpu.multiprocessors,
                ", \"pciDeviceId\": 0, \"regsPerBlock\": 65536"
                ", \"reservedSharedMemoryPerBlock\": 1024, \"smClockRateKHz\": 1755000"
                ", \"supportCoopLaunch\": 1, \"totalGlobalMem\": ",
                gpu.memory, ", \"warpSize\": 32}");
}

struct Shape {
  int64_t batch, sequence, kvHeads, group, headSize;
};

// GPT-2's, Llama's with and without grouped queries, and sizes that are no multiples of tiles.
const Shape shapes[] = {
    {4, 1024, 12, 1, 64}, {2, 2048, 32, 1, 128}, {1, 4096, 8, 4, 128}, {8, 512, 4, 8, 64},
    {3, 200, 2, 3, 96},   {1, 8192, 8, 8, 128},  {2, 32, 4, 1, 32},
};

ulsc_attention_desc describe(const Shape &shape, int32_t dtype, bool isCausal) {
  return {shape.batch,    shape.sequence, shape.sequence, shape.kvHeads, shape.group,
          shape.headSize, dtype,          isCausal,       0.125,         0,
          "attention"};
}

std::string nameOf(const ulsc_attention_desc &desc, const Gpu &gpu) {
  return concat(gpu.name, " ", desc.batch, "x", desc.queries, "x", desc.kv_heads, "x", desc.group,
                "x", desc.head_size, desc.dtype == ULSC_BF16 ? " bf16" : " f16",
                desc.causal ? " causal" : "");
}

class CudnnVendorTest : public testing::Test {
protected:
  void SetUp() override {
    try {
      library.emplace("attention", ULSC_VENDOR_CUDNN);
    } catch (const Error &error) {
      GTEST_SKIP() << "no cuDNN to ask: " << error.what();
    }
    if (!dlopen("libcuda.so.1", RTLD_NOW))
      GTEST_SKIP() << "cuDNN asks for libcuda.so.1, which isn't here: " << dlerror();
    if (size_t version = library->cudnnGetVersion(); version < oldestVersion)
      GTEST_SKIP() << "cuDNN " << cudnnVersionText(version) << " can't be asked about other GPUs";
  }

  CudnnDescriptor properties(const Gpu &gpu) {
    CudnnDescriptor properties(*library, DescriptorDeviceProperties);
    std::string text = describe(gpu);
    properties.set(AttrDevicePropertiesText, TypeChar, std::vector<char>(text.begin(), text.end()));
    properties.finalize();
    return properties;
  }

  /// The workspace of the library's best proposal for what `build` makes. A plan would be compiled
  /// and loaded: that needs the GPU.
  template <typename Build>
  int64_t propose(const Gpu &gpu, Build build) {
    CudnnDescriptor device = properties(gpu);
    CudnnGraph graph(*library);
    build(graph);
    graph.finalize(nullptr);
    std::string refusal;
    std::vector<CudnnDescriptor> proposals =
        proposeConfigs(*library, graph, {nullptr, device.get()}, HeuristicA, refusal);
    if (proposals.empty())
      raise("cuDNN refuses: ", refusal);
    int64_t count = 0, bytes = 0;
    library->check(library->cudnnBackendGetAttribute(proposals.front().get(),
                                                     AttrConfigWorkspaceBytes, TypeInt64, 1, &count,
                                                     &bytes),
                   "cudnnBackendGetAttribute of a configuration's workspace");
    return bytes;
  }

  template <typename Check>
  void forAll(Check check) {
    for (const Gpu &gpu : gpus)
      for (const Shape &shape : shapes)
        for (int32_t dtype : {ULSC_BF16, ULSC_F16})
          for (bool isCausal : {true, false}) {
            ulsc_attention_desc desc = describe(shape, dtype, isCausal);
            SCOPED_TRACE(nameOf(desc, gpu));
            try {
              check(gpu, desc);
            } catch (const Error &error) {
              ADD_FAILURE() << error.what();
            }
          }
  }

  static int64_t bound(const ulsc_attention_desc &desc, bool isGradient) {
    return ulsc_attention_workspace_bytes(desc.batch, desc.queries, desc.keys, desc.kv_heads,
                                          desc.group, desc.head_size, isGradient);
  }

  std::optional<CudnnLibrary> library;
};

TEST_F(CudnnVendorTest, ProposesWaysForAttentionWithinItsWorkspace) {
  forAll([&](const Gpu &gpu, const ulsc_attention_desc &desc) {
    int64_t best = propose(gpu, [&](CudnnGraph &graph) { buildAttention(graph, desc); });
    EXPECT_LE(best + ulsc_attention_workspace_alignment, bound(desc, false));
  });
}

TEST_F(CudnnVendorTest, ProposesWaysForTheGradientWithinItsWorkspace) {
  forAll([&](const Gpu &gpu, const ulsc_attention_desc &desc) {
    int64_t own = ulsc_attention_workspace_alignment +
                  ulsc_attention_graph_bytes(desc.batch, desc.queries, desc.kv_heads, desc.group,
                                             desc.head_size);
    for (LseOrder order : {LseOrder::Queries, LseOrder::Heads}) {
      int64_t best =
          propose(gpu, [&](CudnnGraph &graph) { buildAttentionGrad(graph, desc, order); });
      EXPECT_LE(best + own, bound(desc, true));
    }
  });
}

TEST_F(CudnnVendorTest, ProposesWaysForTheCopyOfLseWithoutWorkspace) {
  for (const Gpu &gpu : gpus)
    for (const Shape &shape : shapes) {
      ulsc_attention_desc desc = describe(shape, ULSC_BF16, true);
      EXPECT_EQ(propose(gpu, [&](CudnnGraph &graph) { buildLseCopy(graph, desc); }), 0)
          << nameOf(desc, gpu);
    }
}

// What the heuristics refuse shows that they look.
TEST_F(CudnnVendorTest, RefusesHeadSizesThatAreNoMultiplesOf8) {
  ulsc_attention_desc desc = describe({2, 128, 2, 1, 60}, ULSC_BF16, true);
  for (const Gpu &gpu : gpus)
    EXPECT_THROW(propose(gpu, [&](CudnnGraph &graph) { buildAttention(graph, desc); }), Error)
        << gpu.name;
}

} // namespace
} // namespace ulsc::runtime

// The CUDA backend's attention, as a compiled program calls it: libraries are loaded by their
// names.
#include "device/device.h"
#include "ulsc/AttentionWorkspace.h"

#include "core/numeric.h"
#include "simulator/core/report.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ulsc::runtime {
namespace {

const char *const kernels = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Attention of zeros to ones: each query gives the keys that it sees one weight.
class EvenAttention {
public:
  EvenAttention() : device(createCudaDevice(0, kernels, 1, 0, false)) {
    auto place = [&](int64_t bytes) {
      int64_t offset = arenaBytes;
      arenaBytes += (bytes + ULSC_ALIGNMENT - 1) / ULSC_ALIGNMENT * ULSC_ALIGNMENT;
      return offset;
    };
    for (int64_t *offset : {&q, &k, &v, &out, &outGrad, &qGrad, &kGrad, &vGrad})
      *offset = place(queries * headSize * 2);
    lse = place(queries * 4);
    workspace = place(desc.workspace_bytes);
    arena = device->allocateArena(arenaBytes);
    constexpr uint32_t one = 0x3c00;
    for (int64_t offset : {v, outGrad})
      device->fill(arena + offset, one, 2, queries * headSize);
  }

  void run() {
    device->attention(desc, arena + q, arena + k, arena + v, arena + out, arena + lse,
                      arena + workspace);
    device->attentionGrad(desc, arena + q, arena + k, arena + v, arena + out, arena + lse,
                          arena + outGrad, arena + qGrad, arena + kGrad, arena + vGrad,
                          arena + workspace);
  }

  std::vector<float> read(int64_t offset, int32_t dtype, int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    toFloat(device->view().read(offset, count * dtypeSize(dtype)), dtype, values.data(), count);
    return values;
  }

  static constexpr int64_t queries = 6, headSize = 8;
  ulsc_attention_desc desc{
      1,
      queries,
      queries,
      1,
      1,
      headSize,
      ULSC_F16,
      1,
      0.5,
      ulsc_attention_workspace_bytes(1, queries, queries, 1, 1, headSize, true),
      "layer.0.attention"};
  std::unique_ptr<Device> device;
  int64_t q, k, v, out, outGrad, qGrad, kGrad, vGrad, lse, workspace;
  int64_t arenaBytes = 0;
  char *arena = nullptr;
};

TEST(CudaDeviceAttention, ComputesInTheArena) {
  EvenAttention attention;
  attention.run();
  std::vector<float> out = attention.read(attention.out, ULSC_F16, 8 * 6);
  std::vector<float> lse = attention.read(attention.lse, ULSC_F32, 6);
  std::vector<float> vGrad = attention.read(attention.vGrad, ULSC_F16, 8 * 6);
  for (int64_t i = 0; i < attention.queries; ++i) {
    EXPECT_NEAR(out[i * 8], 1, 1e-3);
    EXPECT_NEAR(lse[i], std::log(i + 1.0), 1e-6);
    double weights = 0;
    for (int64_t query = i; query < attention.queries; ++query)
      weights += 1.0 / (query + 1.0);
    EXPECT_NEAR(vGrad[i * 8 + 7], weights, 4e-3);
  }
}

TEST(CudaDeviceAttentionDeathTest, ReportsNameTheSource) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        EvenAttention attention;
        attention.device->forget(attention.arena + attention.k, 16);
        attention.run();
        attention.device->view().read(0, 1);
      },
      testing::ExitedWithCode(simulator::reportExitCode),
      "uninitialised: 'cudnnBackendExecute.*source layer.0.attention");
}

} // namespace
} // namespace ulsc::runtime

//===- peaks.cpp - What a GPU's memory and its matrix units can do ----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// The best of several copies inside of the device's memory and of several products by cuBLASLt, by
// the calls that compiled programs make: what their kernels are measured against. Prints a JSON
// object. With an argument, sizes are that many times smaller, for the simulated device.
//
//===---------------------------------------------------------------------------------------===//

#include "core/error.h"
#include "cuda/driver.h"
#include "cuda/gemm.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>

using namespace ulsc::runtime;
namespace cuda = ulsc::cuda;

namespace {

class Peaks {
public:
  explicit Peaks(int64_t divisor) : bytes((int64_t(1) << 30) / divisor), size(8192 / divisor) {
    driver.check(driver.cuStreamCreate(&stream, cuda::StreamNonBlocking), "cuStreamCreate");
    for (cuda::Event *event : {&begin, &end})
      driver.check(driver.cuEventCreate(event, cuda::EventDefault), "cuEventCreate");
    for (cuda::DevicePointer *buffer : {&a, &b, &c, &workspace}) {
      driver.check(driver.cuMemAlloc_v2(buffer, static_cast<size_t>(bytes)), "cuMemAlloc");
      driver.check(driver.cuMemsetD8Async(*buffer, 0, static_cast<size_t>(bytes), stream),
                   "cuMemsetD8Async");
    }
  }

  nlohmann::ordered_json measure() {
    return {{"copy_gb_per_s", 2e-9 * double(bytes) / measureCopy()},
            {"gemm_bf16_tflop_per_s", measureProduct(ULSC_BF16)},
            {"gemm_f16_tflop_per_s", measureProduct(ULSC_F16)},
            {"gemm_f32_tflop_per_s", measureProduct(ULSC_F32)}};
  }

private:
  /// Seconds of the fastest of several.
  double fastest(const std::function<void()> &work) {
    double best = 1e30;
    for (int i = 0; i < 6; ++i) {
      driver.check(driver.cuEventRecord(begin, stream), "cuEventRecord");
      work();
      driver.check(driver.cuEventRecord(end, stream), "cuEventRecord");
      driver.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
      float milliseconds = 0;
      driver.check(driver.cuEventElapsedTime(&milliseconds, begin, end), "cuEventElapsedTime");
      if (i > 0) // the first one chooses an algorithm
        best = std::min(best, milliseconds * 1e-3);
    }
    return best;
  }

  double measureCopy() {
    return fastest([&] {
      driver.check(driver.cuMemcpyDtoDAsync_v2(b, a, static_cast<size_t>(bytes), stream),
                   "cuMemcpyDtoDAsync");
    });
  }

  double measureProduct(int32_t dtype) {
    ulsc_gemm_desc desc{};
    desc.batch = 1;
    desc.m = desc.n = desc.k = size;
    desc.a_m = desc.b_k = desc.c_m = size;
    desc.a_k = desc.b_n = desc.c_n = 1;
    desc.a_dtype = desc.b_dtype = desc.c_dtype = dtype;
    desc.workspace_bytes = std::min<int64_t>(bytes, (32 << 20) + 256);
    desc.name = "square product";
    auto pointer = [](cuda::DevicePointer buffer) { return reinterpret_cast<void *>(buffer); };
    double seconds = fastest([&] {
      products.run(desc, pointer(a), pointer(b), pointer(c), nullptr, nullptr, pointer(workspace),
                   stream);
    });
    return 2e-12 * double(size) * double(size) * double(size) / seconds;
  }

  CudaDriver driver{0};
  CudaGemm products;
  int64_t bytes, size;
  cuda::Stream stream = nullptr;
  cuda::Event begin = nullptr, end = nullptr;
  cuda::DevicePointer a = 0, b = 0, c = 0, workspace = 0;
};

} // namespace

int main(int argc, char **argv) {
  try {
    std::cout << Peaks(argc > 1 ? std::max(1, std::atoi(argv[1])) : 1).measure().dump()
              << std::endl;
    return 0;
  } catch (const Error &error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 1;
  }
}

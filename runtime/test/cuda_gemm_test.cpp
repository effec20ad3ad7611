// Products with epilogues through the simulated cuBLASLt against loops over their formulas.
#include "cuda/gemm.h"

#include "core/epilogue.h"
#include "core/error.h"
#include "core/numeric.h"
#include "simulator/core/memory.h"
#include "simulator/core/streams.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace ulsc::runtime;

namespace {

constexpr int64_t workspaceBytes = 1 << 16;

/// A buffer of the device, the same numbers as doubles beside it.
class Buffer {
public:
  Buffer(int64_t elements, int32_t dtype)
      : dtype(dtype), elements(elements), bytes(elements * dtypeSize(dtype)),
        data(ulsc::simulator::allocate(static_cast<size_t>(bytes),
                                       ulsc::simulator::MemoryKind::Device)) {}
  Buffer(const Buffer &) = delete;
  ~Buffer() { ulsc::simulator::release(data, ulsc::simulator::MemoryKind::Device); }

  void draw(std::mt19937 &random) {
    std::vector<float> numbers(static_cast<size_t>(elements));
    for (float &number : numbers)
      number = std::uniform_real_distribution<float>(-1, 1)(random);
    fromFloat(numbers.data(), data, dtype, elements);
    ulsc::simulator::markValues(data, bytes);
  }
  double at(int64_t index) const {
    float value;
    toFloat(static_cast<const char *>(data) + index * dtypeSize(dtype), dtype, &value, 1);
    return value;
  }

  const int32_t dtype;
  const int64_t elements, bytes;
  void *const data;
};

double gelu(double z) {
  return 0.5 * z * (1 + std::tanh(std::sqrt(2 / M_PI) * (z + 0.044715 * z * z * z)));
}

double geluSlope(double z) {
  double step = 1e-5;
  return (gelu(z + step) - gelu(z - step)) / (2 * step);
}

double unitOf(int32_t dtype) {
  return dtype == ULSC_F32 ? 0x1p-24 : dtype == ULSC_F16 ? 0x1p-11 : 0x1p-8;
}

struct Case {
  int32_t epilogue;
  int64_t m, n, k;
  int32_t dtype, resultDtype;
  bool isTransposedA = false, isTransposedB = false;
};

std::ostream &operator<<(std::ostream &stream, const Case &c) {
  return stream << epilogueName(c.epilogue) << " " << dtypeName(c.dtype) << " to "
                << dtypeName(c.resultDtype) << " " << c.m << "x" << c.n << "x" << c.k
                << (c.isTransposedA ? " a^T" : "") << (c.isTransposedB ? " b^T" : "");
}

ulsc_gemm_desc describe(const Case &c) {
  ulsc_gemm_desc desc = {};
  desc.batch = 1, desc.m = c.m, desc.n = c.n, desc.k = c.k;
  desc.a_m = c.isTransposedA ? 1 : c.k, desc.a_k = c.isTransposedA ? c.m : 1;
  desc.b_k = c.isTransposedB ? 1 : c.n, desc.b_n = c.isTransposedB ? c.k : 1;
  desc.c_m = c.n, desc.c_n = 1;
  desc.a_dtype = desc.b_dtype = c.dtype, desc.c_dtype = c.resultDtype;
  desc.epilogue = c.epilogue, desc.workspace_bytes = workspaceBytes;
  desc.name = "layers.*.up";
  return desc;
}

bool hasVectorInput(int32_t epilogue) {
  return epilogue == ULSC_EPILOGUE_BIAS || epilogue == ULSC_EPILOGUE_GELU;
}
bool hasMatrixInput(int32_t epilogue) {
  return epilogue == ULSC_EPILOGUE_GELU_GRAD || epilogue == ULSC_EPILOGUE_GELU_BIAS_GRAD;
}
bool hasVectorOutput(int32_t epilogue) {
  return epilogue == ULSC_EPILOGUE_GELU_BIAS_GRAD || epilogue == ULSC_EPILOGUE_BIAS_GRAD;
}

/// One product's buffers, and what its formula gives.
class Product {
public:
  Product(const Case &given, std::mt19937 &random)
      : given(given), desc(describe(given)), a(given.m * given.k, given.dtype),
        b(given.k * given.n, given.dtype), c(given.m * given.n, given.resultDtype),
        input(hasVectorInput(given.epilogue) ? given.n : given.m * given.n, given.resultDtype),
        output(hasVectorOutput(given.epilogue) ? given.n : given.m * given.n, given.resultDtype),
        workspace(workspaceBytes / 4, ULSC_F32) {
    for (Buffer *buffer : {&a, &b, &input})
      buffer->draw(random);
  }

  /// By a library of its own, which keeps algorithms by the address of what it is given.
  void run() {
    CudaGemm products;
    run(products, desc);
  }
  void run(CudaGemm &products, const ulsc_gemm_desc &by) {
    bool takes = hasVectorInput(given.epilogue) || hasMatrixInput(given.epilogue);
    bool gives = hasVectorOutput(given.epilogue) || given.epilogue == ULSC_EPILOGUE_GELU;
    products.run(by, a.data, b.data, c.data, takes ? input.data : nullptr,
                 gives ? output.data : nullptr, workspace.data, nullptr);
    ulsc::simulator::synchronizeDevice();
  }

  void check() const {
    std::vector<double> sums(static_cast<size_t>(given.n)), magnitudes(sums.size());
    for (int64_t i = 0; i < given.m; ++i)
      for (int64_t j = 0; j < given.n; ++j)
        checkElement(i, j, sums[static_cast<size_t>(j)], magnitudes[static_cast<size_t>(j)]);
    if (!hasVectorOutput(given.epilogue))
      return;
    for (int64_t j = 0; j < given.n; ++j) {
      double sum = sums[static_cast<size_t>(j)], magnitude = magnitudes[static_cast<size_t>(j)];
      if (given.epilogue == ULSC_EPILOGUE_BIAS_GRAD) {
        sum = magnitude = 0;
        for (int64_t l = 0; l < given.k; ++l) {
          double element = b.at(l * desc.b_k + j * desc.b_n);
          sum += element, magnitude += std::fabs(element);
        }
      }
      expectNear(output.at(j), sum, magnitude, "sum", j);
    }
  }

private:
  void checkElement(int64_t i, int64_t j, double &sum, double &sumOfMagnitudes) const {
    double p = 0, magnitude = 0;
    for (int64_t l = 0; l < given.k; ++l) {
      double term = a.at(i * desc.a_m + l * desc.a_k) * b.at(l * desc.b_k + j * desc.b_n);
      p += term, magnitude += std::fabs(term);
    }
    int64_t index = i * given.n + j;
    double expected = p;
    if (hasVectorInput(given.epilogue)) {
      expected += input.at(j);
      magnitude += 1;
    }
    if (given.epilogue == ULSC_EPILOGUE_GELU) {
      expectNear(output.at(index), expected, magnitude, "z", index);
      expected = gelu(expected);
    }
    if (hasMatrixInput(given.epilogue))
      expected *= geluSlope(input.at(index));
    // gelu's slope is at most 1.13.
    expectNear(c.at(index), expected, 1.2 * magnitude, "c", index);
    sum += expected;
    sumOfMagnitudes += 1.2 * magnitude;
  }

  void expectNear(double found, double expected, double magnitude, const char *what,
                  int64_t index) const {
    double tolerance = magnitude * static_cast<double>(given.k + given.m + 16) * 0x1p-24 +
                       std::fabs(expected) * unitOf(given.resultDtype) * 1.01 + 1e-6;
    ASSERT_NEAR(found, expected, tolerance) << given << ": " << what << " " << index;
  }

public:
  Case given;
  ulsc_gemm_desc desc;
  Buffer a, b, c, input, output, workspace;
};

const int32_t epilogues[] = {ULSC_EPILOGUE_BIAS, ULSC_EPILOGUE_GELU, ULSC_EPILOGUE_GELU_GRAD,
                             ULSC_EPILOGUE_GELU_BIAS_GRAD, ULSC_EPILOGUE_BIAS_GRAD};

TEST(CudaGemm, EpiloguesAreTheirFormulas) {
  std::mt19937 random(11);
  const std::pair<int32_t, int32_t> dtypes[] = {{ULSC_F32, ULSC_F32},
                                                {ULSC_BF16, ULSC_BF16},
                                                {ULSC_BF16, ULSC_F32},
                                                {ULSC_F16, ULSC_F16},
                                                {ULSC_F16, ULSC_F32}};
  const int64_t sizes[][3] = {{16, 32, 24}, {1, 8, 5}, {7, 40, 3}, {33, 8, 1}};
  int count = 0;
  for (int32_t epilogue : epilogues)
    for (auto [dtype, resultDtype] : dtypes)
      for (auto [m, n, k] : sizes) {
        Case given{epilogue,
                   m,
                   n,
                   k,
                   dtype,
                   resultDtype,
                   /*isTransposedA=*/count % 2 == 1,
                   /*isTransposedB=*/count % 3 == 1};
        ++count;
        Product product(given, random);
        product.run();
        product.check();
      }
}

/// Rows that are no multiple of 8 elements: only of what needs no matrix beside c.
TEST(CudaGemm, VectorsMayHaveAnyLength) {
  std::mt19937 random(12);
  for (int32_t epilogue : {ULSC_EPILOGUE_BIAS, ULSC_EPILOGUE_BIAS_GRAD})
    for (int32_t dtype : {ULSC_F32, ULSC_BF16})
      for (int64_t n : {2, 13, 31}) {
        Product product({epilogue, 9, n, 11, dtype, dtype}, random);
        product.run();
        product.check();
      }
}

/// The algorithm is kept for the descriptor, the pointers are not.
TEST(CudaGemm, PointersChangeFromCallToCall) {
  std::mt19937 random(13);
  for (int32_t epilogue : epilogues) {
    CudaGemm products;
    Case given{epilogue, 16, 24, 8, ULSC_BF16, ULSC_BF16};
    Product first(given, random), second(given, random);
    first.run(products, first.desc);
    first.check();
    second.run(products, first.desc);
    second.check();
  }
}

void expectRefused(const Case &given, void (*change)(ulsc_gemm_desc &), const char *words) {
  std::mt19937 random(14);
  Product product(given, random);
  change(product.desc);
  try {
    product.run();
    FAIL() << given << " is multiplied";
  } catch (const Error &error) {
    std::string message = error.what();
    EXPECT_NE(message.find("layers.*.up"), std::string::npos) << message;
    EXPECT_NE(message.find(words), std::string::npos) << message;
  }
}

TEST(CudaGemm, NamesTheOpOfWhatTheLibraryLacks) {
  auto keep = [](ulsc_gemm_desc &) {};
  expectRefused({ULSC_EPILOGUE_GELU, 4, 12, 8, ULSC_F32, ULSC_F32}, keep,
                "no way to multiply 1 x 4 x 8 by 8 x 12 with epilogue gelu");
  expectRefused({ULSC_EPILOGUE_BIAS, 4, 8, 8, ULSC_F16, ULSC_BF16}, keep,
                "no way to multiply 1 x 4 x 8 by 8 x 8 with epilogue bias");
  Case gelu{ULSC_EPILOGUE_GELU, 4, 8, 8, ULSC_F32, ULSC_F32};
  expectRefused(gelu, [](ulsc_gemm_desc &desc) { desc.accumulate = 1; }, "no accumulation");
  expectRefused(gelu, [](ulsc_gemm_desc &desc) { desc.c_m = 1, desc.c_n = 4; }, "c by rows");
  expectRefused(gelu, [](ulsc_gemm_desc &desc) { desc.epilogue = 17; }, "epilogue 17");
}

} // namespace

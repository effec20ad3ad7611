// GEMMs against a naive loop, over random shapes, strides, dtypes and workspaces.
#include "core/numeric.h"
#include "device/cpu_gemm.h"
#include "device/thread_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace ulsc::runtime;

namespace {

constexpr int threads = 2;

struct Matrix {
  std::vector<char> bytes;
  int32_t dtype;

  Matrix(int64_t elements, int32_t dtype, std::mt19937 &random) : dtype(dtype) {
    std::vector<float> values(elements);
    for (float &value : values)
      value = std::uniform_real_distribution<float>(-1, 1)(random);
    bytes.resize(elements * dtypeSize(dtype));
    fromFloat(values.data(), bytes.data(), dtype, elements);
  }
  float at(int64_t index) const {
    float value;
    toFloat(bytes.data() + index * dtypeSize(dtype), dtype, &value, 1);
    return value;
  }
};

// Strides of a [batch, rows, columns] operand in one of four styles, and the elements it spans.
int64_t drawStrides(std::mt19937 &random, int64_t batch, int64_t rows, int64_t columns,
                    int64_t strides[3], int style) {
  int64_t pad = random() % 3;
  switch (style) {
  case 0: // row-major
    strides[2] = 1;
    strides[1] = columns + pad;
    strides[0] = rows * strides[1] + pad;
    break;
  case 1: // column-major
    strides[1] = 1;
    strides[2] = rows + pad;
    strides[0] = columns * strides[2] + pad;
    break;
  case 2: // batches interleaved inside a row, like the heads of attention
    strides[2] = 1;
    strides[0] = columns + pad;
    strides[1] = batch * strides[0];
    break;
  default: // no unit stride
    strides[2] = 2;
    strides[1] = 2 * columns + 1;
    strides[0] = rows * strides[1];
  }
  return batch * strides[0] + rows * strides[1] + columns * strides[2] + 1;
}

ulsc_gemm_desc drawDesc(std::mt19937 &random, int64_t largest, int64_t sizes[3]) {
  auto extent = [&] { return int64_t(1) + random() % largest; };
  ulsc_gemm_desc d{};
  d.batch = random() % 2 ? 1 : 1 + random() % 5;
  d.m = extent();
  d.n = extent();
  d.k = extent();
  int64_t a[3], b[3], c[3];
  sizes[0] = drawStrides(random, d.batch, d.m, d.k, a, random() % 4);
  sizes[1] = drawStrides(random, d.batch, d.k, d.n, b, random() % 4);
  sizes[2] = drawStrides(random, d.batch, d.m, d.n, c, random() % 4);
  if (random() % 8 == 0)
    b[0] = 0; // one matrix for the whole batch
  d.a_batch = a[0], d.a_m = a[1], d.a_k = a[2];
  d.b_batch = b[0], d.b_k = b[1], d.b_n = b[2];
  d.c_batch = c[0], d.c_m = c[1], d.c_n = c[2];
  const int32_t dtypes[] = {ULSC_F32, ULSC_F32, ULSC_BF16, ULSC_BF16, ULSC_F16};
  d.a_dtype = dtypes[random() % 5];
  d.b_dtype = random() % 4 ? d.a_dtype : dtypes[random() % 5];
  d.c_dtype = random() % 2 ? d.a_dtype : int32_t(ULSC_F32);
  d.accumulate = random() % 2;
  d.workspace_bytes = random() % 3 ? (64 << 10) : (1 << 20);
  d.name = "test";
  return d;
}

// What c has to be, by position.
double expected(const ulsc_gemm_desc &d, const Matrix &a, const Matrix &b, const Matrix &c,
                int64_t batch, int64_t i, int64_t j) {
  double sum = d.accumulate ? c.at(batch * d.c_batch + i * d.c_m + j * d.c_n) : 0;
  for (int64_t k = 0; k < d.k; ++k)
    sum += double(a.at(batch * d.a_batch + i * d.a_m + k * d.a_k)) *
           b.at(batch * d.b_batch + k * d.b_k + j * d.b_n);
  return sum;
}

void checkOne(CpuGemm &gemm, std::mt19937 &random, int64_t largest) {
  int64_t sizes[3];
  ulsc_gemm_desc d = drawDesc(random, largest, sizes);
  Matrix a(sizes[0], d.a_dtype, random), b(sizes[1], d.b_dtype, random);
  Matrix c(sizes[2], d.c_dtype, random), result = c;
  constexpr int64_t guard = 64;
  std::vector<char> workspace(d.workspace_bytes + guard, 0x5a);
  gemm.run(d, a.bytes.data(), b.bytes.data(), result.bytes.data(), workspace.data());
  for (int64_t i = 0; i < guard; ++i)
    ASSERT_EQ(workspace[d.workspace_bytes + i], 0x5a) << "wrote past the workspace";
  std::vector<bool> written(sizes[2]);
  double unit = d.c_dtype == ULSC_BF16 ? 0x1p-8 : d.c_dtype == ULSC_F16 ? 0x1p-11 : 1e-6;
  for (int64_t batch = 0; batch < d.batch; ++batch)
    for (int64_t i = 0; i < d.m; ++i)
      for (int64_t j = 0; j < d.n; ++j) {
        int64_t index = batch * d.c_batch + i * d.c_m + j * d.c_n;
        written[index] = true;
        double value = expected(d, a, b, c, batch, i, j);
        ASSERT_NEAR(result.at(index), value, unit * (2 + std::fabs(value)) + 1e-6 * d.k)
            << "batch " << d.batch << " m " << d.m << " n " << d.n << " k " << d.k << " dtypes "
            << d.a_dtype << d.b_dtype << d.c_dtype << " accumulate " << d.accumulate;
      }
  for (int64_t i = 0; i < sizes[2]; ++i)
    if (!written[i])
      ASSERT_EQ(std::memcmp(&result.bytes[i * dtypeSize(c.dtype)], &c.bytes[i * dtypeSize(c.dtype)],
                            dtypeSize(c.dtype)),
                0)
          << "wrote between the elements of c";
}

} // namespace

TEST(Gemm, random_shapes_strides_and_dtypes) {
  configureThreads(threads);
  CpuGemm gemm(threads);
  std::mt19937 random(7);
  for (int i = 0; i < 250 && !HasFatalFailure(); ++i)
    checkOne(gemm, random, i % 20 == 0 ? 150 : 24);
}

TEST(Gemm, tiles_larger_than_the_workspace) {
  configureThreads(threads);
  std::mt19937 random(3);
  ulsc_gemm_desc d{};
  d.batch = 1, d.m = 190, d.n = 210, d.k = 330;
  d.a_m = d.k, d.a_k = 1, d.b_k = 1, d.b_n = d.k, d.c_m = d.n, d.c_n = 1;
  d.a_dtype = d.b_dtype = d.c_dtype = ULSC_BF16;
  d.workspace_bytes = 64 << 10;
  Matrix a(d.m * d.k, ULSC_BF16, random), b(d.k * d.n, ULSC_BF16, random);
  Matrix c(d.m * d.n, ULSC_BF16, random), result = c;
  std::vector<char> workspace(d.workspace_bytes);
  CpuGemm(threads).run(d, a.bytes.data(), b.bytes.data(), result.bytes.data(), workspace.data());
  for (int64_t i = 0; i < d.m; i += 7)
    for (int64_t j = 0; j < d.n; ++j)
      ASSERT_NEAR(result.at(i * d.n + j), expected(d, a, b, c, 0, i, j), 0.1);
}

TEST(Gemm, empty_sum_clears_or_keeps) {
  CpuGemm gemm(1);
  float c[4] = {1, 2, 3, 4};
  ulsc_gemm_desc d{};
  d.batch = 1, d.m = 2, d.n = 2, d.c_m = 2, d.c_n = 1, d.accumulate = 1;
  gemm.run(d, c, c, c, nullptr);
  EXPECT_EQ(c[3], 4);
  d.accumulate = 0;
  gemm.run(d, c, c, c, nullptr);
  EXPECT_EQ(c[3], 0);
}

TEST(Gemm, tile_on_one_thread) {
  configureThreads(threads);
  // a is stored 2x3 and transposed: c[3,2] = 2 * a^T b + c.
  float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1}, c[] = {1, 1, 1, 1, 1, 1};
  ulsc_gemm_tile(1, 0, 3, 2, 2, 2.0f, a, 3, b, 2, 1.0f, c, 2);
  float want[] = {3, 9, 5, 11, 7, 13};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(c[i], want[i]);
}

TEST(ParallelFor, covers_the_range_in_grains) {
  std::vector<std::atomic<int>> seen(1003);
  parallelFor(threads, 1003, 10, [&](int64_t begin, int64_t end, int64_t thread) {
    EXPECT_EQ(begin % 10, 0);
    EXPECT_TRUE(end % 10 == 0 || end == 1003);
    EXPECT_LT(thread, threads);
    for (int64_t i = begin; i < end; ++i)
      ++seen[i];
  });
  for (auto &count : seen)
    EXPECT_EQ(count, 1);
}

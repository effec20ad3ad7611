// Kernels as LLVM and nvcc made them, against plain loops.
#include "device_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace ulsc;
using namespace ulsc::simulator::test;

namespace {

std::vector<float> numbers(size_t count, float scale, float offset) {
  std::vector<float> result(count);
  for (size_t i = 0; i < count; ++i)
    result[i] = std::sin(float(i) * 0.37f) * scale + offset;
  return result;
}

uint16_t toBfloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
float fromBfloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

/// Each test runs on the code for three architectures, in a child with that architecture.
class Kernels : public testing::TestWithParam<int> {
protected:
  std::string text() const { return fixture("kernels_sm_" + std::to_string(GetParam()) + ".ptx"); }
  void expectFine(const std::function<void()> &program) const {
    std::string version = std::to_string(GetParam() / 10) + ".0";
    Outcome outcome = runInChild(program, {{"ULSC_SIMULATOR_ARCH", version}});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  }
};

void expectNear(float value, float expected, float tolerance, size_t at) {
  if (!(std::fabs(value - expected) <= tolerance * (1 + std::fabs(expected))))
    throw std::runtime_error("element " + std::to_string(at) + " is " + std::to_string(value) +
                             " instead of " + std::to_string(expected));
}

} // namespace

TEST_P(Kernels, ElementwiseWithTail) {
  expectFine([&] {
    begin();
    Program program(text());
    constexpr int n = 1000;
    auto a = numbers(n, 3, 0), b = numbers(n, 2, 1);
    Buffer<float> deviceA(a), deviceB(b), out(n);
    launch(program.function("swiglu"), {4, 256}, deviceA.pointer(), deviceB.pointer(),
           out.pointer(), n);
    auto result = out.read();
    for (size_t i = 0; i < n; ++i)
      expectNear(result[i], a[i] / (1 + std::exp(-a[i])) * b[i], 1e-6f, i);
  });
}

TEST_P(Kernels, VectorsOfFour) {
  expectFine([&] {
    begin();
    Program program(text());
    auto x = numbers(4096, 1, 0), y = numbers(4096, 1, 2);
    Buffer<float> deviceX(x), deviceY(y);
    launch(program.function("axpy4"), {8, 128}, deviceX.pointer(), deviceY.pointer(), 1.5f);
    auto result = deviceY.read();
    for (size_t i = 0; i < 4096; ++i)
      expectNear(result[i], std::fma(x[i], 1.5f, y[i]), 0, i);
  });
}

TEST_P(Kernels, RowReduction) {
  expectFine([&] {
    begin();
    Program program(text());
    constexpr int rows = 5, columns = 700;
    auto x = numbers(rows * columns, 2, 0.25f);
    Buffer<float> deviceX(x), out(rows * columns);
    launch(program.function("rmsnorm"), {rows, 256}, deviceX.pointer(), out.pointer(), columns);
    auto result = out.read();
    for (int row = 0; row < rows; ++row) {
      double sum = 0;
      for (int i = 0; i < columns; ++i)
        sum += double(x[row * columns + i]) * x[row * columns + i];
      for (int i = 0; i < columns; ++i)
        expectNear(result[row * columns + i],
                   float(x[row * columns + i] / std::sqrt(sum / columns + 1e-5)), 2e-6f, i);
    }
  });
}

TEST_P(Kernels, Bfloat16RoundsEachOperation) {
  expectFine([&] {
    begin();
    Program program(text());
    std::vector<uint16_t> x(2048);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = toBfloat(std::sin(float(i)) * 5);
    Buffer<uint16_t> deviceX(x), out(x.size());
    launch(program.function("square_bf16"), {4, 64}, deviceX.pointer(), out.pointer());
    auto result = out.read();
    for (size_t i = 0; i < x.size(); ++i) {
      float value = fromBfloat(x[i]), square = fromBfloat(toBfloat(value * value));
      // Contracted where the target allows: one rounding or two.
      float twice = fromBfloat(toBfloat(square + value));
      float once = fromBfloat(toBfloat(float(double(value) * value + value)));
      if (fromBfloat(result[i]) != twice)
        expectNear(fromBfloat(result[i]), once, 0, i);
    }
  });
}

TEST_P(Kernels, AtomicsOfManyBlocks) {
  expectFine([&] {
    begin();
    Program program(text());
    std::vector<int> rows = {2, 0, 2, 2, 1, 0};
    constexpr int columns = 64;
    auto gradient = numbers(rows.size() * columns, 1, 0);
    Buffer<int> deviceRows(rows);
    Buffer<float> deviceGradient(gradient), table(std::vector<float>(3 * columns, 1.0f));
    launch(program.function("scatter_add"), {unsigned(rows.size()), columns}, deviceRows.pointer(),
           deviceGradient.pointer(), table.pointer(), columns);
    auto result = table.read();
    std::vector<double> expected(3 * columns, 1.0);
    for (size_t i = 0; i < rows.size(); ++i)
      for (int column = 0; column < columns; ++column)
        expected[rows[i] * columns + column] += gradient[i * columns + column];
    for (size_t i = 0; i < expected.size(); ++i)
      expectNear(result[i], float(expected[i]), 1e-6f, i);
  });
}

TEST_P(Kernels, TransposeThroughSharedMemory) {
  expectFine([&] {
    begin();
    Program program(text());
    constexpr int rows = 64, columns = 96;
    auto in = numbers(rows * columns, 1, 0);
    Buffer<float> deviceIn(in), out(rows * columns);
    launch(program.function("transpose"), {columns / 32, 256, rows / 32}, deviceIn.pointer(),
           out.pointer(), rows, columns);
    auto result = out.read();
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column)
        expectNear(result[column * rows + row], in[row * columns + column], 0, row);
  });
}

TEST_P(Kernels, CallsSwitchesAndDivergence) {
  expectFine([&] {
    begin();
    Program program(text());
    constexpr int n = 500;
    std::vector<long> values(n);
    for (int i = 0; i < n; ++i)
      values[i] = (long(i) * 7919 - 1000000) * (i % 3 ? 1 : -12345);
    Buffer<long> device(values);
    launch(program.function("choose"), {4, 128}, device.pointer(), n);
    auto result = device.read();
    for (int i = 0; i < n; ++i) {
      auto v = static_cast<unsigned long>(values[i]);
      long value = values[i];
      switch (i % 7) {
      case 0:
        value = long(v * v * v);
        break;
      case 1:
        value = value / 7 - 3;
        break;
      case 2:
        value = value % 5 * 11;
        break;
      case 3:
        value = __builtin_popcountl(v);
        break;
      case 4:
        value = __builtin_clzl(v | 1);
        break;
      case 5:
        value = long(v << (i & 31)) ^ value >> 3;
        break;
      default:
        value = long((v + i) * (v + i));
        break;
      }
      if (result[i] != value)
        throw std::runtime_error("element " + std::to_string(i) + " is " +
                                 std::to_string(result[i]) + " instead of " +
                                 std::to_string(value));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Architectures, Kernels, testing::Values(80, 90, 100));

TEST(NvccKernels, RowReductionWithConstantsAndACounter) {
  Outcome outcome = runInChild([] {
    begin();
    Program program(fixture("nvcc_sm_90.ptx"));
    constexpr int rows = 3, vectors = 200;
    auto x = numbers(rows * vectors * 4, 1, 0.5f);
    Buffer<float> deviceX(x), out(x.size());
    launch(program.function("rmsnorm"), {rows, 128, 1, 64}, deviceX.pointer(), out.pointer(),
           vectors);
    auto result = out.read();
    for (int row = 0; row < rows; ++row) {
      double sum = 0;
      for (int i = 0; i < vectors * 4; ++i)
        sum += double(x[row * vectors * 4 + i]) * x[row * vectors * 4 + i];
      double scale = 1 / std::sqrt(sum / (vectors * 4) + 1e-5);
      for (int i = 0; i < vectors * 4; ++i) // a thread's factor comes from a table of four
        expectNear(result[row * vectors * 4 + i],
                   float(x[row * vectors * 4 + i] * scale * ((i / 4 % 128 & 3) + 1)), 2e-6f, i);
    }
    cuda::DevicePointer counter = 0;
    size_t bytes = 0;
    check(cuModuleGetGlobal_v2(&counter, &bytes, program.module, "counter"));
    int count = 0;
    check(cuMemcpyDtoH_v2(&count, counter, bytes));
    if (count != 3 + rows)
      throw std::runtime_error("the counter is " + std::to_string(count));
  });
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
}

TEST(NvccKernels, TanhOfBfloat16AndSine) {
  Outcome outcome = runInChild([] {
    begin();
    Program program(fixture("nvcc_sm_90.ptx"));
    // One thread: the kernel's others would add to the first half while it is read.
    std::vector<uint16_t> a = {toBfloat(-0.7f)}, h = {0x3c00}; // 1.0
    Buffer<uint16_t> deviceA(a), b(1), deviceH(h);
    launch(program.function("bf"), {1, 32}, deviceA.pointer(), b.pointer(), deviceH.pointer(), 1);
    expectNear(fromBfloat(b.read()[0]), std::tanh(-0.7f), 4e-3f, 0);
    if (deviceH.read()[0] != 0x4000) // (1 + sin(0) / 2) twice
      throw std::runtime_error("the half is not 2.0");
  });
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
}

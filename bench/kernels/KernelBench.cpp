//===- KernelBench.cpp - Generated kernels on one thread -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
//
// Prints, per kernel, the best and the median time of 15 runs, algorithmic bytes over the median, and the time from
// MLIR text to machine code.

#include "KernelTexts.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void measure(const char *name, const std::string &kernel, const std::vector<std::string> &inputs,
                    const std::vector<std::string> &outputs, const std::vector<int64_t> &sizes, double bytes) {
  int64_t end = 0;
  std::vector<Operand> ins, outs;
  size_t position = 0;
  for (const std::string &type : inputs)
    ins.push_back({type, end}), end += (sizes[position++] + 4095) / 4096 * 4096;
  for (const std::string &type : outputs)
    outs.push_back({type, end}), end += (sizes[position++] + 4095) / 4096 * 4096;
  ExecProgram program(launchOnce(kernel, "k", ins, outs), end);
  if (!program.isValid())
    return;
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < end / 4; i += 7)
    program.at<float>(0)[i] = normal(generator);
  program.control.beta1 = 0.9f, program.control.beta2 = 0.95f, program.control.bias_correction1 = 0.1f;
  program.control.bias_correction2 = 0.05f, program.control.epsilon = 1e-8f, program.control.learning_rate = 1e-3f;
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) {
    double begin = now();
    program.run();
    times.push_back(now() - begin);
  }
  std::sort(times.begin(), times.end());
  std::printf("%-24s best %7.2f ms  median %7.2f ms  %6.1f GB/s  compile %5.0f ms\n", name, times[0] * 1e3, times[7] * 1e3,
              bytes / times[7] / 1e9, program.compileSeconds * 1e3);
}

static void measureRows(const char *name, const std::string &kernel, int64_t rows, int64_t columns, bool hasVector) {
  std::string shape = text(rows) + "x" + text(columns) + "xf32";
  int64_t bytes = rows * columns * 4;
  std::vector<std::string> inputs = {shape};
  std::vector<int64_t> sizes = {bytes, bytes};
  if (hasVector) {
    inputs.push_back(text(columns) + "xf32");
    sizes.insert(sizes.begin() + 1, columns * 4);
  }
  measure(name, kernel, inputs, {shape}, sizes, 2.0 * bytes);
}

int main() {
  measureRows("gelu+bias 4096x3072", biasGelu(4096, 3072), 4096, 3072, true);
  measureRows("rmsnorm 4096x768", rmsNorm(4096, 768), 4096, 768, true);
  measureRows("softmax 8192x1024", softmax(8192, 1024), 8192, 1024, false);
  measureRows("softmax 8192x1000", softmax(8192, 1000), 8192, 1000, false);
  const int64_t n = 1 << 24;
  std::string vector = text(n) + "xf32", narrow = text(n) + "xbf16";
  measure("adamw 16M", adamW(n), {vector, vector, vector, vector}, {vector, vector, vector},
          {n * 4, n * 4, n * 4, n * 4, n * 4, n * 4, n * 4}, 7.0 * 4 * n);
  measure("bf16 add 16M", bf16Add(n), {narrow, narrow}, {narrow}, {n * 2, n * 2, n * 2}, 3.0 * 2 * n);
  measure("transpose 4096x3072", transpose(1, 4096, 3072), {"1x4096x3072xf32"}, {"3072x1x4096xf32"},
          {4096 * 3072 * 4, 4096 * 3072 * 4}, 2.0 * 4096 * 3072 * 4);
}

//===- KernelBench.cpp - Generated kernels on one thread -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
//
// Prints, per kernel, the best and the median time of 15 runs, algorithmic bytes over the median,
// and the time from MLIR text to machine code.

#include "KernelTexts.h"
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>

/// Seconds of processor time, which other work on the machine changes least.
static double now() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void measure(const char *name, const std::string &kernel,
                    const std::vector<std::string> &inputs, const std::vector<std::string> &outputs,
                    const std::vector<int64_t> &sizes, double bytes) {
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
  program.control.beta1 = 0.9f, program.control.beta2 = 0.95f,
  program.control.bias_correction1 = 0.1f;
  program.control.bias_correction2 = 0.05f, program.control.epsilon = 1e-8f,
  program.control.learning_rate = 1e-3f;
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) {
    double begin = now();
    program.run();
    times.push_back(now() - begin);
  }
  std::sort(times.begin(), times.end());
  std::printf("%-24s best %7.2f ms  median %7.2f ms  %6.1f GB/s  compile %5.0f ms\n", name,
              times[0] * 1e3, times[7] * 1e3, bytes / times[7] / 1e9, program.compileSeconds * 1e3);
}

static void measureRows(const char *name, const std::string &kernel, int64_t rows, int64_t columns,
                        bool hasVector) {
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

static void measureCopy() {
  const int64_t bytes = 48 << 20;
  std::vector<char> from(bytes, 1), to(bytes, 2);
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) {
    double begin = now();
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" : : "r"(to.data()) : "memory");
    times.push_back(now() - begin);
  }
  std::sort(times.begin(), times.end());
  std::printf("%-24s best %7.2f ms  median %7.2f ms  %6.1f GB/s\n", "memcpy 48 MiB", times[0] * 1e3,
              times[7] * 1e3, 2.0 * bytes / times[7] / 1e9);
}

/// Time from text to machine code of a step with 40 kernels of a few shapes.
static void measureCompilation() {
  std::string program, step = "exec.function @ulsc_step() attributes {entry} {\n";
  for (int i = 0; i < 40; ++i) {
    int64_t columns = 100 + i;
    std::string kernel = i % 2 ? softmax(64, columns) : biasGelu(64, columns),
                name = "@k" + text(i);
    kernel.replace(kernel.find("@k("), 2, name);
    if (i > 1) // The shared maps are defined once.
      while (kernel.find("#") != std::string::npos &&
             kernel.find("    #") < kernel.find("exec.kernel"))
        kernel.erase(kernel.find("    #"),
                     kernel.find("\n", kernel.find("    #")) - kernel.find("    #") + 1);
    program += kernel + "\n";
    std::string type = "memref<64x" + text(columns) + "xf32>",
                vector = "memref<" + text(columns) + "xf32>", n = text(i);
    step += "%x" + n + " = exec.buffer activations offset(0) : " + type + "\n%b" + n +
            " = exec.buffer activations offset(65536) : " + vector + "\n";
    step += "exec.launch " + name + " ins(%x" + n + (i % 2 ? "" : ", %b" + n) + " : " + type +
            (i % 2 ? "" : ", " + vector) + ") outs(%x" + n + " : " + type + ")\n";
  }
  ExecProgram compiled(program + step + "exec.return\n}\n");
  std::printf("%-24s %.2f s\n", "compile 40 kernels", compiled.compileSeconds);
}

int main() {
  measureCopy();
  measureCompilation();
  measureRows("gelu+bias 4096x3072", biasGelu(4096, 3072), 4096, 3072, true);
  measureRows("rmsnorm 4096x768", rmsNorm(4096, 768), 4096, 768, true);
  measureRows("softmax 8192x1024", softmax(8192, 1024), 8192, 1024, false);
  measureRows("softmax 8192x1000", softmax(8192, 1000), 8192, 1000, false);
  const int64_t n = 1 << 24;
  std::string vector = text(n) + "xf32", narrow = text(n) + "xbf16";
  measure("adamw 16M", adamW(n), {vector, vector, vector, vector}, {vector, vector, vector},
          {n * 4, n * 4, n * 4, n * 4, n * 4, n * 4, n * 4}, 7.0 * 4 * n);
  measure("bf16 add 16M", bf16Add(n), {narrow, narrow}, {narrow}, {n * 2, n * 2, n * 2},
          3.0 * 2 * n);
  measure("transpose 4096x3072", transpose(1, 4096, 3072), {"1x4096x3072xf32"}, {"3072x1x4096xf32"},
          {4096 * 3072 * 4, 4096 * 3072 * 4}, 2.0 * 4096 * 3072 * 4);
}

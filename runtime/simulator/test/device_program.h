// A few lines that let a test read like a CUDA program: buffers, modules and launches over the
// simulated driver. Everything throws where the driver returns an error.
#ifndef ULSC_RUNTIME_SIMULATOR_TEST_DEVICE_PROGRAM_H
#define ULSC_RUNTIME_SIMULATOR_TEST_DEVICE_PROGRAM_H

#include "simulator/cudart/driver_calls.h"

#include <functional>
#include <string>
#include <vector>

extern "C" {
Result cuModuleLoadData(cuda::Module *module, const void *image);
Result cuModuleUnload(cuda::Module module);
Result cuModuleGetFunction(cuda::Function *function, cuda::Module module, const char *name);
Result cuModuleGetGlobal_v2(cuda::DevicePointer *pointer, size_t *bytes, cuda::Module module,
                            const char *name);
Result cuFuncSetAttribute(cuda::Function function, cuda::FunctionAttribute attribute, int value);
Result cuFuncGetAttribute(int *value, cuda::FunctionAttribute attribute, cuda::Function function);
Result cuLaunchKernel(cuda::Function function, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned dynamicShared,
                      cuda::Stream stream, void **parameters, void **extra);
Result cuMemcpyHtoD_v2(cuda::DevicePointer target, const void *source, size_t bytes);
Result cuMemcpyDtoH_v2(void *target, cuda::DevicePointer source, size_t bytes);
Result cuMemsetD32Async(cuda::DevicePointer pointer, unsigned value, size_t count,
                        cuda::Stream stream);
Result cuEventRecord(cuda::Event event, cuda::Stream stream);
Result cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                           uint32_t *status);
Result cuGraphGetNodes(cuda::Graph graph, void **nodes, size_t *count);
Result cudaMemset(void *pointer, int value, size_t bytes);
void ulsc_simulator_set_source(const char *source);
void ulsc_simulator_forget(void *pointer, size_t bytes, cuda::Stream stream);
void ulsc_simulator_declare_buffers(void *const *buffers, const int64_t *bytes, int count,
                                    int outputs);
}

namespace ulsc::simulator::test {

/// Throws std::runtime_error with the error's number.
void check(Result result);

/// Makes the device's context current. Every program begins with it.
void begin();

/// Device memory of `count` elements, freed at the end.
template <typename T>
class Buffer {
public:
  explicit Buffer(size_t count) : count(count) {
    check(cuMemAlloc_v2(&address, count * sizeof(T)));
  }
  explicit Buffer(const std::vector<T> &values) : Buffer(values.size()) { write(values); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  ~Buffer() { cuMemFree_v2(address); }
  void write(const std::vector<T> &values) {
    check(cuMemcpyHtoD_v2(address, values.data(), values.size() * sizeof(T)));
  }
  std::vector<T> read() const {
    std::vector<T> values(count);
    check(cuMemcpyDtoH_v2(values.data(), address, count * sizeof(T)));
    return values;
  }
  T *pointer(size_t element = 0) const { return reinterpret_cast<T *>(address) + element; }

  size_t count;
  cuda::DevicePointer address = 0;
};

/// A module of PTX text.
class Program {
public:
  explicit Program(const std::string &ptx);
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
  cuda::Function function(const char *name) const;
  cuda::Module module = nullptr;
};

struct Shape {
  unsigned blocks = 1, threads = 32, blocksY = 1, dynamicShared = 0;
  cuda::Stream stream = nullptr;
};

/// Launches with the parameters as they are.
template <typename... Parameters>
void launch(cuda::Function function, Shape shape, Parameters... parameters) {
  void *pointers[] = {&parameters..., nullptr};
  check(cuLaunchKernel(function, shape.blocks, shape.blocksY, 1, shape.threads, 1, 1,
                       shape.dynamicShared, shape.stream, pointers, nullptr));
}

/// The text of a fixture in test/ptx.
std::string fixture(const std::string &name);

/// A kernel around statements: `body` finds the address of the only parameter in %rd1 and the
/// thread's number in %r1; `declarations` are more registers and variables.
std::string kernelText(const std::string &body, const std::string &declarations = "",
                       const std::string &moduleText = "");

/// How a child process that ran `program` ended, and what it wrote to stderr.
struct Outcome {
  int exitCode = -1;
  std::string errors;
};
/// Runs in a forked child, whose device is its own: the caller must not have used the device. A
/// program that ends without a report exits with 0. `environment` is set before.
Outcome runInChild(const std::function<void()> &program,
                   const std::vector<std::pair<std::string, std::string>> &environment = {});
/// With ULSC_SIMULATOR_SEED.
Outcome runWithSeed(int seed, const std::function<void()> &program);

} // namespace ulsc::simulator::test

#endif // ULSC_RUNTIME_SIMULATOR_TEST_DEVICE_PROGRAM_H

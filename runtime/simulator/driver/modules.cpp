// Modules of PTX text and their functions.
#include "simulator/driver/driver.h"

#include "simulator/core/report.h"
#include "simulator/core/settings.h"
#include "simulator/ptx/error.h"

#include <mutex>
#include <set>

namespace ulsc::simulator::driver {

namespace {

struct ModuleHandle {
  std::shared_ptr<ptx::LoadedModule> module;
  std::map<std::string, std::unique_ptr<KernelHandle>> kernels;
};

std::recursive_mutex mutex;
std::set<const void *> modules;

ModuleHandle *moduleOf(cuda::Module module) {
  return modules.count(module) ? reinterpret_cast<ModuleHandle *>(module) : nullptr;
}

/// "'add' (source model.layers.*.mlp)": the kernel around a line, and the comment that compiled
/// programs put before it.
std::string describeKernel(const char *text, uint32_t line) {
  static const std::string mark = "// source: ", entry = ".entry ";
  std::istringstream stream(text);
  std::string source, result, nextSource;
  std::string each;
  for (uint32_t number = 1; number <= line && std::getline(stream, each); ++number) {
    if (each.compare(0, mark.size(), mark) == 0)
      nextSource = each.substr(mark.size());
    if (size_t at = each.find(entry); at != std::string::npos && each.find("//") > at) {
      size_t begin = at + entry.size();
      result = "'" + each.substr(begin, each.find_first_of("( \t", begin) - begin) + "'";
      if (!nextSource.empty())
        result += " (source " + nextSource + ")";
      nextSource.clear();
    }
    if (!each.empty() && each[0] == '}')
      result.clear();
  }
  return result;
}

Result load(cuda::Module *result, const void *image) {
  if (Result status = checkContext(); status != cuda::Success)
    return status;
  if (Status status = refuseInCapture(); status != Status::Success)
    return resultOf(status);
  if (!result || !image)
    return cuda::InvalidValue;
  const char *text = static_cast<const char *>(image);
  if (std::string(text, text[0] ? 1 : 0).find_first_of("./ \t\r\n") == std::string::npos)
    report({"ptx",
            "a module is no PTX text, but perhaps a cubin or a fat binary",
            {},
            "PTX text: the simulated device has no machine code"});
  auto handle = std::make_unique<ModuleHandle>();
  try {
    handle->module = ptx::load(text);
  } catch (const ptx::PtxError &error) {
    Finding finding{"ptx",
                    std::string("a module can't be loaded: ") + error.what(),
                    {},
                    "what docs/simulator.md lists"};
    if (std::string kernel = describeKernel(text, error.line); !kernel.empty())
      finding.details.push_back({"kernel", kernel});
    report(finding);
  }
  int architecture = settings().architecture, target = handle->module->target;
  if (target > architecture || (handle->module->isArchitectureSpecific && target != architecture))
    return cuda::NoBinaryForGpu;
  std::lock_guard<std::recursive_mutex> lock(mutex);
  modules.insert(handle.get());
  *result = reinterpret_cast<cuda::Module>(handle.release());
  return cuda::Success;
}

KernelHandle *kernelOf(cuda::Function function) {
  return reinterpret_cast<KernelHandle *>(function);
}

} // namespace

} // namespace ulsc::simulator::driver

using namespace ulsc;
using namespace ulsc::simulator;
using namespace ulsc::simulator::driver;

ULSC_EXPORT Result cuModuleLoadData(cuda::Module *module, const void *image) {
  return load(module, image);
}

/// The options steer ptxas, which isn't there, and its logs, which stay empty.
ULSC_EXPORT Result cuModuleLoadDataEx(cuda::Module *module, const void *image, unsigned count,
                                      uint32_t *options, void **values) {
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] > cuda::JitCacheMode)
      report({"unsupported",
              text("cuModuleLoadDataEx has the option ", options[i]),
              {},
              text("options 0 to ", uint32_t(cuda::JitCacheMode))});
    bool isLog = options[i] == cuda::JitInfoLogBuffer || options[i] == cuda::JitErrorLogBuffer;
    if (isLog && values[i])
      *static_cast<char *>(values[i]) = 0;
  }
  return load(module, image);
}

ULSC_EXPORT Result cuModuleUnload(cuda::Module module) {
  if (Status status = synchronizeDevice(); status != Status::Success)
    return resultOf(status);
  std::lock_guard<std::recursive_mutex> lock(mutex);
  ModuleHandle *handle = moduleOf(module);
  if (!handle)
    return cuda::InvalidHandle;
  modules.erase(handle);
  delete handle;
  return cuda::Success;
}

ULSC_EXPORT Result cuModuleGetFunction(cuda::Function *function, cuda::Module module,
                                       const char *name) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  ModuleHandle *handle = moduleOf(module);
  if (!handle || !function || !name)
    return handle ? cuda::InvalidValue : cuda::InvalidHandle;
  auto found = handle->module->kernels.find(name);
  if (found == handle->module->kernels.end())
    return cuda::NotFound;
  auto &kernel = handle->kernels[name];
  if (!kernel)
    kernel = std::make_unique<KernelHandle>(KernelHandle{handle->module, found->second.get(), 0});
  *function = reinterpret_cast<cuda::Function>(kernel.get());
  return cuda::Success;
}

ULSC_EXPORT Result cuModuleGetGlobal_v2(cuda::DevicePointer *pointer, size_t *bytes,
                                        cuda::Module module, const char *name) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  ModuleHandle *handle = moduleOf(module);
  if (!handle || !name)
    return handle ? cuda::InvalidValue : cuda::InvalidHandle;
  auto found = handle->module->globals.find(name);
  if (found == handle->module->globals.end())
    return cuda::NotFound;
  if (pointer)
    *pointer = cuda::DevicePointer(found->second.address);
  if (bytes)
    *bytes = found->second.bytes;
  return cuda::Success;
}

ULSC_EXPORT Result cuFuncSetAttribute(cuda::Function function, cuda::FunctionAttribute attribute,
                                      int value) {
  KernelHandle *kernel = kernelOf(function);
  if (!kernel)
    return cuda::InvalidHandle;
  bool isKnown = false;
  int limit = attributeOf(cuda::MaxSharedMemoryPerBlockOptin, isKnown);
  if (attribute == cuda::FunctionMaxDynamicSharedSizeBytes) {
    if (value < 0 || value + int(kernel->kernel->sharedBytes) > limit)
      return cuda::InvalidValue;
    kernel->maximumDynamicShared = value;
    return cuda::Success;
  }
  if (attribute == cuda::FunctionPreferredSharedMemoryCarveout)
    return value >= -1 && value <= 100 ? cuda::Success : cuda::InvalidValue;
  return cuda::InvalidValue;
}

ULSC_EXPORT Result cuFuncGetAttribute(int *value, cuda::FunctionAttribute attribute,
                                      cuda::Function function) {
  KernelHandle *handle = kernelOf(function);
  if (!handle || !value)
    return handle ? cuda::InvalidValue : cuda::InvalidHandle;
  const ptx::Kernel &kernel = *handle->kernel;
  uint32_t threads =
      kernel.maximumThreads[0]
          ? kernel.maximumThreads[0] * kernel.maximumThreads[1] * kernel.maximumThreads[2]
          : 1024;
  switch (attribute) {
  case cuda::FunctionMaxThreadsPerBlock:
    *value = int(threads);
    return cuda::Success;
  case cuda::FunctionSharedSizeBytes:
    *value = int(kernel.sharedBytes);
    return cuda::Success;
  case cuda::FunctionConstSizeBytes:
    *value = 0;
    return cuda::Success;
  case cuda::FunctionLocalSizeBytes:
    *value = int(kernel.localBytes);
    return cuda::Success;
  case cuda::FunctionNumRegs: // ptxas alone knows: a figure that lets 1024 threads run
    *value = 32;
    return cuda::Success;
  case cuda::FunctionPtxVersion:
  case cuda::FunctionBinaryVersion:
    *value = handle->module->target;
    return cuda::Success;
  case cuda::FunctionMaxDynamicSharedSizeBytes:
    *value = handle->maximumDynamicShared ? handle->maximumDynamicShared
                                          : (48 << 10) - int(kernel.sharedBytes);
    return cuda::Success;
  case cuda::FunctionPreferredSharedMemoryCarveout:
    *value = -1;
    return cuda::Success;
  }
  return cuda::InvalidValue;
}

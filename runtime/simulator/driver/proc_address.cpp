// cuGetProcAddress: functions by their names without the version.
#include "simulator/driver/driver.h"

#include <dlfcn.h>
#include <string>

using namespace ulsc;
using namespace ulsc::simulator::driver;

namespace {

void *ownLibrary() {
  static void *result = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void *>(&isInitialised), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return result;
}

void *findFunction(const std::string &name) {
  void *library = ownLibrary();
  if (!library || name.compare(0, 2, "cu") != 0)
    return nullptr;
  // The name without a version means the newest one.
  for (const char *version : {"_v2", "WithFlags", ""})
    if (name + version != "cuEventRecordWithFlags" || *version == 0)
      if (void *found = dlsym(library, (name + version).c_str()))
        return found;
  return nullptr;
}

} // namespace

/// `status`: 0 found, 1 unknown name.
ULSC_EXPORT Result cuGetProcAddress_v2(const char *symbol, void **function, int, uint64_t,
                                       uint32_t *status) {
  if (!symbol || !function)
    return cuda::InvalidValue;
  *function = findFunction(symbol);
  if (status)
    *status = *function ? 0 : 1;
  return *function ? cuda::Success : cuda::NotFound;
}

ULSC_EXPORT Result cuGetProcAddress(const char *symbol, void **function, int version,
                                    uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

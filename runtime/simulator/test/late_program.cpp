// A program as this project makes them: it knows the driver only by its file's name. Run by
// simulate.sh, it prints the device and the seed, and with the argument "fault" copies too much.
#include "cuda/driver_api.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace ulsc;

namespace {

template <typename Function>
Function find(void *library, const char *name) {
  auto found = reinterpret_cast<Function>(dlsym(library, name));
  if (!found)
    std::printf("no %s\n", name), std::exit(1);
  return found;
}

void check(cuda::Result result) {
  if (result != cuda::Success)
    std::printf("error %u\n", result), std::exit(1);
}

} // namespace

int main(int argc, char **argv) {
  void *library = dlopen(cuda::driverLibraryName, RTLD_NOW);
  if (!library) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  check(find<cuda::Result (*)(unsigned)>(library, "cuInit")(0));
  char name[64];
  check(find<cuda::Result (*)(char *, int, int)>(library, "cuDeviceGetName")(name, sizeof name, 0));
  const char *seed = std::getenv("ULSC_SIMULATOR_SEED");
  std::printf("%s, seed %s\n", name, seed ? seed : "default");
  std::fflush(stdout);
  if (argc < 2 || std::strcmp(argv[1], "fault") != 0)
    return 0;
  cuda::Context context = nullptr;
  check(find<cuda::Result (*)(cuda::Context *, int)>(library, "cuDevicePrimaryCtxRetain")(&context,
                                                                                          0));
  check(find<cuda::Result (*)(cuda::Context)>(library, "cuCtxSetCurrent")(context));
  cuda::DevicePointer pointer = 0;
  check(
      find<cuda::Result (*)(cuda::DevicePointer *, size_t)>(library, "cuMemAlloc_v2")(&pointer, 4));
  char host[8] = {};
  check(find<cuda::Result (*)(cuda::DevicePointer, const void *, size_t)>(
      library, "cuMemcpyHtoD_v2")(pointer, host, sizeof host));
  return 0;
}

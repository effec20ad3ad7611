#include "core/vendor_library.h"

#include "core/error.h"

#include <dlfcn.h>

namespace ulsc::runtime {

VendorLibrary::VendorLibrary(std::string file, std::string advice)
    : file(std::move(file)), advice(std::move(advice)),
      handle(dlopen(this->file.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
  if (!handle) {
    const char *problem = dlerror();
    raise("can't load '", this->file, "' (", problem ? problem : "no reason given", "); ",
          this->advice);
  }
}

void *VendorLibrary::find(const char *function) const {
  void *address = findOptional(function);
  if (!address)
    raise("'", file, "' has no function ", function, ", so it is of another version; ", advice);
  return address;
}

void *VendorLibrary::findOptional(const char *function) const { return dlsym(handle, function); }

} // namespace ulsc::runtime

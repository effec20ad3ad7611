// A vendor's shared library, loaded when a program starts rather than when it is linked: programs
// and their compiler are built where there is none.
#ifndef ULSC_RUNTIME_CORE_VENDOR_LIBRARY_H
#define ULSC_RUNTIME_CORE_VENDOR_LIBRARY_H

#include <string>

namespace ulsc::runtime {

class VendorLibrary {
public:
  /// Loads `file`; without it the error says what it is part of and how to get it.
  VendorLibrary(std::string file, std::string advice);
  VendorLibrary(const VendorLibrary &) = delete;
  VendorLibrary &operator=(const VendorLibrary &) = delete;

  /// The address of a function that must be there.
  void *find(const char *function) const;
  /// The same, or null.
  void *findOptional(const char *function) const;

private:
  std::string file, advice;
  void *handle; // never unloaded: libraries of drivers don't take that well
};

} // namespace ulsc::runtime

/// Members that point to the functions of an interface's list, found in the member `library`.
#define ULSC_VENDOR_FUNCTION(name, result, parameters)                                             \
  result(*name) parameters = reinterpret_cast<result(*) parameters>(library.find(#name));

#endif // ULSC_RUNTIME_CORE_VENDOR_LIBRARY_H

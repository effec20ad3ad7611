// cuDNN as this process has loaded it, and descriptors of its interface that destroy themselves.
#ifndef ULSC_RUNTIME_CUDA_CUDNN_LIBRARY_H
#define ULSC_RUNTIME_CUDA_CUDNN_LIBRARY_H

#include "cuda/cudnn_api.h"
#include "core/vendor_library.h"

#include <string>
#include <vector>

namespace ulsc::runtime {

struct CudnnLibrary {
  /// Loads `file`; where that fails, `user` is who needs it, for the message.
  explicit CudnnLibrary(const std::string &user, const std::string &file = cudnn::libraryName);

  // What the functions are declared with.
  using Status = cudnn::Status;
  using Handle = cudnn::Handle;
  using Stream = cudnn::Stream;
  using Descriptor = cudnn::Descriptor;
  using DescriptorType = cudnn::DescriptorType;
  using Attribute = cudnn::Attribute;
  using AttributeType = cudnn::AttributeType;

  VendorLibrary library;
  ULSC_CUDNN_FUNCTIONS(ULSC_VENDOR_FUNCTION)

  /// Raises what a call of `function` failed of.
  void check(Status status, const char *function) const;
  /// "CUDNN_STATUS_NOT_SUPPORTED: what the library says of its last error".
  std::string describe(Status status) const;
  /// What the library says of its last error, or that it says nothing.
  std::string lastReason() const;
};

/// "9.19.0"
std::string cudnnVersionText(size_t version);

/// One descriptor: attributes, then `finalize`.
class CudnnDescriptor {
public:
  CudnnDescriptor(const CudnnLibrary &library, cudnn::DescriptorType type);
  /// Takes over one that exists.
  CudnnDescriptor(const CudnnLibrary &library, cudnn::Descriptor descriptor)
      : library(&library), descriptor(descriptor) {}
  CudnnDescriptor(CudnnDescriptor &&other) noexcept;
  CudnnDescriptor &operator=(CudnnDescriptor &&other) noexcept;
  ~CudnnDescriptor();

  cudnn::Descriptor get() const { return descriptor; }

  template <typename Value>
  void set(cudnn::Attribute attribute, cudnn::AttributeType type, const Value &value) {
    setArray(attribute, type, 1, &value);
  }
  template <typename Value>
  void set(cudnn::Attribute attribute, cudnn::AttributeType type,
           const std::vector<Value> &values) {
    setArray(attribute, type, static_cast<int64_t>(values.size()), values.data());
  }
  void set(cudnn::Attribute attribute, const CudnnDescriptor &value) {
    set(attribute, cudnn::TypeDescriptor, value.descriptor);
  }
  void finalize();
  /// The same, where the library may refuse.
  cudnn::Status tryFinalize();

private:
  void setArray(cudnn::Attribute attribute, cudnn::AttributeType type, int64_t count,
                const void *values);

  const CudnnLibrary *library;
  cudnn::Descriptor descriptor = nullptr;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_CUDNN_LIBRARY_H

#include "cuda/cudnn_library.h"

#include "core/error.h"

#include <utility>

namespace ulsc::runtime {

CudnnLibrary::CudnnLibrary(const std::string &user, const std::string &file)
    : library(file, concat("'", user,
                           "' is left to cuDNN 9, as the packages nvidia-cudnn-cu13 or "
                           "libcudnn9-cuda-13 bring it; its folder has to be in LD_LIBRARY_PATH, "
                           "or compile with --attention own")) {}

std::string CudnnLibrary::lastReason() const {
  char reason[1024] = "";
  cudnnGetLastErrorString(reason, sizeof(reason));
  return reason[0] ? reason : "no reason given";
}

std::string CudnnLibrary::describe(Status status) const {
  return concat(cudnnGetErrorString(status), ": ", lastReason());
}

void CudnnLibrary::check(Status status, const char *function) const {
  if (status != cudnn::StatusSuccess)
    raise(function, " failed: ", describe(status));
}

std::string cudnnVersionText(size_t version) {
  return concat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

CudnnDescriptor::CudnnDescriptor(const CudnnLibrary &library, cudnn::DescriptorType type)
    : library(&library) {
  library.check(library.cudnnBackendCreateDescriptor(type, &descriptor),
                "cudnnBackendCreateDescriptor");
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor &&other) noexcept
    : library(other.library), descriptor(std::exchange(other.descriptor, nullptr)) {}

CudnnDescriptor &CudnnDescriptor::operator=(CudnnDescriptor &&other) noexcept {
  std::swap(library, other.library);
  std::swap(descriptor, other.descriptor);
  return *this;
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor)
    library->cudnnBackendDestroyDescriptor(descriptor);
}

void CudnnDescriptor::setArray(cudnn::Attribute attribute, cudnn::AttributeType type, int64_t count,
                               const void *values) {
  library->check(
      library->cudnnBackendSetAttribute(descriptor, attribute, type, count, values),
      concat("cudnnBackendSetAttribute of attribute ", static_cast<uint32_t>(attribute)).c_str());
}

void CudnnDescriptor::finalize() { library->check(tryFinalize(), "cudnnBackendFinalize"); }

cudnn::Status CudnnDescriptor::tryFinalize() { return library->cudnnBackendFinalize(descriptor); }

} // namespace ulsc::runtime

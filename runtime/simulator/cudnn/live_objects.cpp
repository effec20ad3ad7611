// Handles and descriptors that live. Their addresses are never dereferenced before they are found.
#include "simulator/cudnn/descriptors.h"

#include "simulator/core/report.h"

#include <mutex>

namespace ulsc::simulator {

using namespace cudnn;

namespace {

template <typename State>
class LiveObjects {
public:
  explicit LiveObjects(const char *kind) : kind(kind) {}

  void *create(State state) {
    auto object = std::make_unique<State>(std::move(state));
    void *address = object.get();
    std::lock_guard<std::mutex> lock(mutex);
    objects.emplace(address, std::move(object));
    return address;
  }

  State *find(void *address) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = objects.find(address);
    if (found == objects.end())
      reportDead(address, "used");
    return found->second.get();
  }

  void destroy(void *address) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!objects.erase(address))
      reportDead(address, "destroyed");
  }

  bool has(void *address) {
    std::lock_guard<std::mutex> lock(mutex);
    return objects.count(address) != 0;
  }

private:
  [[noreturn]] void reportDead(void *address, const char *verb) {
    Finding finding;
    finding.kind = "dead-descriptor";
    finding.summary = text("a cuDNN ", kind, " is ", verb, " that doesn't exist");
    finding.details = {{"address", text(address)}};
    finding.legal = "one that was created, and not yet destroyed";
    report(finding);
  }

  const char *kind;
  std::mutex mutex;
  std::map<void *, std::unique_ptr<State>> objects;
};

struct HandleState {
  Stream stream = nullptr;
};

// Never destroyed: programs destroy their descriptors in static destructors, too.
template <typename State>
LiveObjects<State> &live(const char *kind) {
  static auto *objects = new LiveObjects<State>(kind);
  return *objects;
}

LiveObjects<HandleState> &handles() { return live<HandleState>("handle"); }
LiveObjects<DescriptorState> &descriptors() { return live<DescriptorState>("descriptor"); }

} // namespace

Handle createHandle() { return static_cast<Handle>(handles().create({})); }
bool isHandle(Handle handle) { return handle && handles().has(handle); }
bool destroyHandle(Handle handle) {
  if (!isHandle(handle))
    return false;
  handles().destroy(handle);
  return true;
}
void setStream(Handle handle, Stream stream) { handles().find(handle)->stream = stream; }
Stream streamOf(Handle handle) { return handles().find(handle)->stream; }

Descriptor createDescriptor(DescriptorType type) {
  return descriptors().create({type, {}, nullptr});
}
DescriptorState *findDescriptor(Descriptor descriptor) {
  return descriptor ? descriptors().find(descriptor) : nullptr;
}
bool destroyDescriptor(Descriptor descriptor) {
  if (!descriptor)
    return false;
  descriptors().destroy(descriptor);
  return true;
}

} // namespace ulsc::simulator

// Handles and descriptors that live. Their addresses are never dereferenced before they are found.
#include "simulator/cudnn/descriptors.h"

#include "simulator/core/live_objects.h"

namespace ulsc::simulator {

using namespace cudnn;

namespace {

struct HandleState {
  Stream stream = nullptr;
};

LiveObjects<HandleState> &handles() { return live<HandleState>("cuDNN handle"); }
LiveObjects<DescriptorState> &descriptors() { return live<DescriptorState>("cuDNN descriptor"); }

} // namespace

Handle createHandle() { return static_cast<Handle>(handles().create({})); }
bool isHandle(Handle handle) { return handle && handles().has(handle); }
bool destroyHandle(Handle handle) { return isHandle(handle) && handles().destroy(handle); }
void setStream(Handle handle, Stream stream) { handles().find(handle)->stream = stream; }
Stream streamOf(Handle handle) { return handles().find(handle)->stream; }

Descriptor createDescriptor(DescriptorType type) {
  return descriptors().create({type, {}, nullptr});
}
DescriptorState *findDescriptor(Descriptor descriptor) { return descriptors().find(descriptor); }
bool destroyDescriptor(Descriptor descriptor) { return descriptors().destroy(descriptor); }

} // namespace ulsc::simulator

// libcudnn.so.9 of the simulated device: the interface's functions.
#include "simulator/core/streams.h"
#include "simulator/cudnn/descriptors.h"
#include "simulator/cudnn/execution.h"
#include "simulator/cudnn/support.h"

#include "simulator/core/report.h"

#include <algorithm>
#include <cstring>

namespace ulsc::cudnn {

// Definitions must have the signatures that the runtime calls.
#define ULSC_DECLARE(name, result, parameters)                                                     \
  extern "C" __attribute__((visibility("default"))) result name parameters;
ULSC_CUDNN_FUNCTIONS(ULSC_DECLARE)

using namespace ulsc::simulator;

namespace {

Outcome noDescriptor() { return {StatusNullPointer, "the descriptor is null"}; }
Outcome noHandle() { return {StatusNotInitialized, "the handle was not created"}; }

/// What a finished descriptor stands for, or why not.
template <typename Kind>
Outcome meaningOf(Descriptor descriptor, DescriptorType type, std::shared_ptr<const Kind> &kind) {
  DescriptorState *state = findDescriptor(descriptor);
  if (!state)
    return noDescriptor();
  if (state->type != type)
    return {StatusDescriptorType,
            text(descriptorName(state->type), " is given for ", descriptorName(type))};
  if (!state->meaning)
    return {StatusNotFinalized, text(descriptorName(type), " isn't finalized")};
  kind = std::shared_ptr<const Kind>(state->meaning, &std::get<Kind>(*state->meaning));
  return {};
}

Outcome execute(Handle handle, Descriptor plan, Descriptor variantPack) {
  if (!isHandle(handle))
    return noHandle();
  std::shared_ptr<const Config> config;
  std::shared_ptr<const VariantPack> pack;
  Operation operation;
  Outcome outcome;
  if ((outcome = meaningOf(plan, DescriptorExecutionPlan, config)).isRefusal() ||
      (outcome = meaningOf(variantPack, DescriptorVariantPack, pack)).isRefusal() ||
      (outcome = makeOperation(*config, *pack, operation)).isRefusal())
    return outcome;
  if (enqueue(reinterpret_cast<StreamHandle>(streamOf(handle)), operation) !=
      simulator::Status::Success)
    return {StatusExecutionFailed, "the stream doesn't take the execution"};
  return {};
}

} // namespace

size_t cudnnGetVersion() { return simulatedVersion(); }

const char *cudnnGetErrorString(Status status) { return statusName(status); }

void cudnnGetLastErrorString(char *message, size_t bytes) {
  std::string reason = takeLastRefusal();
  if (!message || bytes == 0)
    return;
  size_t length = std::min(reason.size(), bytes - 1);
  std::memcpy(message, reason.data(), length);
  message[length] = 0;
}

Status cudnnCreate(Handle *handle) {
  if (!handle)
    return answer("cudnnCreate", {StatusNullPointer, "no place for the handle"});
  *handle = createHandle();
  return StatusSuccess;
}

Status cudnnDestroy(Handle handle) {
  return answer("cudnnDestroy", destroyHandle(handle) ? Outcome() : noHandle());
}

Status cudnnSetStream(Handle handle, Stream stream) {
  if (!isHandle(handle))
    return answer("cudnnSetStream", noHandle());
  if (!isStream(reinterpret_cast<StreamHandle>(stream)))
    return answer("cudnnSetStream", badParam("the stream doesn't exist"));
  setStream(handle, stream);
  return StatusSuccess;
}

Status cudnnBackendCreateDescriptor(DescriptorType type, Descriptor *descriptor) {
  descriptorName(type); // ends the process for those that are not simulated
  if (!descriptor)
    return answer("cudnnBackendCreateDescriptor",
                  {StatusNullPointer, "no place for the descriptor"});
  *descriptor = createDescriptor(type);
  return StatusSuccess;
}

Status cudnnBackendDestroyDescriptor(Descriptor descriptor) {
  return answer("cudnnBackendDestroyDescriptor",
                destroyDescriptor(descriptor) ? Outcome() : noDescriptor());
}

Status cudnnBackendSetAttribute(Descriptor descriptor, Attribute attribute, AttributeType type,
                                int64_t count, const void *values) {
  DescriptorState *state = findDescriptor(descriptor);
  return answer("cudnnBackendSetAttribute",
                state ? setAttribute(*state, attribute, type, count, values) : noDescriptor());
}

Status cudnnBackendGetAttribute(Descriptor descriptor, Attribute attribute, AttributeType type,
                                int64_t requested, int64_t *count, void *values) {
  DescriptorState *state = findDescriptor(descriptor);
  return answer("cudnnBackendGetAttribute",
                state ? getAttribute(*state, attribute, type, requested, count, values)
                      : noDescriptor());
}

Status cudnnBackendFinalize(Descriptor descriptor) {
  DescriptorState *state = findDescriptor(descriptor);
  return answer("cudnnBackendFinalize", state ? finalize(*state) : noDescriptor());
}

Status cudnnBackendExecute(Handle handle, Descriptor plan, Descriptor variantPack) {
  return answer("cudnnBackendExecute", execute(handle, plan, variantPack));
}

} // namespace ulsc::cudnn

// What the device says about itself: an H100, or another architecture's figures where
// ULSC_SIMULATOR_ARCH names one.
#include "simulator/driver/driver.h"

#include "simulator/core/memory.h"
#include "simulator/core/settings.h"

#include <cstdio>

namespace ulsc::simulator::driver {

namespace {

/// Shared memory that a block may use when it asks for it, in KiB.
int optInSharedKiB(int architecture) {
  switch (architecture) {
  case 80:
  case 87:
    return 163;
  case 86:
  case 89:
  case 120:
    return 99;
  default:
    return architecture >= 90 ? 227 : 48;
  }
}

} // namespace

int attributeOf(cuda::DeviceAttribute attribute, bool &isKnown) {
  int architecture = settings().architecture;
  isKnown = true;
  switch (attribute) {
  case cuda::MaxThreadsPerBlock:
  case cuda::MaxBlockDimX:
  case cuda::MaxBlockDimY:
    return 1024;
  case cuda::MaxBlockDimZ:
    return 64;
  case cuda::MaxGridDimX:
    return 2147483647;
  case cuda::MaxGridDimY:
  case cuda::MaxGridDimZ:
    return 65535;
  case cuda::MaxSharedMemoryPerBlock:
    return 48 << 10;
  case cuda::MaxSharedMemoryPerBlockOptin:
    return optInSharedKiB(architecture) << 10;
  case cuda::MaxSharedMemoryPerMultiprocessor:
    return (optInSharedKiB(architecture) + 1) << 10;
  case cuda::ReservedSharedMemoryPerBlock:
    return 1024;
  case cuda::TotalConstantMemory:
    return 64 << 10;
  case cuda::WarpSize:
    return 32;
  case cuda::MaxRegistersPerBlock:
  case cuda::MaxRegistersPerMultiprocessor:
    return 65536;
  case cuda::ClockRate:
    return 1755000;
  case cuda::MultiprocessorCount:
    return 132;
  case cuda::MaxThreadsPerMultiprocessor:
    return 2048;
  case cuda::MaxBlocksPerMultiprocessor:
    return 32;
  case cuda::MemoryClockRate:
    return 2619000;
  case cuda::GlobalMemoryBusWidth:
    return 5120;
  case cuda::L2CacheSize:
    return 50 << 20;
  case cuda::AsyncEngineCount:
    return 3;
  case cuda::CanMapHostMemory:
  case cuda::ConcurrentKernels:
  case cuda::EccEnabled:
  case cuda::UnifiedAddressing:
  case cuda::StreamPrioritiesSupported:
    return 1;
  case cuda::PciBusId:
    return 1;
  case cuda::Integrated:
  case cuda::ComputeMode:
  case cuda::PciDeviceId:
  case cuda::PciDomainId:
  case cuda::ManagedMemory:
  case cuda::CooperativeLaunch:
  case cuda::MemoryPoolsSupported:
  case cuda::ClusterLaunch:
    return 0;
  case cuda::ComputeCapabilityMajor:
    return architecture / 10;
  case cuda::ComputeCapabilityMinor:
    return architecture % 10;
  }
  isKnown = false;
  return 0;
}

} // namespace ulsc::simulator::driver

using namespace ulsc;
using namespace ulsc::simulator::driver;

ULSC_EXPORT Result cuInit(unsigned flags) {
  if (flags != 0)
    return cuda::InvalidValue;
  setInitialised();
  return cuda::Success;
}

ULSC_EXPORT Result cuDriverGetVersion(int *version) {
  if (!version)
    return cuda::InvalidValue;
  *version = cuda::versionCode;
  return cuda::Success;
}

ULSC_EXPORT Result cuDeviceGetCount(int *count) {
  if (!isInitialised())
    return cuda::NotInitialized;
  if (!count)
    return cuda::InvalidValue;
  *count = simulator::settings().devices;
  return cuda::Success;
}

ULSC_EXPORT Result cuDeviceGet(cuda::Device *device, int ordinal) {
  if (!isInitialised())
    return cuda::NotInitialized;
  if (!device || !isDevice(ordinal))
    return device ? cuda::InvalidDevice : cuda::InvalidValue;
  *device = ordinal;
  return cuda::Success;
}

ULSC_EXPORT Result cuDeviceGetName(char *name, int length, cuda::Device device) {
  if (!name || length < 1 || !isDevice(device))
    return isDevice(device) ? cuda::InvalidValue : cuda::InvalidDevice;
  int architecture = simulator::settings().architecture;
  std::snprintf(name, size_t(length), "ulsc simulated device %d.%d", architecture / 10,
                architecture % 10);
  return cuda::Success;
}

ULSC_EXPORT Result cuDeviceGetAttribute(int *value, cuda::DeviceAttribute attribute,
                                        cuda::Device device) {
  if (!isInitialised())
    return cuda::NotInitialized;
  if (!value || !isDevice(device))
    return value ? cuda::InvalidDevice : cuda::InvalidValue;
  bool isKnown = false;
  int found = attributeOf(attribute, isKnown);
  if (!isKnown)
    return cuda::InvalidValue;
  *value = found;
  return cuda::Success;
}

ULSC_EXPORT Result cuDeviceTotalMem_v2(size_t *bytes, cuda::Device device) {
  if (!bytes || !isDevice(device))
    return bytes ? cuda::InvalidDevice : cuda::InvalidValue;
  *bytes = simulator::deviceMemoryTotal();
  return cuda::Success;
}

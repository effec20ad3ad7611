// Communicators that live, and errors.
#include "simulator/nccl/handles.h"

#include "simulator/core/report.h"
#include "simulator/nccl/checks.h"

#include <cstdlib>
#include <cstring>

namespace ulsc::simulator {

namespace {

thread_local std::string lastError;

/// Tells the other ranks why this one ends.
void leaveFault(const Finding &finding) {
  NcclLock lock(ncclMutex());
  std::string fault = finding.kind + ": " + finding.summary;
  for (const auto &[name, value] : finding.details)
    fault += text("; ", name, ": ", value);
  for (auto &communicator : communicators()) {
    RankState &own = communicator->clique.own();
    size_t length = std::min(fault.size(), sizeof(own.fault) - 1);
    std::memcpy(own.fault, fault.data(), length);
    own.fault[length] = 0;
    own.hasFault.store(1, std::memory_order_release);
  }
}

} // namespace

std::shared_ptr<Communicator> findCommunicator(nccl::Comm comm) {
  if (!comm)
    return nullptr;
  NcclLock lock(ncclMutex());
  for (auto &communicator : communicators())
    if (handleOf(*communicator) == comm)
      return communicator;
  Finding finding{"dead-communicator",
                  "NCCL: a communicator is used that doesn't exist",
                  {{"address", text(static_cast<const void *>(comm))}},
                  "one that was made, and not yet destroyed or aborted"};
  report(finding);
}

nccl::Result noteError(Communicator *communicator, nccl::Result result, const std::string &reason) {
  lastError = reason;
  if (communicator) {
    NcclLock lock(ncclMutex());
    communicator->lastError = reason;
  }
  const char *level = std::getenv("NCCL_DEBUG");
  if (level && (!std::strcmp(level, "WARN") || !std::strcmp(level, "INFO")))
    std::fprintf(stderr, "NCCL WARN %s\n", reason.c_str());
  return result;
}

const char *threadError() { return lastError.c_str(); }

void registerWithCore() {
  static std::once_flag once;
  std::call_once(once, [] {
    onIdle(checkWaits);
    onStall(describeRanks);
    onReport(leaveFault);
  });
}

} // namespace ulsc::simulator

// Groups of calls, and their launches on streams.
#ifndef ULSC_RUNTIME_SIMULATOR_NCCL_GROUP_H
#define ULSC_RUNTIME_SIMULATOR_NCCL_GROUP_H

#include "simulator/nccl/communicator.h"

namespace ulsc::simulator {

/// Calls between these are one launch per communicator. They nest, per thread.
void startGroup();
nccl::Result endGroup();
bool isInGroup();

/// A checked call: launched now, or with the thread's group.
nccl::Result submit(const std::shared_ptr<Communicator> &communicator, const Call &call,
                    StreamHandle stream);

/// Work of the host that waits for other ranks, such as ncclCommInitRank: done now, or at the end
/// of the group.
nccl::Result submitJoin(std::function<nccl::Result()> join);

/// Checks of a call that need nothing but its arguments; on a refusal the reason is in `error`.
nccl::Result checkCall(const Communicator &communicator, const Call &call, std::string &error);

/// What the call reads and writes of this rank's memory.
void addRanges(const Communicator &communicator, const Call &call, Operation &operation);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_NCCL_GROUP_H

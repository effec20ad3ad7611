// What is wrong between ranks: calls that don't match, communicators used in different orders,
// waits that never end, ranks that are gone. Each rank finds it by itself, from the logs that all
// share.
#ifndef ULSC_RUNTIME_SIMULATOR_NCCL_CHECKS_H
#define ULSC_RUNTIME_SIMULATOR_NCCL_CHECKS_H

#include "simulator/nccl/communicator.h"

namespace ulsc::simulator {

/// A record that this rank announces, against those that others have announced.
void checkAgainstOthers(const Communicator &communicator, const CallRecord &record);
/// A record that `other` has announced, against this rank's.
void checkAgainstOwn(const Communicator &communicator, const CallRecord &record, int other);

/// Called when the host waits and nothing can run: reports waits in a circle, and waits for ranks
/// that are gone.
void checkWaits();
/// Every rank's state, for the report of a time-out.
std::string describeRanks();
/// Ranks that are gone without having left: their communicators get an asynchronous error.
bool hasLostRanks(Communicator &communicator);

[[noreturn]] void reportDestroyed(const Communicator &communicator, const std::string &call);
/// Ranks that don't come to a call of the host that needs all, such as ncclCommInitRank. `absent`
/// is not empty.
[[noreturn]] void reportAbsent(const std::string &call, const Clique &clique,
                               const std::vector<int> &absent);
/// The first of the ranks whose process has ended, or -1.
int firstDead(const Clique &clique, const std::vector<int> &ranks);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_NCCL_CHECKS_H

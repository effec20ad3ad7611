// The numbers of collectives and messages: what a rank contributes, and what it makes of all
// contributions.
#ifndef ULSC_RUNTIME_SIMULATOR_NCCL_EXCHANGE_H
#define ULSC_RUNTIME_SIMULATOR_NCCL_EXCHANGE_H

#include "simulator/core/operation.h"
#include "simulator/nccl/call_record.h"

#include <functional>
#include <vector>

namespace ulsc::simulator {

/// Bytes of the send buffer that the rank shares with others; 0 where it only receives.
int64_t contributionBytes(const CallRecord &record, int ranks, int rank);
/// Bytes that the rank writes to its receive buffer; 0 where it only sends.
int64_t resultBytes(const CallRecord &record, int ranks, int rank);

/// Copies `bytes` at `begin` of a rank's contribution.
using ReadContribution =
    std::function<void(int rank, uint64_t begin, uint64_t bytes, void *target)>;

/// Fills the receive buffer. Reductions go in rank order and so give the same bits on all ranks;
/// 16-bit values are reduced in f32 and rounded once.
void receive(const CallRecord &record, int rank, int ranks, void *target,
             const ReadContribution &read);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_NCCL_EXCHANGE_H

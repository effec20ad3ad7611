// Sums and maxima of the blocks that ranks sent, in rank order.
#ifndef ULSC_RUNTIME_COMM_REDUCE_H
#define ULSC_RUNTIME_COMM_REDUCE_H

#include <cstdint>

namespace ulsc::runtime {

/// target[i] = reduction over r of blocks[r * count + i], for `ranks` blocks. Sums of 16-bit types
/// are formed in f32 and rounded once. The order depends on the ranks alone: reduce-scatter equals
/// all-reduce bit by bit.
void reduceBlocks(const void *blocks, int64_t ranks, int64_t count, void *target, int32_t dtype,
                  int32_t reduction);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_COMM_REDUCE_H

// The rank's one thread pool: libgomp's, which oneDNN uses too. A second pool would spin beside it,
// which costs half the speed of a step that alternates between kernels and GEMMs.
#ifndef ULSC_RUNTIME_DEVICE_THREAD_POOL_H
#define ULSC_RUNTIME_DEVICE_THREAD_POOL_H

#include <cstdint>
#include <string>

namespace ulsc::runtime {

/// How many threads a rank uses, and why.
struct ThreadCount {
  int threads;
  std::string origin; // for the line printed at the start
};

/// `requested` is --threads, 0 if not given. The default shares the machine's cores among its
/// ranks.
ThreadCount chooseThreads(int requested, int localRanks);

/// Sets the pool's size for this process, and lets its threads run on all cores where a launcher
/// bound the process to fewer cores than it has threads.
void configureThreads(int threads);

/// Runs `body(data)` once on each of `threads` threads, the caller's among them.
void runOnThreads(int threads, void (*body)(void *), void *data);

/// The index of the calling thread in its team.
int threadIndex();
/// Whether the caller runs inside runOnThreads with more than one thread.
bool insideThreads();

/// Splits [0, extent) into chunks of multiples of `grain`, handed out as threads become free.
/// `function` takes (begin, end, thread).
template <typename Function>
void parallelFor(int threads, int64_t extent, int64_t grain, Function &&function);

} // namespace ulsc::runtime

#include "device/parallel_for.h"

#endif // ULSC_RUNTIME_DEVICE_THREAD_POOL_H

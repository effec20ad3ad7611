// Processes of this machine, by what /proc says.
#ifndef ULSC_RUNTIME_SIMULATOR_NCCL_PROCESS_H
#define ULSC_RUNTIME_SIMULATOR_NCCL_PROCESS_H

#include <cstdint>

namespace ulsc::simulator {

/// When the process started, in the kernel's ticks; 0 for one that has ended, a zombie included.
uint64_t processStartTime(int process);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_NCCL_PROCESS_H

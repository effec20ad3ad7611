// cudnnBackendExecute as an operation of a stream.
#ifndef ULSC_RUNTIME_SIMULATOR_CUDNN_EXECUTION_H
#define ULSC_RUNTIME_SIMULATOR_CUDNN_EXECUTION_H

#include "simulator/core/operation.h"
#include "simulator/cudnn/descriptors.h"

namespace ulsc::simulator {

/// Builds the operation: values on the host are read now, memory when it runs. Refuses pointers
/// that are missing, misaligned or too many; reports a result that overlaps something else.
Outcome makeOperation(const Config &config, const VariantPack &pack, Operation &operation);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUDNN_EXECUTION_H

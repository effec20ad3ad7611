// How a call of cuDNN is refused: with the library's status code, and a reason that
// cudnnGetLastErrorString gives and the log shows (CUDNN_LOGLEVEL_DBG of at least 1, as with the
// vendor's library).
#ifndef ULSC_RUNTIME_SIMULATOR_CUDNN_REFUSAL_H
#define ULSC_RUNTIME_SIMULATOR_CUDNN_REFUSAL_H

#include "cuda/cudnn_api.h"

#include <string>

namespace ulsc::simulator {

/// The answer of a check: success, or a status with its reason.
struct Outcome {
  cudnn::Status status = cudnn::StatusSuccess;
  std::string reason;

  bool isRefusal() const { return status != cudnn::StatusSuccess; }
};

inline Outcome badParam(std::string reason) { return {cudnn::StatusBadParam, std::move(reason)}; }
inline Outcome badShape(std::string reason) {
  return {cudnn::StatusShapeMismatch, std::move(reason)};
}

/// What a call of the interface returns: the status, after the reason of a refusal is noted.
cudnn::Status answer(const char *function, const Outcome &outcome);
/// The reason of this thread's last refusal, which this call forgets.
std::string takeLastRefusal();

/// Ends the process: the vendor's library may do this, the simulated one doesn't. `option` names
/// the option and its value.
[[noreturn]] void endUnsupported(const std::string &option, const std::string &legal);

/// "CUDNN_STATUS_BAD_PARAM"
const char *statusName(cudnn::Status status);
/// "bf16"
std::string typeName(uint32_t type);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUDNN_REFUSAL_H

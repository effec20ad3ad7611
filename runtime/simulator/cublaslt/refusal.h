// How a call of cuBLASLt is refused: with the library's status code, and a reason that a person can
// look up: in the log (CUBLASLT_LOG_LEVEL of at least 1, as with the vendor's library).
#ifndef ULSC_RUNTIME_SIMULATOR_CUBLASLT_REFUSAL_H
#define ULSC_RUNTIME_SIMULATOR_CUBLASLT_REFUSAL_H

#include "cuda/cublaslt_api.h"

#include <string>

namespace ulsc::simulator {

/// The answer of a check: success, or a status with its reason.
struct Outcome {
  cublaslt::Status status = cublaslt::StatusSuccess;
  std::string reason;

  bool isRefusal() const { return status != cublaslt::StatusSuccess; }
};

inline Outcome invalid(std::string reason) {
  return {cublaslt::StatusInvalidValue, std::move(reason)};
}
inline Outcome notSupported(std::string reason) {
  return {cublaslt::StatusNotSupported, std::move(reason)};
}

/// What a call of the interface returns: the status, after the reason of a refusal is noted for the
/// log and for ulsc_simulator_cublaslt_refusal().
cublaslt::Status answer(const char *function, const Outcome &outcome);

/// Ends the process: the vendor's library may do this, the simulated one doesn't. `option` names
/// the option and its value.
[[noreturn]] void endUnsupported(const std::string &option, const std::string &legal);

/// "CUBLAS_STATUS_INVALID_VALUE"; null for a number that is none.
const char *statusName(cublaslt::Status status);
/// "f32"
std::string typeName(uint32_t type);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUBLASLT_REFUSAL_H

// Reasons of refusals, and the end of a process that asks for what is not simulated.
#include "simulator/cublaslt/refusal.h"

#include "simulator/core/report.h"

#include <cstdio>
#include <cstdlib>

namespace ulsc::simulator {

namespace {
thread_local std::string lastRefusal;

bool isLogged() {
  const char *level = std::getenv("CUBLASLT_LOG_LEVEL");
  return level && std::atoi(level) >= 1;
}
} // namespace

cublaslt::Status answer(const char *function, const Outcome &outcome) {
  if (!outcome.isRefusal())
    return outcome.status;
  lastRefusal = text(function, " returns ", statusName(outcome.status), ": ", outcome.reason);
  if (isLogged())
    std::fprintf(stderr, "[cublasLt] %s\n", lastRefusal.c_str());
  return outcome.status;
}

void endUnsupported(const std::string &option, const std::string &legal) {
  Finding finding;
  finding.kind = "unsupported";
  finding.summary = text("cuBLASLt: ", option, " is not simulated");
  finding.legal = legal;
  report(finding);
}

const char *statusName(cublaslt::Status status) {
  switch (status) {
  case cublaslt::StatusSuccess:
    return "CUBLAS_STATUS_SUCCESS";
  case cublaslt::StatusNotInitialized:
    return "CUBLAS_STATUS_NOT_INITIALIZED";
  case cublaslt::StatusAllocFailed:
    return "CUBLAS_STATUS_ALLOC_FAILED";
  case cublaslt::StatusInvalidValue:
    return "CUBLAS_STATUS_INVALID_VALUE";
  case cublaslt::StatusArchMismatch:
    return "CUBLAS_STATUS_ARCH_MISMATCH";
  case cublaslt::StatusExecutionFailed:
    return "CUBLAS_STATUS_EXECUTION_FAILED";
  case cublaslt::StatusInternalError:
    return "CUBLAS_STATUS_INTERNAL_ERROR";
  case cublaslt::StatusNotSupported:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return nullptr;
}

std::string typeName(uint32_t type) {
  switch (type) {
  case cublaslt::TypeF32:
    return "f32";
  case cublaslt::TypeF16:
    return "f16";
  case cublaslt::TypeBf16:
    return "bf16";
  default:
    return text("cudaDataType ", type);
  }
}

} // namespace ulsc::simulator

// Why this thread's last call was refused: for tests and debuggers.
extern "C" __attribute__((visibility("default"))) const char *ulsc_simulator_cublaslt_refusal() {
  return ulsc::simulator::lastRefusal.c_str();
}

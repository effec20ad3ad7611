// Reasons of refusals, and the end of a process that asks for what is not simulated.
#include "simulator/cudnn/refusal.h"

#include "simulator/core/report.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace ulsc::simulator {

using namespace cudnn;

namespace {
thread_local std::string lastRefusal;

bool isLogged() {
  const char *level = std::getenv("CUDNN_LOGLEVEL_DBG");
  return level && std::atoi(level) >= 1;
}
} // namespace

Status answer(const char *function, const Outcome &outcome) {
  if (!outcome.isRefusal())
    return outcome.status;
  lastRefusal = outcome.reason;
  if (isLogged())
    std::fprintf(stderr, "[cuDNN] %s returns %s: %s\n", function, statusName(outcome.status),
                 outcome.reason.c_str());
  return outcome.status;
}

std::string takeLastRefusal() { return std::exchange(lastRefusal, std::string()); }

void endUnsupported(const std::string &option, const std::string &legal) {
  Finding finding;
  finding.kind = "unsupported";
  finding.summary = text("cuDNN: ", option, " is not simulated");
  finding.legal = legal;
  report(finding);
}

const char *statusName(Status status) {
  switch (status) {
  case StatusSuccess:
    return "CUDNN_STATUS_SUCCESS";
  case StatusNotInitialized:
    return "CUDNN_STATUS_NOT_INITIALIZED";
  case StatusBadParam:
    return "CUDNN_STATUS_BAD_PARAM";
  case StatusNullPointer:
    return "CUDNN_STATUS_BAD_PARAM_NULL_POINTER";
  case StatusMisalignedPointer:
    return "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER";
  case StatusNotFinalized:
    return "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
  case StatusOutOfBound:
    return "CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND";
  case StatusSizeInsufficient:
    return "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT";
  case StatusShapeMismatch:
    return "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH";
  case StatusDuplicatedEntries:
    return "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES";
  case StatusAttributeType:
    return "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE";
  case StatusDescriptorType:
    return "CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE";
  case StatusNotSupported:
    return "CUDNN_STATUS_NOT_SUPPORTED";
  case StatusNotSupportedGraphPattern:
    return "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN";
  case StatusNotSupportedShape:
    return "CUDNN_STATUS_NOT_SUPPORTED_SHAPE";
  case StatusNotSupportedDataType:
    return "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE";
  case StatusNotSupportedLayout:
    return "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT";
  case StatusInternalError:
    return "CUDNN_STATUS_INTERNAL_ERROR";
  case StatusExecutionFailed:
    return "CUDNN_STATUS_EXECUTION_FAILED";
  }
  return "unknown cuDNN status";
}

std::string typeName(uint32_t type) {
  switch (type) {
  case DataF32:
    return "f32";
  case DataF16:
    return "f16";
  case DataBf16:
    return "bf16";
  case DataI32:
    return "i32";
  case DataBoolean:
    return "boolean";
  default:
    return text("cudnnDataType_t ", type);
  }
}

} // namespace ulsc::simulator

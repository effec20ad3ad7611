// Names of ulsc_epilogue, for messages and traces.
#ifndef ULSC_RUNTIME_CORE_EPILOGUE_H
#define ULSC_RUNTIME_CORE_EPILOGUE_H

#include "ulsc/RuntimeABI.h"

namespace ulsc::runtime {

/// As exec.gemm spells it; null for a product without one.
inline const char *epilogueName(int32_t epilogue) {
  switch (epilogue) {
  case ULSC_EPILOGUE_BIAS:
    return "bias";
  case ULSC_EPILOGUE_GELU:
    return "gelu";
  case ULSC_EPILOGUE_GELU_GRAD:
    return "gelu_grad";
  case ULSC_EPILOGUE_GELU_BIAS_GRAD:
    return "gelu_bias_grad";
  case ULSC_EPILOGUE_BIAS_GRAD:
    return "bias_grad";
  default:
    return nullptr;
  }
}

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_EPILOGUE_H

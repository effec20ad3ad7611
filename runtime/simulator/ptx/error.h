// Errors of a PTX text, with the line they are at. The driver's loading calls report them.
#ifndef ULSC_RUNTIME_SIMULATOR_PTX_ERROR_H
#define ULSC_RUNTIME_SIMULATOR_PTX_ERROR_H

#include "simulator/core/report.h"

#include <stdexcept>

namespace ulsc::simulator::ptx {

class PtxError : public std::runtime_error {
public:
  PtxError(uint32_t line, const std::string &message)
      : std::runtime_error(text("PTX line ", line, ": ", message)), line(line) {}

  const uint32_t line;
};

template <typename... Parts>
[[noreturn]] void refuse(uint32_t line, const Parts &...parts) {
  throw PtxError(line, text(parts...));
}

} // namespace ulsc::simulator::ptx

#endif // ULSC_RUNTIME_SIMULATOR_PTX_ERROR_H

// Errors of the runtime: what a user did or gave is an Error; what breaks a running step ends the
// job.
#ifndef ULSC_RUNTIME_CORE_ERROR_H
#define ULSC_RUNTIME_CORE_ERROR_H

#include <sstream>
#include <stdexcept>
#include <string>

namespace ulsc::runtime {

/// Something the user can fix. The message names what was found, what is legal and the nearest fix.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Builds a message from its parts.
template <typename... Parts>
std::string concat(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

/// Throws an Error whose message is the concatenation of `parts`.
template <typename... Parts>
[[noreturn]] void raise(const Parts &...parts) {
  throw Error(concat(parts...));
}

/// How a rank that can't go on ends all ranks, which may be told the reason. The communication
/// backend sets it; before that the rank exits.
using AbortFunction = void (*)(int exitCode, const std::string &reason);
void setAbort(AbortFunction abort);

/// The rank named in messages of this process.
void setMessageRank(int rank, int ranks);
/// "rank 3: " where there are several ranks, otherwise nothing.
std::string messagePrefix();

/// Prints the message with the rank and ends the job on all ranks. For errors inside a step, which
/// generated code can't be told about.
[[noreturn]] void endJob(const std::string &operation, const std::string &message);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_ERROR_H

#include "comm/communicator.h"

#include "core/error.h"

namespace ulsc::runtime {

void onAllRanks(Communicator &communicator, const std::function<void()> &work) {
  std::string message;
  bool hasFailed = false;
  try {
    work();
  } catch (const std::exception &error) {
    message = error.what();
    hasFailed = true;
  }
  int64_t first = communicator.minimum(hasFailed ? communicator.rank() : communicator.ranks());
  if (first == communicator.ranks())
    return;
  throw Error(first == communicator.rank() ? message : std::string());
}

} // namespace ulsc::runtime

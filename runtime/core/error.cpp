#include "core/error.h"

#include <cstdio>
#include <cstdlib>

namespace ulsc::runtime {

namespace {
AbortFunction abortFunction = nullptr;
int messageRank = 0;
int messageRanks = 1;
} // namespace

void setAbort(AbortFunction abort) { abortFunction = abort; }

void setMessageRank(int rank, int ranks) {
  messageRank = rank;
  messageRanks = ranks;
}

std::string messagePrefix() {
  return messageRanks > 1 ? concat("rank ", messageRank, ": ") : std::string();
}

void endJob(const std::string &operation, const std::string &message) {
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s%s: %s\n", messagePrefix().c_str(), operation.c_str(),
               message.c_str());
  std::fflush(stderr);
  if (abortFunction)
    abortFunction(1, operation + ": " + message);
  std::_Exit(1);
}

} // namespace ulsc::runtime

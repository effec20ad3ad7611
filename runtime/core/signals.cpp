#include "core/signals.h"

#include <csignal>
#include <unistd.h>

namespace ulsc::runtime {

namespace {

volatile std::sig_atomic_t received = 0;

void onSignal(int signal) {
  if (received)
    _exit(128 + signal);
  received = signal;
}

} // namespace

void installSignalHandlers() {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int stopSignal() { return received; }

} // namespace ulsc::runtime

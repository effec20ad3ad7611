// SIGINT and SIGTERM ask for an end after the current step; a second one ends at once.
#ifndef ULSC_RUNTIME_CORE_SIGNALS_H
#define ULSC_RUNTIME_CORE_SIGNALS_H

namespace ulsc::runtime {

void installSignalHandlers();

/// The signal that asked this rank to stop, or 0.
int stopSignal();

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_SIGNALS_H

// What the hand-written program, which is C, asks of the runtime besides what compiled ones do.
#include "core/signals.h"

extern "C" int fakeStopSignal(void) { return ulsc::runtime::stopSignal(); }

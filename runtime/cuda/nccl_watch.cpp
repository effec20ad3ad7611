#include "cuda/nccl_watch.h"

namespace ulsc::runtime {

// Errors are asked for so often; it takes NCCL no call of the device.
static constexpr auto interval = std::chrono::milliseconds(100);
// The device is asked so many times in a time-out: its answer takes a little of its time.
static constexpr int looksPerTimeout = 4;

NcclWatch::NcclWatch(const CudaDriver &driver, const CollectiveLog &log, double timeoutSeconds,
                     Actions actions)
    : driver(driver), log(log), timeout(timeoutSeconds), actions(std::move(actions)),
      thread([this] { run(); }) {}

NcclWatch::~NcclWatch() {
  {
    std::lock_guard lock(mutex);
    isDone = true;
  }
  changed.notify_all();
  thread.join();
}

void NcclWatch::setPhase(Phase newPhase, const std::string &newWhat) {
  std::lock_guard lock(mutex);
  phase = newPhase;
  what = newWhat;
  phaseBegin = lastLook = Clock::now();
}

void NcclWatch::run() {
  driver.makeCurrent();
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, interval, [&] { return isDone; })) {
    Phase current = phase;
    std::string currentWhat = what;
    Clock::time_point begin = phaseBegin, now = Clock::now();
    bool isTimeToLook = timeout.count() > 0 && now - lastLook >= timeout / looksPerTimeout;
    if (isTimeToLook)
      lastLook = now;
    // What is asked below may take as long as the main thread's own calls.
    lock.unlock();
    if (current == Phase::Step) {
      actions.checkErrors();
      if (isTimeToLook)
        look(now);
    } else if (current == Phase::Other && timeout.count() > 0 && now - begin >= timeout) {
      actions.endLate(currentWhat);
    }
    lock.lock();
  }
}

void NcclWatch::look(Clock::time_point now) {
  std::optional<CollectiveLog::Unfinished> found = log.firstUnfinished();
  // One whose operands are still being computed is not late.
  if (!found || !found->isReady) {
    suspect.reset();
    return;
  }
  if (!suspect || suspect->step != found->step || suspect->place != found->place) {
    suspect = found;
    suspectSince = now;
  } else if (now - suspectSince >= timeout) {
    actions.endStuck(*found);
  }
}

} // namespace ulsc::runtime

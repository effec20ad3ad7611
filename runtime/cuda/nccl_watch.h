// A thread that ends the job when its collectives can't go on: NCCL reports an error of a
// communicator, or a collective does not end. The main thread may wait in the driver then, for
// ever.
#ifndef ULSC_RUNTIME_CUDA_NCCL_WATCH_H
#define ULSC_RUNTIME_CUDA_NCCL_WATCH_H

#include "cuda/collective_log.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <thread>

namespace ulsc::runtime {

class NcclWatch {
public:
  struct Actions {
    /// Ends the job where NCCL has an error.
    std::function<void()> checkErrors;
    /// Ends the job, since this collective has not ended for the time-out.
    std::function<void(const CollectiveLog::Unfinished &)> endStuck;
    /// Ends the job, since what it does outside of steps has not ended for the time-out.
    std::function<void(const std::string &)> endLate;
  };

  /// `timeoutSeconds` of 0: collectives may take any time.
  NcclWatch(const CudaDriver &driver, const CollectiveLog &log, double timeoutSeconds,
            Actions actions);
  ~NcclWatch();

  void beginStep() { setPhase(Phase::Step, ""); }
  /// What the main thread does outside of steps, for which it needs other ranks.
  void beginOther(const std::string &what) { setPhase(Phase::Other, what); }
  void end() { setPhase(Phase::Idle, ""); }

private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { Idle, Step, Other };

  void setPhase(Phase newPhase, const std::string &what);
  void run();
  void look(Clock::time_point now);

  const CudaDriver &driver;
  const CollectiveLog &log;
  std::chrono::duration<double> timeout;
  Actions actions;

  std::mutex mutex; // guards what the main thread sets
  std::condition_variable changed;
  Phase phase = Phase::Idle;
  std::string what;
  Clock::time_point phaseBegin, lastLook;
  bool isDone = false;

  // The first collective that had not ended at the last look, and since when.
  std::optional<CollectiveLog::Unfinished> suspect;
  Clock::time_point suspectSince;
  std::thread thread;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_NCCL_WATCH_H

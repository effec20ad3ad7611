// Which collectives a step has started, and how far the device is with them: what is asked when one
// does not end.
#ifndef ULSC_RUNTIME_CUDA_COLLECTIVE_LOG_H
#define ULSC_RUNTIME_CUDA_COLLECTIVE_LOG_H

#include "cuda/driver.h"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ulsc::runtime {

/// A collective of this step. `channel` is the same text on all ranks that take part, and `number`
/// counts its collectives in the step.
struct StartedCollective {
  int64_t identifier = 0;
  std::string channel;
  int64_t number = 0;
  cuda::Event ready = nullptr, done = nullptr;
};

/// One thread adds, any may ask.
class CollectiveLog {
public:
  explicit CollectiveLog(const CudaDriver &driver) : driver(driver) {}
  ~CollectiveLog();

  void beginStep(int64_t step);
  /// After `beginStep`: the step starts what the last one did, by a graph that records the same
  /// events. Those that it has not come to yet are from before `beginning`.
  void repeatStep(cuda::Event beginning);
  /// Of the step, the place of its next collective. Its events are recorded by the caller: one when
  /// its operands are ready, the other when it has ended.
  size_t add(int64_t identifier, const std::string &channel);
  const StartedCollective &at(size_t place) const { return started[place]; }
  /// The events of `place` have been recorded.
  void publish() { addTo(published); }

  struct Unfinished {
    int64_t step;
    size_t place;
    StartedCollective collective;
    bool isReady; // its operands are: it waits for other ranks, or travels
  };
  /// The first one that has not ended, of one channel if `channel` is given.
  std::optional<Unfinished> firstUnfinished(const std::string &channel = "") const;

  /// How far this rank is, as text for others.
  std::string tell() const;

  /// What such a text says about a collective of another rank's step.
  enum class Arrival { Passed, There, Queued, Absent, Unknown };
  static Arrival readArrival(const std::string &text, int64_t step, const std::string &channel,
                             int64_t number);

private:
  void addTo(size_t &count) {
    std::lock_guard lock(mutex);
    count = used;
  }
  bool hasHappened(cuda::Event event) const;

  const CudaDriver &driver;
  mutable std::mutex mutex; // guards all below
  int64_t step = -1;
  /// The first `used` are of this step, of which the events of `published` have been recorded.
  /// Those of earlier steps are used again.
  std::vector<StartedCollective> started;
  size_t used = 0, published = 0, usedBefore = 0;
  cuda::Event beginning = nullptr;       // of a step that repeats another
  std::map<std::string, int64_t> counts; // by channel
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_COLLECTIVE_LOG_H

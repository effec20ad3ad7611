#include "cuda/collective_log.h"

#include <nlohmann/json.hpp>

#include <array>

namespace ulsc::runtime {

using Json = nlohmann::json;

CollectiveLog::~CollectiveLog() {
  for (StartedCollective &one : started) {
    driver.cuEventDestroy_v2(one.ready);
    driver.cuEventDestroy_v2(one.done);
  }
}

void CollectiveLog::beginStep(int64_t newStep) {
  std::lock_guard lock(mutex);
  step = newStep;
  usedBefore = used;
  used = published = 0;
  beginning = nullptr;
  counts.clear();
}

void CollectiveLog::repeatStep(cuda::Event event) {
  std::lock_guard lock(mutex);
  used = published = usedBefore;
  beginning = event;
}

size_t CollectiveLog::add(int64_t identifier, const std::string &channel) {
  std::lock_guard lock(mutex);
  if (used == started.size()) {
    StartedCollective made;
    for (cuda::Event *event : {&made.ready, &made.done})
      driver.check(driver.cuEventCreate(event, cuda::EventDefault), "cuEventCreate");
    started.push_back(made);
  }
  StartedCollective &one = started[used];
  one.identifier = identifier;
  one.channel = channel;
  one.number = counts[channel]++;
  return used++;
}

bool CollectiveLog::hasHappened(cuda::Event event) const {
  if (!beginning)
    return driver.cuEventQuery(event) == cuda::Success;
  float milliseconds = -1;
  return driver.cuEventElapsedTime(&milliseconds, beginning, event) == cuda::Success &&
         milliseconds >= 0;
}

std::optional<CollectiveLog::Unfinished>
CollectiveLog::firstUnfinished(const std::string &channel) const {
  std::lock_guard lock(mutex);
  for (size_t place = 0; place < published; ++place) {
    const StartedCollective &one = started[place];
    if ((channel.empty() || one.channel == channel) && !hasHappened(one.done))
      return Unfinished{step, place, one, hasHappened(one.ready)};
  }
  return std::nullopt;
}

std::string CollectiveLog::tell() const {
  std::lock_guard lock(mutex);
  std::map<std::string, std::array<int64_t, 3>> channels; // queued, ready, done
  for (size_t place = 0; place < published; ++place) {
    const StartedCollective &one = started[place];
    auto &[queued, ready, done] = channels[one.channel];
    ++queued;
    ready += hasHappened(one.ready);
    done += hasHappened(one.done);
  }
  return Json({{"step", step}, {"channels", channels}}).dump();
}

CollectiveLog::Arrival CollectiveLog::readArrival(const std::string &text, int64_t step,
                                                  const std::string &channel, int64_t number) {
  try {
    Json json = Json::parse(text);
    int64_t theirs = json.at("step");
    if (theirs != step)
      return theirs > step ? Arrival::Passed : Arrival::Absent;
    if (!json.at("channels").contains(channel))
      return Arrival::Absent;
    std::array<int64_t, 3> counts = json["channels"][channel];
    return counts[2] > number   ? Arrival::Passed
           : counts[1] > number ? Arrival::There
           : counts[0] > number ? Arrival::Queued
                                : Arrival::Absent;
  } catch (const Json::exception &) {
    return Arrival::Unknown;
  }
}

} // namespace ulsc::runtime

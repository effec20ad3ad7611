// Objects of a library that programs hold by address. An address is never dereferenced before it is
// found among those that live.
#ifndef ULSC_RUNTIME_SIMULATOR_CORE_LIVE_OBJECTS_H
#define ULSC_RUNTIME_SIMULATOR_CORE_LIVE_OBJECTS_H

#include "simulator/core/report.h"

#include <map>
#include <memory>
#include <mutex>

namespace ulsc::simulator {

/// `kind` names them in reports: "cuBLASLt handle".
template <typename State>
class LiveObjects {
public:
  explicit LiveObjects(const char *kind) : kind(kind) {}

  void *create(State state) {
    auto object = std::make_unique<State>(std::move(state));
    void *address = object.get();
    std::lock_guard<std::mutex> lock(mutex);
    objects.emplace(address, std::move(object));
    return address;
  }

  /// Null for null; ends the program where the object does not live.
  State *find(void *address) {
    if (!address)
      return nullptr;
    std::lock_guard<std::mutex> lock(mutex);
    auto found = objects.find(address);
    if (found == objects.end())
      reportDead(address, "used");
    return found->second.get();
  }

  /// False for null; ends the program where the object does not live.
  bool destroy(void *address) {
    if (!address)
      return false;
    std::lock_guard<std::mutex> lock(mutex);
    if (!objects.erase(address))
      reportDead(address, "destroyed");
    return true;
  }

  bool has(void *address) {
    std::lock_guard<std::mutex> lock(mutex);
    return objects.count(address) != 0;
  }

private:
  [[noreturn]] void reportDead(void *address, const char *verb) {
    Finding finding;
    finding.kind = "dead-descriptor";
    finding.summary = text("a ", kind, " is ", verb, " that doesn't exist");
    finding.details = {{"address", text(address)}};
    finding.legal = "one that was created, and not yet destroyed";
    report(finding);
  }

  const char *kind;
  std::mutex mutex;
  std::map<void *, std::unique_ptr<State>> objects;
};

/// The objects of one type of state. Never destroyed: programs destroy theirs in static
/// destructors, too.
template <typename State>
LiveObjects<State> &live(const char *kind) {
  static auto *objects = new LiveObjects<State>(kind);
  return *objects;
}

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CORE_LIVE_OBJECTS_H

// Vector clocks over streams, and the log of operations that names both sides of a race.
#ifndef ULSC_RUNTIME_SIMULATOR_CORE_CLOCK_H
#define ULSC_RUNTIME_SIMULATOR_CORE_CLOCK_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace ulsc::simulator {

/// For each stream, by its number, how many of its operations are known to have run before.
class Clock {
public:
  uint32_t at(uint32_t stream) const { return stream < ticks.size() ? ticks[stream] : 0; }
  void advance(uint32_t stream) {
    if (stream >= ticks.size())
      ticks.resize(stream + 1);
    ++ticks[stream];
  }
  void join(const Clock &other) {
    if (other.ticks.size() > ticks.size())
      ticks.resize(other.ticks.size());
    for (size_t i = 0; i < other.ticks.size(); ++i)
      ticks[i] = std::max(ticks[i], other.ticks[i]);
  }

private:
  std::vector<uint32_t> ticks;
};

/// Every operation that has run, in 16 bytes each. Number 0 is none.
class OperationLog {
public:
  struct Entry {
    uint32_t stream = 0, tick = 0, name = 0, source = 0;
  };

  OperationLog() : entries(1), strings(1) {}

  uint32_t add(uint32_t stream, uint32_t tick, const std::string &name, const std::string &source) {
    entries.push_back({stream, tick, intern(name), intern(source)});
    return uint32_t(entries.size() - 1);
  }
  const Entry &operator[](uint32_t number) const { return entries[number]; }
  /// The number of the latest operation.
  uint32_t size() const { return uint32_t(entries.size() - 1); }
  /// "'softmax' (source layer.3/softmax), operation 12 of stream 3".
  std::string describe(uint32_t number) const;

private:
  uint32_t intern(const std::string &value);

  std::vector<Entry> entries;
  std::vector<std::string> strings;
  std::unordered_map<std::string, uint32_t> numbers;
};

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CORE_CLOCK_H

// What one rank has announced on a communicator, as another rank (or itself) knows it.
#ifndef ULSC_RUNTIME_SIMULATOR_NCCL_RANK_LOG_H
#define ULSC_RUNTIME_SIMULATOR_NCCL_RANK_LOG_H

#include "simulator/nccl/call_record.h"

#include <deque>
#include <map>

namespace ulsc::simulator {

class RankLog {
public:
  /// Appends the record number end().
  void add(const CallRecord &record, int rank);
  uint64_t begin() const { return firstIndex; }
  uint64_t end() const { return firstIndex + records.size(); }
  const CallRecord &at(uint64_t index) const { return records[index - firstIndex]; }
  CallRecord &at(uint64_t index) { return records[index - firstIndex]; }
  /// The index of the record with this key; end() where there is none.
  uint64_t find(const CallKey &key) const;
  /// Forgets the oldest record.
  void removeFirst(int rank);

private:
  uint64_t firstIndex = 0;
  std::deque<CallRecord> records;
  std::map<CallKey, uint64_t> indices;
};

inline void RankLog::add(const CallRecord &record, int rank) {
  indices[keyOf(record, rank)] = end();
  records.push_back(record);
}

inline uint64_t RankLog::find(const CallKey &key) const {
  auto found = indices.find(key);
  return found == indices.end() ? end() : found->second;
}

inline void RankLog::removeFirst(int rank) {
  indices.erase(keyOf(records.front(), rank));
  records.pop_front();
  ++firstIndex;
}

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_NCCL_RANK_LOG_H

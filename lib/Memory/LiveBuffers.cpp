//===- LiveBuffers.cpp - Which bytes are live at a point of a program -------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "LiveBuffers.h"

#include <algorithm>

using namespace ulsc;
using namespace ulsc::memory;

void LiveBytes::add(unsigned buffer, ByteRange range) {
  remove(buffer, range);
  ranges[buffer].push_back(range);
}

void LiveBytes::remove(unsigned buffer, ByteRange range) {
  auto it = ranges.find(buffer);
  if (it == ranges.end())
    return;
  llvm::SmallVector<ByteRange> rest;
  for (ByteRange old : it->second) {
    if (old.begin < std::min(old.end, range.begin))
      rest.push_back({old.begin, std::min(old.end, range.begin)});
    if (std::max(old.begin, range.end) < old.end)
      rest.push_back({std::max(old.begin, range.end), old.end});
  }
  if (rest.empty())
    ranges.erase(it);
  else
    it->second = std::move(rest);
}

void LiveBytes::add(const LiveBytes &other) {
  for (auto &[buffer, list] : other.ranges)
    for (ByteRange range : list)
      add(buffer, range);
}

int64_t LiveBytes::count() const {
  int64_t bytes = 0;
  for (auto &[buffer, list] : ranges)
    for (ByteRange range : list)
      bytes += range.end - range.begin;
  return bytes;
}

std::optional<unsigned> Occupancy::add(unsigned buffer, int64_t offset, int64_t bytes,
                                       int64_t countedBytes) {
  auto [it, isNew] = entries.try_emplace(buffer, Entry{offset, bytes, countedBytes});
  if (it->second.reasons++ > 0)
    return std::nullopt;
  counted += countedBytes;
  if (bytes == 0)
    return std::nullopt;
  // Those present lie apart, so that only the neighbours can share bytes with a new one.
  std::optional<unsigned> other;
  auto next = byOffset.lower_bound({offset, 0});
  if (next != byOffset.end() && next->first.first < offset + bytes)
    other = next->first.second;
  if (next != byOffset.begin())
    if (auto before = std::prev(next); before->second > offset)
      other = before->first.second;
  byOffset[{offset, buffer}] = offset + bytes;
  return other;
}

void Occupancy::remove(unsigned buffer) {
  auto it = entries.find(buffer);
  if (it == entries.end() || --it->second.reasons > 0)
    return;
  counted -= it->second.counted;
  byOffset.erase({it->second.offset, buffer});
  entries.erase(it);
}

void Occupancy::clear() {
  entries.clear();
  byOffset.clear();
  counted = 0;
}

//===- LiveBytes.h - Which bytes of which buffers are live ------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_MEMORY_LIVEBYTES_H
#define ULSC_LIB_MEMORY_LIVEBYTES_H

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace ulsc::memory {

/// Bytes [begin, end) of a buffer.
struct ByteRange {
  int64_t begin, end;
};

/// Which bytes of which buffers hold something that is still read. Buffers are numbers, in the
/// order of their offsets.
class LiveBytes {
public:
  using Ranges = std::map<unsigned, llvm::SmallVector<ByteRange, 1>>;

  void add(unsigned buffer, ByteRange range) {
    remove(buffer, range);
    ranges[buffer].push_back(range);
    total += range.end - range.begin;
  }

  void add(const LiveBytes &other) {
    for (const auto &[buffer, list] : other.ranges)
      for (ByteRange range : list)
        add(buffer, range);
  }

  void remove(unsigned buffer, ByteRange range) {
    auto it = ranges.find(buffer);
    if (it == ranges.end())
      return;
    llvm::SmallVector<ByteRange, 1> rest;
    total -= count(it->second);
    for (ByteRange old : it->second) {
      if (old.begin < std::min(old.end, range.begin))
        rest.push_back({old.begin, std::min(old.end, range.begin)});
      if (std::max(old.begin, range.end) < old.end)
        rest.push_back({std::max(old.begin, range.end), old.end});
    }
    total += count(rest);
    if (rest.empty())
      ranges.erase(it);
    else
      it->second = std::move(rest);
  }

  /// Bytes of `others`, of one buffer, that are not live here.
  int64_t countMissing(unsigned buffer, llvm::ArrayRef<ByteRange> others) const {
    LiveBytes joint;
    auto it = ranges.find(buffer);
    int64_t known = it != ranges.end() ? count(it->second) : 0;
    if (it != ranges.end())
      joint.ranges[buffer] = it->second;
    joint.total = known;
    for (ByteRange range : others)
      joint.add(buffer, range);
    return joint.total - known;
  }

  int64_t getTotal() const { return total; }
  const Ranges &getRanges() const { return ranges; }

private:
  static int64_t count(llvm::ArrayRef<ByteRange> list) {
    int64_t bytes = 0;
    for (ByteRange range : list)
      bytes += range.end - range.begin;
    return bytes;
  }

  Ranges ranges;
  int64_t total = 0;
};

} // namespace ulsc::memory

#endif // ULSC_LIB_MEMORY_LIVEBYTES_H

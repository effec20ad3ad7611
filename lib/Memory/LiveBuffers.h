//===- LiveBuffers.h - Which bytes are live at a point of a program ----------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_MEMORY_LIVEBUFFERS_H
#define ULSC_LIB_MEMORY_LIVEBUFFERS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ulsc::memory {

/// Bytes [begin, end) of a buffer.
struct ByteRange {
  int64_t begin, end;
};

/// Which bytes of which buffers hold something that is still read. Buffers are numbered.
class LiveBytes {
public:
  void add(unsigned buffer, ByteRange range);
  void remove(unsigned buffer, ByteRange range);
  void add(const LiveBytes &other);
  bool contains(unsigned buffer) const { return ranges.count(buffer); }
  int64_t count() const;
  const std::map<unsigned, llvm::SmallVector<ByteRange>> &getRanges() const { return ranges; }

private:
  std::map<unsigned, llvm::SmallVector<ByteRange>> ranges;
};

/// Where the present buffers lie, changed one buffer at a time: looking at all of them at every op
/// would be quadratic in the depth of a model.
class Occupancy {
public:
  /// One more reason for which `buffer` is present. Returns a buffer that was there before and
  /// shares bytes with it, if there is one.
  std::optional<unsigned> add(unsigned buffer, int64_t offset, int64_t bytes, int64_t counted);
  /// One reason less.
  void remove(unsigned buffer);
  void clear();

  /// The sum of `counted` over the present buffers.
  int64_t getCounted() const { return counted; }

private:
  struct Entry {
    int64_t offset, bytes, counted;
    int64_t reasons = 0;
  };
  std::map<unsigned, Entry> entries;
  std::map<std::pair<int64_t, unsigned>, int64_t> byOffset; ///< to the end; no empty buffers
  int64_t counted = 0;
};

} // namespace ulsc::memory

#endif // ULSC_LIB_MEMORY_LIVEBUFFERS_H

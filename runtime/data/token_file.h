// Token files and the batches that are cut from them.
#ifndef ULSC_RUNTIME_DATA_TOKEN_FILE_H
#define ULSC_RUNTIME_DATA_TOKEN_FILE_H

#include "core/manifest.h"
#include "device/arena_view.h"

#include <string>

namespace ulsc::runtime {

/// A file of raw little-endian ids: u16, or u32 for vocabularies over 65,536. It is read, not
/// mapped: a file that is cut during the run is an error, not a signal.
class TokenFile {
public:
  /// Throws an Error for a file that can't hold one row of `seq` tokens and its targets.
  TokenFile(const std::string &path, int64_t vocabulary, int64_t seq);
  ~TokenFile();
  TokenFile(const TokenFile &) = delete;
  TokenFile &operator=(const TokenFile &) = delete;

  int64_t tokens() const { return count; }

  /// Copies `seq` ids from `position` on, and their successors as targets, wrapping at the end.
  /// Throws for an id outside the vocabulary, naming its byte offset.
  void copyRow(int64_t position, int64_t seq, int32_t *tokens, int32_t *targets) const;

private:
  /// Reads ids from `index` on into the buffer, from its id `place` on.
  void read(int64_t index, int64_t ids, int64_t place) const;
  int32_t idInBuffer(int64_t place, int64_t index) const;
  [[noreturn]] void refuseId(int64_t index, uint32_t id) const;

  std::string path;
  int64_t vocabulary, width, count = 0, bytes = 0;
  int file = -1;
  mutable std::vector<unsigned char> buffer; // a row and its last target
};

/// Writes this rank's rows of the global batch that begins after `consumed` tokens to the arena's
/// inputs, those of them that its stage reads: row r = (m * data ranks + d) * micro + i of the
/// batch holds tokens consumed + r * seq on.
void copyBatch(const TokenFile &file, const Manifest &manifest, const Shape &coordinates,
               int64_t consumed, ArenaView &arena);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_DATA_TOKEN_FILE_H

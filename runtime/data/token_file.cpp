#include "data/token_file.h"

#include "checkpoint/files.h"
#include "core/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ulsc::runtime {

TokenFile::TokenFile(const std::string &path, int64_t vocabulary, int64_t seq)
    : path(path), vocabulary(vocabulary), width(vocabulary > 65536 ? 4 : 2) {
  requireRegularFile("token file", path);
  file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    raise("can't open token file '", path, "': ", std::strerror(errno),
          "; 'ulsc data TEXT -o tokens.bin' makes one");
  struct stat status;
  fstat(file, &status);
  bytes = status.st_size;
  count = bytes / width;
  std::string problem;
  if (bytes % width)
    problem = concat("token file '", path, "' has ", bytes, " bytes, but ids of a vocabulary of ",
                     vocabulary, " take ", width, " bytes each; write it as raw little-endian u",
                     8 * width);
  else if (count < seq + 1)
    problem = concat("token file '", path, "' holds ", count, " tokens, but one row needs ", seq,
                     " and a target; give at least ", seq + 1, " tokens");
  if (!problem.empty()) {
    close(file);
    raise(problem);
  }
}

TokenFile::~TokenFile() { close(file); }

void TokenFile::refuseId(int64_t index, uint32_t id) const {
  raise("token file '", path, "' holds id ", id, " at byte ", index * width,
        ", but the vocabulary has ", vocabulary, " ids; use the tokenizer of this model");
}

void TokenFile::read(int64_t index, int64_t ids, int64_t place) const {
  unsigned char *next = buffer.data() + place * width;
  int64_t offset = index * width, end = offset + ids * width;
  while (offset < end) {
    ssize_t got = pread(file, next, static_cast<size_t>(end - offset), offset);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      raise("can't read token file '", path, "' at byte ", offset, ": ", std::strerror(errno));
    if (got == 0)
      raise("token file '", path, "' ends at byte ", offset, ", but had ", bytes,
            " bytes when the run began; restore it and don't change it during a run");
    next += got;
    offset += got;
  }
}

int32_t TokenFile::idInBuffer(int64_t place, int64_t index) const {
  const unsigned char *bytes = buffer.data() + place * width;
  uint32_t id = bytes[0] | static_cast<uint32_t>(bytes[1]) << 8;
  if (width == 4)
    id |= static_cast<uint32_t>(bytes[2]) << 16 | static_cast<uint32_t>(bytes[3]) << 24;
  if (id >= static_cast<uint64_t>(vocabulary))
    refuseId(index, id);
  return static_cast<int32_t>(id);
}

void TokenFile::copyRow(int64_t position, int64_t seq, int32_t *tokens, int32_t *targets) const {
  int64_t first = position % count;
  buffer.resize(static_cast<size_t>((seq + 1) * width));
  for (int64_t done = 0; done <= seq;) {
    int64_t index = (first + done) % count;
    int64_t ids = std::min(seq + 1 - done, count - index);
    read(index, ids, done);
    done += ids;
  }
  int32_t current = idInBuffer(0, first);
  for (int64_t i = 0; i < seq; ++i) {
    tokens[i] = current;
    targets[i] = current = idInBuffer(i + 1, (first + i + 1) % count);
  }
}

void copyBatch(const TokenFile &file, const Manifest &manifest, const Shape &coordinates,
               int64_t consumed, ArenaView &arena) {
  const Batch &batch = manifest.batch;
  int64_t dataRanks = manifest.mesh.sizeOver(batch.dataAxes);
  int64_t dataRank = manifest.mesh.indexOver(batch.dataAxes, coordinates);
  const Stage &stage = manifest.stageOf(coordinates);
  if (!stage.tokens && !stage.targets)
    return;
  std::vector<int32_t> tokens(static_cast<size_t>(batch.microbatches * batch.micro * batch.seq));
  std::vector<int32_t> targets(tokens.size());
  for (int64_t m = 0; m < batch.microbatches; ++m)
    for (int64_t i = 0; i < batch.micro; ++i) {
      int64_t row = (m * dataRanks + dataRank) * batch.micro + i;
      int64_t local = (m * batch.micro + i) * batch.seq;
      file.copyRow(consumed + row * batch.seq, batch.seq, tokens.data() + local,
                   targets.data() + local);
    }
  int64_t bytes = static_cast<int64_t>(tokens.size() * sizeof(int32_t));
  if (stage.tokens)
    std::memcpy(arena.write(stage.tokens->offset, bytes), tokens.data(), tokens.size() * 4);
  if (stage.targets)
    std::memcpy(arena.write(stage.targets->offset, bytes), targets.data(), targets.size() * 4);
  arena.flush();
}

} // namespace ulsc::runtime

// How the host reads and changes what lies in the arena of a device.
#ifndef ULSC_RUNTIME_DEVICE_ARENA_VIEW_H
#define ULSC_RUNTIME_DEVICE_ARENA_VIEW_H

#include <cstdint>

namespace ulsc::runtime {

/// For everything that happens around the steps. What a member returned is valid until the next
/// call of any.
class ArenaView {
public:
  virtual ~ArenaView() = default;

  /// `bytes` from `offset` on, as all work submitted so far leaves them.
  virtual const char *read(int64_t offset, int64_t bytes) = 0;
  /// The same, to be changed. Changes are in the arena when the next member returns.
  virtual char *edit(int64_t offset, int64_t bytes) = 0;
  /// Like `edit`, but undefined at first: the caller writes every byte.
  virtual char *write(int64_t offset, int64_t bytes) = 0;
  /// Ends the last `edit` or `write`.
  virtual void flush() = 0;
};

/// Of an arena that the host can address.
class DirectArenaView final : public ArenaView {
public:
  explicit DirectArenaView(char *arena = nullptr) : arena(arena) {}

  const char *read(int64_t offset, int64_t) override { return arena + offset; }
  char *edit(int64_t offset, int64_t) override { return arena + offset; }
  char *write(int64_t offset, int64_t) override { return arena + offset; }
  void flush() override {}

private:
  char *arena;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_DEVICE_ARENA_VIEW_H

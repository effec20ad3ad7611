// Files and directories that a crash must not leave half done.
#ifndef ULSC_RUNTIME_CHECKPOINT_FILES_H
#define ULSC_RUNTIME_CHECKPOINT_FILES_H

#include <cstdint>
#include <string>
#include <vector>

namespace ulsc::runtime {

/// A hash of a stream of bytes, to notice damage (not to resist an adversary).
class StreamHash {
public:
  void update(const void *data, int64_t bytes);
  uint64_t value() const;

private:
  void mix(uint64_t word);
  uint64_t state = 0x243f6a8885a308d3, pending = 0;
  int64_t length = 0;
};

/// Writes a new file through one buffer. Unless `finish` was called, the destructor removes the
/// file.
class FileWriter {
public:
  explicit FileWriter(const std::string &path);
  ~FileWriter();
  FileWriter(const FileWriter &) = delete;
  FileWriter &operator=(const FileWriter &) = delete;

  void write(const void *data, int64_t bytes);
  /// Writes out and syncs to the disk.
  void finish();

  uint64_t hash() const { return streamHash.value(); }
  int64_t bytes() const { return total; }

private:
  void flush();

  std::string path;
  int file = -1;
  std::vector<char> buffer;
  StreamHash streamHash;
  int64_t total = 0;
};

/// All of these throw an Error that names the path.
void makeDirectories(const std::string &path);
void syncDirectory(const std::string &path);
/// Puts the directory `from` in the place of `to` in one step. If `to` exists, the two change
/// places and what was there is removed.
void publishDirectory(const std::string &from, const std::string &to);
void publishFile(const std::string &from, const std::string &to);
/// Removes a directory and all in it, the file `first` before the others. Quiet if it does not
/// exist.
void removeDirectory(const std::string &path, const std::string &first = "");
/// Writes a small file and syncs it.
void writeFile(const std::string &path, const std::string &content);
/// Reads a file of at most `limit` bytes.
std::string readFile(const std::string &path, int64_t limit);
/// The names in a directory, sorted; empty if it does not exist.
std::vector<std::string> directoryEntries(const std::string &path);
/// "a directory", "a device", "a FIFO" and so on; empty for a regular file and for what does not
/// exist.
std::string specialKind(const std::string &path);
/// Throws for what is there but no regular file: opening a FIFO waits for ever, and renaming over a
/// device destroys it. `what` begins the message, such as "token file".
void requireRegularFile(const std::string &what, const std::string &path);
bool isDirectory(const std::string &path);
bool fileExists(const std::string &path);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CHECKPOINT_FILES_H

#include "checkpoint/files.h"

#include "core/error.h"
#include "ulsc/Random.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace ulsc::runtime {

namespace fs = std::filesystem;

namespace {

constexpr int64_t bufferBytes = int64_t(1) << 20;

[[noreturn]] void raiseErrno(const std::string &what, const std::string &path) {
  int code = errno;
  std::string hint = code == ENOSPC   ? "; free space on this disk or give another directory"
                     : code == EACCES ? "; give a directory that you may write to"
                                      : "";
  raise("can't ", what, " '", path, "': ", std::strerror(code), hint);
}

} // namespace

void StreamHash::mix(uint64_t word) {
  state = (state ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  state ^= state >> 29;
}

void StreamHash::update(const void *data, int64_t bytes) {
  auto *next = static_cast<const unsigned char *>(data);
  // Words begin at multiples of eight of the stream, however it is cut into calls.
  for (; bytes > 0 && length % 8; --bytes, ++length, ++next) {
    pending |= static_cast<uint64_t>(*next) << (length % 8 * 8);
    if (length % 8 == 7) {
      mix(pending);
      pending = 0;
    }
  }
  for (; bytes >= 8; bytes -= 8, length += 8, next += 8) {
    uint64_t word;
    std::memcpy(&word, next, 8);
    mix(word);
  }
  for (; bytes > 0; --bytes, ++length, ++next)
    pending |= static_cast<uint64_t>(*next) << (length % 8 * 8);
}

uint64_t StreamHash::value() const {
  return ulsc_random_mix(state ^ ulsc_random_mix(pending + static_cast<uint64_t>(length)));
}

FileWriter::FileWriter(const std::string &path) : path(path) {
  file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0)
    raiseErrno("create", path);
  buffer.reserve(bufferBytes);
}

FileWriter::~FileWriter() {
  if (file < 0)
    return;
  close(file);
  unlink(path.c_str());
}

void FileWriter::write(const void *data, int64_t bytes) {
  streamHash.update(data, bytes);
  total += bytes;
  auto *next = static_cast<const char *>(data);
  while (bytes > 0) {
    int64_t size = std::min<int64_t>(bytes, bufferBytes - static_cast<int64_t>(buffer.size()));
    buffer.insert(buffer.end(), next, next + size);
    next += size;
    bytes -= size;
    if (static_cast<int64_t>(buffer.size()) == bufferBytes)
      flush();
  }
}

void FileWriter::flush() {
  for (size_t done = 0; done < buffer.size();) {
    ssize_t written = ::write(file, buffer.data() + done, buffer.size() - done);
    if (written < 0 && errno != EINTR)
      raiseErrno("write", path);
    done += written > 0 ? static_cast<size_t>(written) : 0;
  }
  buffer.clear();
}

void FileWriter::finish() {
  flush();
  if (fsync(file) != 0)
    raiseErrno("sync", path);
  // Some file systems tell only here that there is no space.
  int closed = close(file);
  file = -1;
  if (closed != 0) {
    unlink(path.c_str());
    raiseErrno("close", path);
  }
}

void makeDirectories(const std::string &path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code || !fs::is_directory(path, code))
    raise("can't create directory '", path,
          "': ", code ? code.message() : std::string("a file has this name"),
          "; give a directory that you may write to");
}

void syncDirectory(const std::string &path) {
  int directory = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0)
    raiseErrno("open", path);
  int failed = fsync(directory);
  close(directory);
  if (failed && errno != EINVAL) // some file systems don't sync directories
    raiseErrno("sync", path);
}

void publishDirectory(const std::string &from, const std::string &to) {
  if (!fileExists(to)) {
    if (std::rename(from.c_str(), to.c_str()) != 0)
      raiseErrno("rename", from);
  } else {
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0)
      raiseErrno("replace", to);
    removeDirectory(from);
  }
  syncDirectory(fs::path(to).parent_path().string());
}

void publishFile(const std::string &from, const std::string &to) {
  requireRegularFile("file", to);
  if (std::rename(from.c_str(), to.c_str()) != 0)
    raiseErrno("rename", from);
}

void removeDirectory(const std::string &path, const std::string &first) {
  if (!fileExists(path))
    return;
  std::error_code code;
  if (!first.empty())
    fs::remove(fs::path(path) / first, code);
  fs::remove_all(path, code);
  if (code)
    raise("can't remove '", path, "': ", code.message());
}

void writeFile(const std::string &path, const std::string &content) {
  FileWriter writer(path);
  writer.write(content.data(), static_cast<int64_t>(content.size()));
  writer.finish();
}

std::string specialKind(const std::string &path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return "";
  switch (status.st_mode & S_IFMT) {
  case S_IFREG:
    return "";
  case S_IFDIR:
    return "a directory";
  case S_IFIFO:
    return "a FIFO";
  case S_IFSOCK:
    return "a socket";
  default:
    return "a device";
  }
}

void requireRegularFile(const std::string &what, const std::string &path) {
  std::string kind = specialKind(path);
  if (!kind.empty())
    raise(what, " '", path, "' is ", kind, "; give a regular file's path");
}

std::string readFile(const std::string &path, int64_t limit) {
  requireRegularFile("file", path);
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    raiseErrno("open", path);
  std::string content;
  char piece[65536];
  ssize_t count = 0;
  while (static_cast<int64_t>(content.size()) <= limit &&
         (count = read(file, piece, sizeof(piece))) > 0)
    content.append(piece, static_cast<size_t>(count));
  int code = errno;
  close(file);
  errno = code;
  if (count < 0)
    raiseErrno("read", path);
  if (static_cast<int64_t>(content.size()) > limit)
    raise("file '", path, "' has more than ", limit, " bytes, which is not what is expected there");
  return content;
}

std::vector<std::string> directoryEntries(const std::string &path) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator entry(path, code), end; !code && entry != end; entry.increment(code))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool isDirectory(const std::string &path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

bool fileExists(const std::string &path) {
  std::error_code code;
  return fs::exists(path, code);
}

} // namespace ulsc::runtime

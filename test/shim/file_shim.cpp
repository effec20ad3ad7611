// Counts what a program changes below one directory, and can end it, or let it fail, at any of
// these operations. Preload the library and set ULSC_FILE_BELOW to the directory's absolute path,
// without links in it. Then
//
//   ULSC_FILE_OUT=F       writes {"rank": 0, "operations": ["mkdir /d/a", "write /d/a/b", ...]} at
//                         the end of each rank (output.h)
//   ULSC_FILE_KILL_AT=N   ends the process by SIGKILL at its N-th operation, before it is done; a
//                         write is done by half
//   ULSC_FILE_FAIL_AT=N   has the N-th operation fail for want of space
//   ULSC_FILE_RANK=R      both only on this rank
//
// Directories opened to be read or synced are no change, their sync is one.
#include "file_shim.h"
#include "output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <mutex>
#include <vector>

namespace {

struct State {
  std::mutex mutex;
  std::string directory;
  long killAt = 0, failAt = 0;
  std::vector<std::string> operations;

  State() { read(); }
  void read() {
    auto number = [](const char *name) {
      const char *value = std::getenv(name);
      return value ? std::atol(value) : 0;
    };
    const char *below = std::getenv("ULSC_FILE_BELOW"), *rank = std::getenv("ULSC_FILE_RANK");
    directory = below ? below : "";
    bool isChosen = !rank || std::atoi(rank) == launcherRank();
    killAt = isChosen ? number("ULSC_FILE_KILL_AT") : 0;
    failAt = isChosen ? number("ULSC_FILE_FAIL_AT") : 0;
    operations.clear();
  }
};

// Never destroyed: files are closed up to the very end.
State &state() {
  static State *instance = new State;
  return *instance;
}

std::string pathOf(int file) {
  char link[64], path[4096];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof(path));
  return std::string(path, length > 0 ? length : 0);
}

std::string pathAt(int directory, const char *path) {
  if (path[0] == '/')
    return path;
  if (directory != AT_FDCWD)
    return pathOf(directory) + "/" + path;
  char current[4096];
  return (getcwd(current, sizeof(current)) ? std::string(current) : std::string()) + "/" + path;
}

bool isWritable(int file) {
  int flags = fcntl(file, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

enum class Verdict { Proceed, Fail, Kill };

Verdict judge(const char *what, const std::string &path) {
  State &all = state();
  if (all.directory.empty() || path.compare(0, all.directory.size(), all.directory) != 0)
    return Verdict::Proceed;
  std::lock_guard<std::mutex> guard(all.mutex);
  all.operations.push_back(std::string(what) + " " + path);
  long number = static_cast<long>(all.operations.size());
  if (number == all.killAt)
    return Verdict::Kill;
  return number == all.failAt ? Verdict::Fail : Verdict::Proceed;
}

void killSelf() { kill(getpid(), SIGKILL); }

// Whether an operation may be done; sets errno where not.
bool mayDo(const char *what, const std::string &path) {
  Verdict verdict = judge(what, path);
  if (verdict == Verdict::Kill)
    killSelf();
  if (verdict == Verdict::Fail)
    errno = ENOSPC;
  return verdict == Verdict::Proceed;
}

int openFile(int directory, const char *path, int flags, mode_t mode) {
  if ((flags & O_CREAT) && !mayDo("create", pathAt(directory, path)))
    return -1;
  return static_cast<int>(syscall(SYS_openat, directory, path, flags, mode));
}

int renameFile(int from, const char *source, int to, const char *target, unsigned flags) {
  if (!mayDo(flags ? "exchange" : "rename", pathAt(from, source)))
    return -1;
  return static_cast<int>(syscall(SYS_renameat2, from, source, to, target, flags));
}

int removeFile(int directory, const char *path, int flags) {
  if (!mayDo("remove", pathAt(directory, path)))
    return -1;
  return static_cast<int>(syscall(SYS_unlinkat, directory, path, flags));
}

mode_t modeOf(int flags, va_list arguments) {
  return flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
}

__attribute__((destructor)) void writeAll() {
  int rank = launcherRank();
  std::FILE *file = openOutput("ULSC_FILE_OUT", rank);
  if (!file)
    return;
  std::fprintf(file, "{\"rank\": %d, \"operations\": [", rank);
  const char *separator = "";
  for (const std::string &operation : state().operations) {
    std::fprintf(file, "%s\n  \"%s\"", separator, operation.c_str());
    separator = ",";
  }
  std::fprintf(file, "]}\n");
  std::fclose(file);
}

} // namespace

extern "C" {

void ulsc_file_shim_restart(void) { state().read(); }

long ulsc_file_shim_operations(void) { return static_cast<long>(state().operations.size()); }

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = modeOf(flags, arguments);
  va_end(arguments);
  return openFile(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = modeOf(flags, arguments);
  va_end(arguments);
  return openFile(directory, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int directory, const char *path, int flags, ...) __attribute__((alias("openat")));

ssize_t write(int file, const void *data, size_t bytes) {
  Verdict verdict = judge("write", pathOf(file));
  if (verdict == Verdict::Fail) {
    errno = ENOSPC;
    return -1;
  }
  if (verdict == Verdict::Kill) {
    syscall(SYS_write, file, data, bytes / 2);
    killSelf();
  }
  return syscall(SYS_write, file, data, bytes);
}

int fsync(int file) {
  return mayDo("sync", pathOf(file)) ? static_cast<int>(syscall(SYS_fsync, file)) : -1;
}

int close(int file) {
  // Even a close that fails gives the number back.
  bool isDone = !isWritable(file) || mayDo("close", pathOf(file));
  int code = errno;
  int result = static_cast<int>(syscall(SYS_close, file));
  if (isDone)
    return result;
  errno = code;
  return -1;
}

int mkdir(const char *path, mode_t mode) {
  return mayDo("mkdir", pathAt(AT_FDCWD, path))
             ? static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode))
             : -1;
}

int rename(const char *source, const char *target) {
  return renameFile(AT_FDCWD, source, AT_FDCWD, target, 0);
}

int renameat2(int from, const char *source, int to, const char *target, unsigned flags) {
  return renameFile(from, source, to, target, flags);
}

int unlink(const char *path) { return removeFile(AT_FDCWD, path, 0); }

int unlinkat(int directory, const char *path, int flags) {
  return removeFile(directory, path, flags);
}

int rmdir(const char *path) { return removeFile(AT_FDCWD, path, AT_REMOVEDIR); }

int remove(const char *path) {
  struct stat status;
  bool isDirectory = lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
  return removeFile(AT_FDCWD, path, isDirectory ? AT_REMOVEDIR : 0);
}

} // extern "C"

// Joining ranks in shared memory.
#include "simulator/nccl/clique.h"

#include "simulator/core/report.h"
#include "simulator/nccl/process.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ulsc::simulator {

namespace {

const char *const prefix = "ulsc-nccl-";

/// Segments whose id this process has given out: held open, and so locked, until it joins. Those
/// that are left when it ends will never be complete.
struct GivenOut {
  std::map<std::string, int> files;
  int process = getpid();
  ~GivenOut() {
    if (process == getpid()) // not in a child that was forked
      for (auto &[name, file] : files)
        shm_unlink(("/" + name).c_str());
  }
};
GivenOut givenOut;
std::mutex givenOutMutex;

[[noreturn]] void reportSystem(const std::string &what) {
  Finding finding;
  finding.kind = "system";
  finding.summary = text("NCCL: ", what, ": ", std::strerror(errno));
  finding.legal = "ranks are processes of one user on one machine, with /dev/shm and /proc";
  report(finding);
}

/// Removes segments that no living process holds. A fresh one may not be locked yet.
void sweep() {
  DIR *folder = opendir("/dev/shm");
  if (!folder)
    return;
  while (dirent *entry = readdir(folder)) {
    if (std::strncmp(entry->d_name, prefix, std::strlen(prefix)))
      continue;
    std::string name = std::string("/") + entry->d_name;
    int file = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0600);
    if (file < 0)
      continue;
    struct stat status;
    bool isOld = fstat(file, &status) == 0 && std::time(nullptr) - status.st_ctime > 60;
    if (isOld && flock(file, LOCK_EX | LOCK_NB) == 0)
      shm_unlink(name.c_str());
    close(file);
  }
  closedir(folder);
}

int openSegment(const std::string &name, int flags) {
  int file = shm_open(("/" + name).c_str(), O_RDWR | O_CLOEXEC | flags, 0600);
  if (file >= 0) {
    // Held until the process ends, however it ends: the lock says that the segment is in use.
    if (flock(file, LOCK_SH) != 0 || ftruncate(file, sizeof(SharedState)) != 0)
      reportSystem("can't use shared memory");
  }
  return file;
}

} // namespace

std::string Clique::createSegment() {
  sweep();
  static std::atomic<int> count{0};
  std::string name = text(prefix, getpid(), ".", processStartTime(getpid()), ".", count++);
  int file = openSegment(name, O_CREAT | O_EXCL);
  if (file < 0)
    reportSystem("can't make shared memory");
  std::lock_guard<std::mutex> lock(givenOutMutex);
  givenOut.files[name] = file;
  return name;
}

bool Clique::join(const std::string &name, int rankCount, int rankIndex, bool isNew,
                  std::string &error) {
  segmentName = name;
  ranks = rankCount;
  rank = rankIndex;
  segmentFile =
      name.compare(0, std::strlen(prefix), prefix) ? -1 : openSegment(name, isNew ? O_CREAT : 0);
  if (segmentFile < 0) {
    error = text("the unique id names no communicator that waits for its ranks (", name, ")");
    return false;
  }
  void *memory =
      mmap(nullptr, sizeof(SharedState), PROT_READ | PROT_WRITE, MAP_SHARED, segmentFile, 0);
  if (memory == MAP_FAILED)
    reportSystem("can't map shared memory");
  shared = static_cast<SharedState *>(memory);
  takePlace();
  std::lock_guard<std::mutex> lock(givenOutMutex);
  if (auto found = givenOut.files.find(name); found != givenOut.files.end()) {
    close(found->second);
    givenOut.files.erase(found);
  }
  return true;
}

void Clique::takePlace() {
  int32_t expected = 0;
  if (!shared->ranks.compare_exchange_strong(expected, ranks) && expected != ranks) {
    Finding finding{"mismatch",
                    "NCCL: ranks of one communicator name different numbers of ranks",
                    {{text("rank ", rank), text(ranks, " ranks")},
                     {"the first to come", text(expected, " ranks")}},
                    "the same number on all ranks"};
    report(finding);
  }
  int32_t absent = int32_t(RankPhase::Absent);
  if (!own().phase.compare_exchange_strong(absent, int32_t(RankPhase::Joining))) {
    Finding finding{
        "mismatch",
        text("NCCL: two callers are rank ", rank, " of one communicator"),
        {{"the first", text("process ", own().process)}, {"this one", text("process ", getpid())}},
        "each rank once, each unique id for one communicator"};
    report(finding);
  }
  files.assign(static_cast<size_t>(ranks), -1);
  int file = memfd_create(text("ulsc-nccl-rank-", rank).c_str(), MFD_CLOEXEC);
  if (file < 0)
    reportSystem("can't make a memory file");
  files[static_cast<size_t>(rank)] = file;
  own().process = getpid();
  own().startTime = processStartTime(getpid());
  own().file = file;
  own().phase.store(int32_t(RankPhase::Joined), std::memory_order_release);
}

std::vector<int> Clique::absentRanks() const {
  std::vector<int> absent;
  for (int other = 0; other < ranks; ++other)
    if (state(other).phase.load(std::memory_order_acquire) < int32_t(RankPhase::Joined))
      absent.push_back(other);
  return absent;
}

bool Clique::tryComplete() {
  if (isComplete)
    return true;
  if (!hasOpened) {
    if (!absentRanks().empty())
      return false;
    for (int other = 0; other < ranks; ++other) {
      int &file = files[static_cast<size_t>(other)];
      if (file < 0)
        file = open(text("/proc/", state(other).process, "/fd/", state(other).file).c_str(),
                    O_RDONLY | O_CLOEXEC);
      if (file < 0)
        reportSystem(
            text("can't open the memory of rank ", other, ", process ", state(other).process));
    }
    hasOpened = true;
    ++shared->opened;
  }
  // Only then may a rank go on, and end: its file can't be opened afterwards.
  if (shared->opened < ranks)
    return false;
  unlink(); // the first succeeds
  isComplete = true;
  return true;
}

void Clique::unlink() const { shm_unlink(("/" + segmentName).c_str()); }

Clique::~Clique() {
  for (int file : files)
    if (file >= 0)
      close(file);
  if (shared)
    munmap(shared, sizeof(SharedState));
  if (segmentFile >= 0)
    close(segmentFile);
}

uint64_t Clique::id() const {
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  for (char byte : segmentName)
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

bool Clique::isAlive(int other) const {
  return other == rank || processStartTime(state(other).process) == state(other).startTime;
}

void Clique::readFile(int other, uint64_t offset, void *target, uint64_t bytes) const {
  auto *bytesLeft = static_cast<char *>(target);
  while (bytes) {
    ssize_t count =
        pread(files[static_cast<size_t>(other)], bytesLeft, bytes, static_cast<off_t>(offset));
    if (count <= 0)
      reportSystem(text("can't read the memory of rank ", other));
    bytesLeft += count;
    offset += static_cast<uint64_t>(count);
    bytes -= static_cast<uint64_t>(count);
  }
}

void Clique::writeFile(uint64_t offset, const void *source, uint64_t bytes) const {
  auto *bytesLeft = static_cast<const char *>(source);
  while (bytes) {
    ssize_t count =
        pwrite(files[static_cast<size_t>(rank)], bytesLeft, bytes, static_cast<off_t>(offset));
    if (count <= 0)
      reportSystem("can't write the memory that is shared with other ranks");
    bytesLeft += count;
    offset += static_cast<uint64_t>(count);
    bytes -= static_cast<uint64_t>(count);
  }
}

void Clique::discard(uint64_t offset, uint64_t bytes) const {
  if (bytes)
    fallocate(files[static_cast<size_t>(rank)], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(offset), static_cast<off_t>(bytes));
}

} // namespace ulsc::simulator

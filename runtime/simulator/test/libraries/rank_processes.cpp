// Forks ranks and collects how they ended.
#include "rank_processes.h"

#include "simulator/core/memory.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace ulsc::simulator::test {

namespace {

std::string readAll(std::FILE *file) {
  std::string result;
  std::rewind(file);
  char bytes[4096];
  while (size_t count = std::fread(bytes, 1, sizeof(bytes), file))
    result.append(bytes, count);
  return result;
}

} // namespace

nccl::Comm RankContext::world() const {
  nccl::Comm comm = nullptr;
  requireSuccess(nccl::ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank");
  return comm;
}

std::vector<RankEnd> runRanks(int ranks, const std::function<void(const RankContext &)> &body,
                              const std::vector<std::string> &environment) {
  RankContext context;
  context.ranks = ranks;
  nccl::ncclGetUniqueId(&context.id);
  std::fflush(nullptr);
  std::vector<pid_t> processes;
  std::vector<std::FILE *> errors;
  for (context.rank = 0; context.rank < ranks; ++context.rank) {
    errors.push_back(std::tmpfile());
    pid_t process = fork();
    if (process == 0) {
      dup2(fileno(errors.back()), 2);
      for (const std::string &setting : environment)
        putenv(strdup(setting.c_str()));
      body(context);
      std::fflush(nullptr);
      _exit(0);
    }
    processes.push_back(process);
  }
  std::vector<RankEnd> ends(static_cast<size_t>(ranks));
  for (size_t rank = 0; rank < ends.size(); ++rank) {
    int status = 0;
    waitpid(processes[rank], &status, 0);
    ends[rank].exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ends[rank].errors = readAll(errors[rank]);
    std::fclose(errors[rank]);
  }
  return ends;
}

void expectRanksPass(int ranks, const std::function<void(const RankContext &)> &body) {
  std::vector<RankEnd> ends = runRanks(ranks, body);
  for (size_t rank = 0; rank < ends.size(); ++rank)
    EXPECT_EQ(ends[rank].exitCode, 0) << "rank " << rank << ": " << ends[rank].errors;
}

void require(bool condition, const std::string &what) {
  if (condition)
    return;
  std::fprintf(stderr, "failed: %s\n", what.c_str());
  std::fflush(nullptr);
  _exit(1);
}

void requireSuccess(nccl::Result result, const char *what) {
  require(result == nccl::Success, std::string(what) + " returns " +
                                       nccl::ncclGetErrorString(result) + ": " +
                                       nccl::ncclGetLastError(nullptr));
}

nccl::Stream makeStream() { return reinterpret_cast<nccl::Stream>(createStream(true, 0)); }

void *toDevice(const void *values, size_t bytes) {
  void *memory = deviceBytes(bytes);
  std::memcpy(memory, values, bytes);
  markValues(memory, static_cast<int64_t>(bytes));
  return memory;
}

void *deviceBytes(size_t bytes) {
  void *memory = allocate(bytes, MemoryKind::Device);
  require(memory, "device memory");
  return memory;
}

} // namespace ulsc::simulator::test

#include "tcp_job.h"

#include "comm/join_messages.h"
#include "core/error.h"

#include <csignal>
#include <cstdlib>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ulsc::runtime;

namespace ulsc::test {

void TcpJob::SetUp() {
  agent = Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(agent.get(), reinterpret_cast<sockaddr *>(&address), size), 0);
  ASSERT_EQ(listen(agent.get(), 1), 0);
  ASSERT_EQ(getsockname(agent.get(), reinterpret_cast<sockaddr *>(&address), &size), 0);
  masterPort = ntohs(address.sin_port);
  options.program = {"0123456789abcdef", "model on mesh dp=2"};
  options.secret = "a secret of the test's own";
}

void TcpJob::TearDown() {
  for (Process &process : processes)
    if (process.pid > 0) {
      kill(process.pid, SIGKILL);
      waitpid(process.pid, nullptr, 0);
    }
}

Launch TcpJob::launchOf(int rank, int ranks) const {
  Launch launch;
  launch.rank = launch.localRank = rank;
  launch.ranks = launch.localRanks = ranks;
  launch.master = {"127.0.0.1", masterPort};
  launch.isPortTaken = true;
  launch.job = concat("test ", masterPort);
  return launch;
}

int TcpJob::fork(const std::function<void()> &work) {
  std::fflush(nullptr);
  std::FILE *errors = std::tmpfile();
  pid_t pid = ::fork();
  if (pid == 0) {
    dup2(fileno(errors), 2);
    int code = 0;
    try {
      work();
    } catch (const Error &error) {
      std::fprintf(stderr, "error: %s%s\n", messagePrefix().c_str(), error.what());
      code = 1;
    }
    std::fflush(nullptr);
    _exit(code);
  }
  processes.push_back({pid, errors});
  return static_cast<int>(processes.size()) - 1;
}

int TcpJob::start(const Launch &launch, const Body &body) {
  JoinOptions joinOptions = options;
  return fork([=] {
    std::unique_ptr<Communicator> communicator = createTcpCommunicator(launch, joinOptions);
    body(*communicator);
    communicator->finish();
  });
}

std::string TcpJob::errorsOf(int number) const {
  std::string text;
  char bytes[4096];
  int file = fileno(processes[number].errors);
  for (ssize_t count; (count = pread(file, bytes, sizeof(bytes), off_t(text.size()))) > 0;)
    text.append(bytes, static_cast<size_t>(count));
  return text;
}

void TcpJob::waitForText(int number, const std::string &text) const {
  while (errorsOf(number).find(text) == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

RankEnd TcpJob::wait(int number) {
  Process &process = processes[number];
  int status = 0;
  waitpid(process.pid, &status, 0);
  process.pid = -1;
  RankEnd end{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), errorsOf(number)};
  std::fclose(process.errors);
  return end;
}

void TcpJob::stop(int number) {
  kill(processes[number].pid, SIGKILL);
  wait(number);
}

std::vector<RankEnd> TcpJob::runJob(int ranks, const Body &body) {
  std::vector<int> numbers;
  for (int rank = 0; rank < ranks; ++rank)
    numbers.push_back(start(launchOf(rank, ranks), body));
  std::vector<RankEnd> ends;
  for (int number : numbers)
    ends.push_back(wait(number));
  return ends;
}

Socket TcpJob::connectToFirst(std::string &challenge) const {
  Launch launch = launchOf(1, 2);
  std::string problem;
  // For as long as ctest waits: rank 0 may not have begun yet.
  for (;;) {
    for (int port : launch.ports()) {
      auto soon = Clock::now() + std::chrono::seconds(60);
      Socket socket = connectTo({"127.0.0.1", port}, soon, problem);
      challenge.assign(Challenge::bytes, '\0');
      if (!socket.isOpen() ||
          readAll(socket, challenge.data(), challenge.size(), soon) != Transfer::Done)
        continue;
      std::optional<Challenge> found = Challenge::decode(challenge, problem);
      if (found && areEqual(found->job, digestOf(launch.job)))
        return socket;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void expectText(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in\n" << text;
}

void require(bool condition, const std::string &what) {
  if (!condition)
    raise("requirement failed: ", what);
}

} // namespace ulsc::test

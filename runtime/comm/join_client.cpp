// The side of the ranks that come to rank 0.
#include "comm/join_messages.h"
#include "core/error.h"

#include <algorithm>
#include <thread>

#include <unistd.h>

namespace ulsc::runtime {

namespace {

// One connection's: rank 0 answers at once, but on a busy machine that may take a while. Then the
// next attempt may find it idle.
constexpr auto connectTime = std::chrono::seconds(5), answerTime = std::chrono::seconds(60);
// Rank 0 counts its own time from its own start, so that it says first who is missing.
constexpr auto patience = std::chrono::seconds(60);

class Visit {
public:
  Visit(const Launch &launch, const JoinOptions &options)
      : launch(launch), options(options),
        deadline(Clock::now() +
                 std::chrono::milliseconds(static_cast<int64_t>(options.timeoutSeconds * 1000))) {
    char name[256] = "";
    gethostname(name, sizeof(name) - 1);
    own = {name, getpid()};
  }

  JoinedJob run(bool onlyLoopback);

private:
  /// A connection on which rank 0 has accepted this one; else `problem` says why not yet.
  Socket tryAt(const Place &place);
  bool isOurs(const Challenge &challenge, const Place &place);
  std::optional<Answer> readAnswer(const Socket &socket, Clock::time_point until);
  JoinedJob waitForAll(Socket socket);

  const Launch &launch;
  const JoinOptions &options;
  Clock::time_point deadline;
  Member own;
  Digest firstNonce{}, nonce{};
  bool hasConnected = false;
  std::string problem;
  std::string answered; // the problem of the last connection that there was
};

[[noreturn]] void refuseSecret(const Place &place, bool hereIsOne, bool thereIsOne) {
  const char *difference = !hereIsOne    ? "has a job secret, and this rank has none"
                           : !thereIsOne ? "has no job secret, and this rank has one"
                                         : "has another job secret than this rank";
  raise("rank 0 at ", place.text(), " ", difference, "; set ", secretVariable, " or ",
        secretFileVariable, " to the same secret on all ranks");
}

bool Visit::isOurs(const Challenge &challenge, const Place &place) {
  if (!areEqual(challenge.job, digestOf(launch.job))) {
    problem = concat("rank 0 of another job waits at ", place.text());
    return false;
  }
  if (challenge.hasSecret == options.secret.empty())
    refuseSecret(place, !options.secret.empty(), challenge.hasSecret);
  return true;
}

std::optional<Answer> Visit::readAnswer(const Socket &socket, Clock::time_point until) {
  char prefix[prefixBytes];
  std::string text;
  problem = "the connection to rank 0 was closed";
  Transfer result = readAll(socket, prefix, sizeof(prefix), until);
  if (result == Transfer::Done) {
    size_t size = decodeSize(prefix);
    if (size > mostAnswerBytes) {
      problem = "what listens there is not a rank of a program";
      return std::nullopt;
    }
    // As much as has come, not as much as was announced, takes memory.
    constexpr size_t piece = 65536;
    while (result == Transfer::Done && text.size() < size) {
      size_t begin = text.size();
      text.resize(std::min(size, begin + piece));
      result = readAll(socket, text.data() + begin, text.size() - begin, until);
    }
  }
  if (result == Transfer::Late)
    problem = "rank 0 does not answer";
  if (result != Transfer::Done)
    return std::nullopt;
  problem = "what listens there does not know the job's secret";
  return decodeAnswer(text, options.secret, firstNonce, nonce);
}

Socket Visit::tryAt(const Place &place) {
  Socket socket = connectTo(place, std::min(deadline, Clock::now() + connectTime), problem);
  hasConnected = socket.isOpen();
  if (!hasConnected)
    return socket;
  std::string text(Challenge::bytes, '\0');
  problem = "what listens there is not a rank of a program";
  Transfer result =
      readAll(socket, text.data(), text.size(), std::min(deadline, Clock::now() + connectTime));
  if (result != Transfer::Done)
    return Socket();
  std::optional<Challenge> challenge = Challenge::decode(text, problem);
  if (!challenge || !isOurs(*challenge, place))
    return Socket();
  firstNonce = challenge->nonce;
  nonce = drawNonce();
  std::string request = encodeRequest({launch.rank, launch.ranks, options.program, own},
                                      options.secret, firstNonce, nonce);
  if (!writeAll(socket, request.data(), request.size())) {
    problem = "the connection to rank 0 was closed";
    return Socket();
  }
  std::optional<Answer> answer =
      readAnswer(socket, std::min(deadline + patience, Clock::now() + answerTime));
  if (!answer)
    return Socket();
  if (answer->kind == Answer::WrongSecret)
    refuseSecret(place, true, true);
  if (answer->kind != Answer::Accepted)
    throw Error(answer->text);
  return socket;
}

JoinedJob Visit::waitForAll(Socket socket) {
  keepAlive(socket);
  std::optional<Answer> answer = readAnswer(socket, deadline + patience);
  if (!answer)
    raise("rank 0 at ", launch.master.address,
          " has ended or is stuck before all ranks had joined (", problem,
          "); look at what rank 0 prints");
  if (answer->kind != Answer::Started)
    throw Error(answer->text);
  JoinedJob job;
  job.members = decodeMembers(answer->text);
  if (static_cast<int>(job.members.size()) != launch.ranks)
    raise("rank 0 sent a list of ", job.members.size(), " ranks, but there are ", launch.ranks);
  job.links.push_back(std::move(socket));
  return job;
}

JoinedJob Visit::run(bool onlyLoopback) {
  auto pause = std::chrono::milliseconds(20);
  Place place = launch.master;
  do {
    for (int port : launch.ports()) {
      place = {onlyLoopback ? "127.0.0.1" : launch.master.address, port};
      if (Socket socket = tryAt(place); socket.isOpen())
        return waitForAll(std::move(socket));
      if (hasConnected)
        answered = problem;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(1000));
  } while (Clock::now() < deadline);
  std::string ports = launch.isPortTaken
                          ? concat("the ", portsTried, " ports beside ", launch.master.text())
                          : place.text();
  raise("rank 0 is missing: it was not found at ", ports, " within ", options.timeoutSeconds,
        " s (", answered.empty() ? problem : answered,
        "); look at what rank 0 prints, at MASTER_ADDR and MASTER_PORT, and whether a firewall is "
        "between, or give it more time by --join-timeout");
}

} // namespace

std::string Member::text() const { return concat(host, ", process ", process); }

std::string listRanks(const std::vector<int> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i;
    while (end + 1 < ranks.size() && ranks[end + 1] == ranks[end] + 1)
      ++end;
    text += concat(i ? ", " : "", ranks[i]);
    if (end > i)
      text += concat(end == i + 1 ? ", " : " to ", ranks[end]);
    i = end + 1;
  }
  return text;
}

JoinedJob goToFirstRank(const Launch &launch, const JoinOptions &options, bool onlyLoopback) {
  return Visit(launch, options).run(onlyLoopback);
}

JoinedJob joinJob(const Launch &launch, const JoinOptions &options) {
  bool onlyLoopback = launch.isOnOneMachine() || isLoopback(launch.master.address);
  if (options.secret.empty() && !onlyLoopback)
    raise("ranks on several machines need a job secret, or anyone who reaches ",
          launch.master.text(), " could join; set ", secretVariable,
          " to the same secret on all ranks ('openssl rand -hex 32' makes one), or ",
          secretFileVariable,
          " to a file that holds it. A job on one machine needs none: LOCAL_WORLD_SIZE is "
          "WORLD_SIZE then");
  return launch.rank == 0 ? gatherRanks(launch, options, onlyLoopback)
                          : goToFirstRank(launch, options, onlyLoopback);
}

} // namespace ulsc::runtime

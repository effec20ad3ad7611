// Who joins a job, who is refused, and what is said when somebody is missing.
#include "tcp_job.h"

#include "comm/join_messages.h"
#include "core/error.h"

#include <csignal>
#include <random>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ulsc::runtime;
using namespace ulsc::test;

namespace {

void meet(Communicator &communicator) { communicator.barrier(); }

class Join : public TcpJob {
protected:
  /// A rank with other options than the job's.
  int startOther(const Launch &launch, const JoinOptions &others) {
    JoinOptions own = options;
    options = others;
    int number = start(launch, meet);
    options = own;
    return number;
  }

  /// One process is refused; then the job begins with all its ranks, as if that one had not been.
  void expectRefused(const Launch &launch, const JoinOptions &others, const std::string &said,
                     const std::string &noted) {
    int first = start(launchOf(0, 2), meet);
    RankEnd refused = wait(startOther(launch, others));
    EXPECT_EQ(refused.exitCode, 1);
    expectText(refused.errors, said);
    EXPECT_EQ(wait(start(launchOf(1, 2), meet)).exitCode, 0);
    RankEnd end = wait(first);
    EXPECT_EQ(end.exitCode, 0) << end.errors;
    if (noted.empty())
      EXPECT_EQ(end.errors, "");
    else
      expectText(end.errors, noted);
  }

  /// Strangers come while rank 0 waits; then the job begins all the same.
  void expectUnimpressed(const std::function<std::vector<Socket>()> &visit) {
    int first = start(launchOf(0, 2), meet);
    std::vector<Socket> strangers = visit();
    EXPECT_EQ(wait(start(launchOf(1, 2), meet)).exitCode, 0);
    RankEnd end = wait(first);
    EXPECT_EQ(end.exitCode, 0) << end.errors;
  }
};

TEST_F(Join, AnotherSecret) {
  JoinOptions others = options;
  others.secret = "another secret that is long enough";
  expectRefused(launchOf(1, 2), others, "has another job secret than this rank",
                "its job secret is not that of rank 0");
}

TEST_F(Join, ASecretOnOneSideOnly) {
  JoinOptions others = options;
  others.secret = "";
  expectRefused(launchOf(1, 2), others, "has a job secret, and this rank has none; set", "");
  std::swap(options.secret, others.secret);
  expectRefused(launchOf(1, 2), others, "has no job secret, and this rank has one; set", "");
}

TEST_F(Join, OnOneMachineWithoutASecret) {
  options.secret = "";
  for (const RankEnd &end : runJob(3, meet))
    EXPECT_EQ(end.exitCode, 0) << end.errors;
}

TEST_F(Join, AnotherProgram) {
  JoinOptions others = options;
  others.program = {"fedcba9876543210", "other model on mesh dp=2"};
  expectRefused(launchOf(1, 2), others,
                "its program is not that of rank 0: it trains other model on mesh dp=2, manifest "
                "fedcba987654, and rank 0 model on mesh dp=2, manifest 0123456789ab; start all "
                "ranks with one executable",
                "rank 1 (");
}

TEST_F(Join, AnotherNumberOfRanks) {
  expectRefused(launchOf(2, 3), options,
                "it was started as one of 3 ranks, but rank 0 as one of 2; start all with one "
                "WORLD_SIZE",
                "was refused: it was started as one of 3 ranks");
}

TEST_F(Join, ARankThatIsNotThere) {
  expectRefused(launchOf(2, 2), options, "there is no such rank: the job has ranks 0 to 1",
                "rank 2 (");
  expectRefused(launchOf(-1, 2), options, "there is no such rank: the job has ranks 0 to 1",
                "rank -1 (");
}

TEST_F(Join, ARankThatIsThereAlready) {
  int first = start(launchOf(0, 3), meet);
  int twins[] = {start(launchOf(1, 3), meet), start(launchOf(1, 3), meet)};
  // Which of them is refused depends on who came first; the other one waits for rank 2.
  int refused = -1;
  siginfo_t info{};
  ASSERT_EQ(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
  for (int i : {0, 1})
    if (pidOf(twins[i]) == info.si_pid)
      refused = i;
  ASSERT_GE(refused, 0);
  RankEnd end = wait(twins[refused]);
  EXPECT_EQ(end.exitCode, 1);
  expectText(end.errors, "rank 1 is already there: ");
  expectText(end.errors, "process " + std::to_string(pidOf(twins[1 - refused])) +
                             "; give each process a RANK of its own");
  EXPECT_EQ(wait(start(launchOf(2, 3), meet)).exitCode, 0);
  EXPECT_EQ(wait(twins[1 - refused]).exitCode, 0);
  EXPECT_EQ(wait(first).exitCode, 0);
}

TEST_F(Join, ARankThatEndsWhileItWaitsMayComeAgain) {
  int first = start(launchOf(0, 3), meet);
  JoinOptions own = options;
  int early = fork([=, launch = launchOf(1, 3)] {
    // As joinJob does, up to the answer: then it is killed.
    std::string problem, challenge;
    Socket socket = connectToFirst(challenge);
    Digest nonce = drawNonce(), firstNonce = Challenge::decode(challenge, problem)->nonce;
    std::string request =
        encodeRequest({1, 3, own.program, {"host", 1}}, own.secret, firstNonce, nonce);
    writeAll(socket, request.data(), request.size());
    char bytes[prefixBytes];
    auto late = Clock::now() + std::chrono::hours(1);
    require(readAll(socket, bytes, sizeof(bytes), late) == Transfer::Done, "an answer");
    kill(getpid(), SIGKILL);
  });
  wait(early);
  waitForText(first, "rank 1 (host, process 1) has ended before all were there");
  int again = start(launchOf(1, 3), meet);
  EXPECT_EQ(wait(start(launchOf(2, 3), meet)).exitCode, 0);
  EXPECT_EQ(wait(again).exitCode, 0);
  EXPECT_EQ(wait(first).exitCode, 0);
}

//===---------------------------------------------------------------------------------------===//
// Strangers
//===---------------------------------------------------------------------------------------===//

TEST_F(Join, ConnectionsThatSayNothing) {
  expectUnimpressed([&] {
    std::vector<Socket> strangers;
    std::string challenge;
    for (int i = 0; i < 3; ++i)
      strangers.push_back(connectToFirst(challenge));
    char half[2] = {9, 0}; // half of a size
    writeAll(strangers[1], half, sizeof(half));
    return strangers;
  });
}

TEST_F(Join, MoreConnectionsThanAreKept) {
  expectUnimpressed([&] {
    std::vector<Socket> strangers;
    std::string challenge;
    for (int i = 0; i < 300; ++i)
      strangers.push_back(connectToFirst(challenge));
    return strangers;
  });
}

TEST_F(Join, BytesOfScanners) {
  std::mt19937 random(7);
  std::vector<std::string> texts = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                    std::string("\x16\x03\x01\x02\0\x01\0", 7),
                                    std::string(4, '\xff'),
                                    std::string(4, '\0'),
                                    std::string("\x20\0\0\0", 4) + std::string(32, 'x'),
                                    std::string("\0\x10\0\0", 4) + std::string(4096, 'x'),
                                    std::string(1 << 20, 'y')};
  for (int i = 0; i < 40; ++i) {
    std::string text(random() % 300, '\0');
    for (char &byte : text)
      byte = static_cast<char>(random());
    texts.push_back(text);
  }
  expectUnimpressed([&] {
    std::vector<Socket> strangers;
    for (const std::string &text : texts) {
      std::string challenge;
      strangers.push_back(connectToFirst(challenge));
      writeAll(strangers.back(), text.data(), text.size());
    }
    return strangers;
  });
}

/// What is authentic in one connection proves nothing in another.
TEST_F(Join, ARequestThatWasOverheard) {
  expectUnimpressed([&] {
    std::string challenge, problem;
    Socket once = connectToFirst(challenge);
    Digest nonce = drawNonce(), heard = Challenge::decode(challenge, problem)->nonce;
    std::string request =
        encodeRequest({1, 2, options.program, {"host", 1}}, options.secret, heard, nonce);
    std::vector<Socket> strangers;
    strangers.push_back(connectToFirst(challenge));
    writeAll(strangers[0], request.data(), request.size());
    std::string answer(prefixBytes + 1, '\0');
    EXPECT_EQ(
        readAll(strangers[0], answer.data(), answer.size(), Clock::now() + std::chrono::hours(1)),
        Transfer::Done);
    EXPECT_EQ(answer.back(), Answer::WrongSecret);
    return strangers;
  });
}

/// Whoever waits where rank 0 should be must know the secret, too.
TEST_F(Join, AnImpostorInThePlaceOfTheFirst) {
  options.timeoutSeconds = 2;
  int port = 0;
  std::string problem;
  Launch launch = launchOf(1, 2);
  Socket listener = listenOn(launch.ports(), true, port, problem);
  ASSERT_TRUE(listener.isOpen()) << problem;
  std::string title;
  int impostor = fork([&] {
    for (;;) {
      std::string peer;
      Socket socket = acceptFrom(listener, peer);
      if (!socket.isOpen()) {
        usleep(1000);
        continue;
      }
      Challenge challenge{digestOf(launch.job), drawNonce(), true};
      writeAll(socket, challenge.encode().data(), Challenge::bytes);
      std::string answer =
          encodeAnswer({Answer::Accepted, ""}, "a secret of its own, which is long",
                       challenge.nonce, drawNonce());
      writeAll(socket, answer.data(), answer.size());
      drain({&socket}, 1);
    }
  });
  // Where the machine is slow it may not get as far as an answer in these seconds.
  RankEnd end;
  do {
    end = wait(start(launch, meet));
    EXPECT_EQ(end.exitCode, 1);
    options.timeoutSeconds *= 2;
  } while (end.errors.find("does not know the job's secret") == std::string::npos &&
           options.timeoutSeconds < 600);
  expectText(end.errors, "rank 0 is missing: it was not found at the 16 ports beside 127.0.0.1:");
  expectText(end.errors, "what listens there does not know the job's secret");
  stop(impostor);
}

//===---------------------------------------------------------------------------------------===//
// Missing ranks
//===---------------------------------------------------------------------------------------===//

TEST_F(Join, MissingRanksAreNamedOnAllThatCame) {
  // On a slow machine others may be late, too: then with more time.
  for (options.timeoutSeconds = 1; options.timeoutSeconds < 600; options.timeoutSeconds *= 2) {
    std::vector<int> numbers;
    for (int rank : {0, 1, 3})
      numbers.push_back(start(launchOf(rank, 6), meet));
    std::vector<RankEnd> ends;
    for (int number : numbers)
      ends.push_back(wait(number));
    bool areAll = ends[0].errors.find("ranks 2, 4, 5 have not joined within ") != std::string::npos;
    if (!areAll)
      continue;
    std::string said = ends[0].errors.substr(ends[0].errors.find("ranks 2"));
    for (const char *part : {"there are rank 0 (", ", rank 1 (", ", rank 3 (", "--join-timeout"})
      expectText(said, part);
    EXPECT_EQ(ends[0].exitCode, 1);
    EXPECT_EQ(ends[1].exitCode, 1);
    EXPECT_EQ(ends[1].errors, "error: rank 1: " + said);
    EXPECT_EQ(ends[2].errors, "error: rank 3: " + said);
    return;
  }
  FAIL() << "three ranks did not come together in minutes";
}

TEST_F(Join, TheFirstIsMissing) {
  options.timeoutSeconds = 1;
  RankEnd end = wait(start(launchOf(1, 2), meet));
  EXPECT_EQ(end.exitCode, 1);
  expectText(end.errors, "error: rank 1: rank 0 is missing: it was not found at the 16 ports "
                         "beside 127.0.0.1:");
  expectText(end.errors, "within 1 s (Connection refused); look at what rank 0 prints");
}

TEST_F(Join, APortThatIsTaken) {
  Launch launch = launchOf(0, 2);
  launch.isPortTaken = false; // nobody said that the agent listens there
  RankEnd end = wait(start(launch, meet));
  EXPECT_EQ(end.exitCode, 1);
  expectText(end.errors, "can't wait for the other ranks on port " +
                             std::to_string(launch.master.port) +
                             " (MASTER_PORT): Address already in use; set MASTER_PORT to a free "
                             "port, such as ");
}

TEST_F(Join, SeveralMachinesNeedASecret) {
  options.secret = "";
  for (int rank : {0, 1}) {
    Launch launch = launchOf(rank, 2);
    launch.localRanks = 1;
    launch.master.address = "node0";
    RankEnd end = wait(start(launch, meet));
    EXPECT_EQ(end.exitCode, 1);
    expectText(end.errors, "ranks on several machines need a job secret, or anyone who reaches "
                           "node0:");
    expectText(end.errors, "set ULSC_JOB_SECRET to the same secret on all ranks");
  }
}

//===---------------------------------------------------------------------------------------===//
// Messages
//===---------------------------------------------------------------------------------------===//

TEST(JoinMessages, NothingButTheRequestItselfIsTaken) {
  Digest firstNonce = drawNonce(), ownNonce = drawNonce(), nonce;
  JoinRequest request{3, 8, {"digest", "title"}, {"host", 4}}, found;
  std::string whole = encodeRequest(request, "secret", firstNonce, ownNonce).substr(prefixBytes);
  ASSERT_EQ(decodeRequest(whole, "secret", firstNonce, nonce, found), RequestFault::None);
  EXPECT_EQ(found.rank, 3);
  EXPECT_EQ(found.member.text(), "host, process 4");
  EXPECT_TRUE(areEqual(nonce, ownNonce));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(decodeRequest(whole.substr(0, size), "secret", firstNonce, nonce, found),
              RequestFault::None);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_EQ(decodeRequest(changed, "secret", firstNonce, nonce, found),
              RequestFault::WrongSecret);
  }
  EXPECT_EQ(decodeRequest(whole, "Secret", firstNonce, nonce, found), RequestFault::WrongSecret);
  EXPECT_EQ(decodeRequest(whole, "secret", drawNonce(), nonce, found), RequestFault::WrongSecret);
}

TEST(JoinMessages, AnswersBelongToOneRequest) {
  Digest firstNonce = drawNonce(), nonce = drawNonce();
  std::string whole =
      encodeAnswer({Answer::Failed, "why"}, "secret", firstNonce, nonce).substr(prefixBytes);
  ASSERT_TRUE(decodeAnswer(whole, "secret", firstNonce, nonce));
  EXPECT_EQ(decodeAnswer(whole, "secret", firstNonce, nonce)->text, "why");
  EXPECT_FALSE(decodeAnswer(whole, "secret", firstNonce, drawNonce()));
  EXPECT_FALSE(decodeAnswer(whole, "secret", drawNonce(), nonce));
  EXPECT_FALSE(decodeAnswer(whole, "other", firstNonce, nonce));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decodeAnswer(whole.substr(0, size), "secret", firstNonce, nonce));
  // Nor does a request answer itself.
  std::string request =
      encodeRequest({1, 2, {"", ""}, {"", 1}}, "secret", firstNonce, nonce).substr(prefixBytes);
  EXPECT_FALSE(decodeAnswer(request, "secret", firstNonce, nonce));
}

TEST(JoinMessages, RanksAreListedInRuns) {
  EXPECT_EQ(listRanks({2}), "rank 2");
  EXPECT_EQ(listRanks({1, 2}), "ranks 1, 2");
  EXPECT_EQ(listRanks({1, 3, 4, 5, 9}), "ranks 1, 3 to 5, 9");
}

} // namespace

// What ranks that joined without MPI say to each other, and how their job ends.
#include "tcp_job.h"

#include "comm/job_secret.h"
#include "core/error.h"

#include <csignal>
#include <numeric>

#include <sys/socket.h>
#include <unistd.h>

using namespace ulsc::runtime;
using namespace ulsc::test;

namespace {

class TcpCommunicator : public TcpJob {
protected:
  void expectAllPass(const std::vector<RankEnd> &ends) {
    for (const RankEnd &end : ends)
      EXPECT_EQ(end.exitCode, 0) << end.errors;
  }
};

std::string patternOf(int rank, int64_t bytes) {
  std::string text(static_cast<size_t>(bytes), '\0');
  for (size_t i = 0; i < text.size(); ++i)
    text[i] = static_cast<char>(i * 7 + i / 251 + static_cast<size_t>(rank));
  return text;
}

void useAll(Communicator &communicator) {
  int rank = communicator.rank(), ranks = communicator.ranks();
  require(communicator.localRank() == rank && communicator.localRanks() == ranks, "local ranks");
  communicator.barrier();
  require(communicator.minimum(rank == ranks - 1 ? -7 : rank) == -7, "minimum");
  require(communicator.maximum(0.5 + rank) == ranks - 0.5, "maximum");
  std::vector<uint64_t> all = communicator.gather(100 + static_cast<uint64_t>(rank));
  for (int other = 0; other < ranks; ++other)
    require(all[other] == 100 + static_cast<uint64_t>(other), "gather");
  for (int64_t bytes : {int64_t(0), int64_t(1), int64_t(3) << 20}) {
    std::string text = rank == 0 ? patternOf(5, bytes) : "something else";
    communicator.broadcast(text);
    require(text == patternOf(5, bytes), "broadcast");
  }
}

TEST_F(TcpCommunicator, DoesAllOnAnyNumberOfRanks) {
  for (int ranks : {1, 2, 3, 7})
    expectAllPass(runJob(ranks, useAll));
}

// The first rank asks for them one after the other, while the others are long done sending.
TEST_F(TcpCommunicator, LargeMessagesWaitForTheirReceiver) {
  const int64_t bytes = (int64_t(21) << 20) + 13;
  expectAllPass(runJob(4, [=](Communicator &communicator) {
    int rank = communicator.rank();
    if (rank != 0) {
      communicator.send(patternOf(rank, bytes).data(), bytes, 0);
      return;
    }
    for (int source = 3; source > 0; --source) {
      std::string text(static_cast<size_t>(bytes), '\0');
      communicator.receive(text.data(), bytes, source);
      require(text == patternOf(source, bytes), "message");
    }
  }));
}

TEST_F(TcpCommunicator, RanksReachEachOtherThroughTheFirst) {
  const int64_t bytes = int64_t(12) << 20;
  expectAllPass(runJob(3, [=](Communicator &communicator) {
    std::string text = patternOf(communicator.rank(), bytes);
    if (communicator.rank() == 2)
      communicator.send(text.data(), bytes, 1);
    if (communicator.rank() != 1)
      return;
    communicator.receive(text.data(), bytes, 2);
    require(text == patternOf(2, bytes), "message");
  }));
}

TEST_F(TcpCommunicator, AnErrorOnOneRankIsOneOnAll) {
  std::vector<RankEnd> ends = runJob(3, [](Communicator &communicator) {
    try {
      onAllRanks(communicator, [&] {
        if (communicator.rank() == 1)
          raise("no such file");
      });
    } catch (const Error &error) {
      communicator.finish();
      throw;
    }
  });
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ends[rank].exitCode, 1);
    EXPECT_EQ(ends[rank].errors,
              "error: rank " + std::to_string(rank) + ": " + (rank == 1 ? "no such file\n" : "\n"));
  }
}

/// All end; those who did not end themselves say who did.
void expectEnds(const std::vector<RankEnd> &ends, int culprit, const std::string &text) {
  for (int rank = 0; rank < static_cast<int>(ends.size()); ++rank) {
    SCOPED_TRACE(rank);
    EXPECT_NE(ends[rank].exitCode, 0);
    if (rank == culprit)
      continue;
    EXPECT_EQ(ends[rank].exitCode, 1) << ends[rank].errors;
    expectText(ends[rank].errors, "error: rank " + std::to_string(rank) + ": ");
    expectText(ends[rank].errors, "rank " + std::to_string(culprit) + " (");
    expectText(ends[rank].errors, text);
  }
}

TEST_F(TcpCommunicator, AKilledRankEndsTheOthersWhateverTheyWaitFor) {
  for (int culprit : {0, 1, 3})
    expectEnds(runJob(4,
                      [=](Communicator &communicator) {
                        communicator.barrier();
                        if (communicator.rank() == culprit)
                          kill(getpid(), SIGKILL);
                        if (communicator.rank() == 2)
                          for (;;) // as in a collective of a step
                            pause();
                        communicator.barrier();
                      }),
               culprit, "has ended: its connection was closed");
}

TEST_F(TcpCommunicator, ARankThatEndsWithoutGoodbyeEndsTheOthers) {
  expectEnds(runJob(3,
                    [](Communicator &communicator) {
                      if (communicator.rank() == 1)
                        _exit(3);
                    }),
             1, "has ended: its connection was closed");
}

TEST_F(TcpCommunicator, EndingTheJobTellsAllRanksWhy) {
  for (int culprit : {0, 2}) {
    std::vector<RankEnd> ends = runJob(3, [=](Communicator &communicator) {
      if (communicator.rank() == culprit)
        endJob("step 3", "loss is nan");
      communicator.barrier();
    });
    expectEnds(ends, culprit, "step 3: loss is nan");
    EXPECT_EQ(ends[culprit].exitCode, 1);
    expectText(ends[culprit].errors, "step 3: loss is nan");
  }
}

TEST_F(TcpCommunicator, BytesThatNoRankSendsEndTheJob) {
  for (uint32_t kind : {0u, 1u, 2u, 99u}) {
    JoinOptions joinOptions = options;
    int first = start(launchOf(0, 2), [](Communicator &communicator) { communicator.barrier(); });
    int second = fork([=, launch = launchOf(1, 2)] {
      JoinedJob job = joinJob(launch, joinOptions);
      // Of a kind that may be there, but for nobody, or longer than any.
      uint32_t words[4] = {kind, 1, kind == 1 ? 77u : 0u, kind == 2 ? 0xffffffffu : 16u};
      writeAll(job.links[0], words, sizeof(words));
      writeAll(job.links[0], words, sizeof(words));
      drain({&job.links[0]}, 600);
    });
    RankEnd end = wait(first);
    EXPECT_EQ(end.exitCode, 1) << end.errors;
    expectText(end.errors, "rank 1 (");
    expectText(end.errors, "sent something that no rank sends");
    wait(second);
  }
}

TEST_F(TcpCommunicator, AMessageOfAnotherSizeEndsTheJob) {
  std::vector<RankEnd> ends = runJob(2, [](Communicator &communicator) {
    char bytes[8] = {};
    if (communicator.rank() == 1)
      communicator.send(bytes, 8, 0);
    else
      communicator.receive(bytes, 4, 1);
    communicator.barrier();
  });
  expectEnds(ends, 0, "a message has 8 bytes, but 4 were expected");
}

TEST_F(TcpCommunicator, OfOneRankNeedsNoOther) {
  std::unique_ptr<Communicator> alone = createTcpCommunicator(Launch(), options);
  EXPECT_EQ(alone->ranks(), 1);
  EXPECT_EQ(alone->localRanks(), 1);
  EXPECT_EQ(alone->minimum(3), 3);
}

} // namespace

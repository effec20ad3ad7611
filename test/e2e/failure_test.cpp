//===- failure_test.cpp - Ends of a run that no one wished for
//---------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <regex>
#include <thread>

using namespace ulsc::test;
namespace fs = std::filesystem;

namespace {

constexpr int kRanks = 4;

class Failure : public testing::Test {
protected:
  void SetUp() override {
    fs::path model = goldenDirectory("llama");
    tokens = model / "tokens.bin";
    program = compile(
        model, {"--seq", "32", "--batch", "16", "--microbatches", "4", "--mesh", "dp=2,tp=2"});
    directory = fs::canonical(scratchDirectory(
        std::string("failure-") + testing::UnitTest::GetInstance()->current_test_info()->name()));
    mark = "ULSC_TEST_MARK=" + directory.string();
  }

  Words command(int steps, Words flags) const {
    flags.insert(flags.end(), {"--data", tokens, "--steps", std::to_string(steps), "--save",
                               directory / "saves", "--metrics", directory / "metrics.jsonl"});
    return launch(program, kRanks, flags, {{"ULSC_TEST_MARK", directory}});
  }

  /// The launcher returns when it has told the ranks to end, which may take them a while.
  void expectNoProcessLeft() const {
    for (int i = 0; i < 600 && !findProcesses(mark).empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_TRUE(findProcesses(mark).empty());
  }

  /// The saves; none is half written.
  std::vector<std::string> expectOnlyPublished() const {
    std::vector<std::string> names = listDirectory(directory / "saves");
    for (const std::string &name : names) {
      EXPECT_TRUE(std::regex_match(name, std::regex("step-[0-9]+"))) << name;
      EXPECT_EQ(listDirectory(directory / "saves" / name).size(), size_t(kRanks + 1)) << name;
    }
    return names;
  }

  /// The program takes each save as it is, to run one more step.
  void expectResumable(const std::vector<std::string> &saves) const {
    for (const std::string &name : saves) {
      int step = std::stoi(name.substr(5));
      Outcome outcome = run(launch(program, kRanks,
                                   {"--data", tokens, "--steps", std::to_string(step + 1),
                                    "--resume", directory / "saves" / name}));
      EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
    }
  }

  fs::path tokens, program, directory;
  std::string mark;
};

TEST_F(Failure, LossThatIsNotFiniteNamesStepRankAndValue) {
  Outcome outcome = run(command(50, {"--lr", "1e20", "--save-every", "1", "--clip-grad", "0"}));
  EXPECT_NE(outcome.exitCode, 0);
  std::smatch found;
  ASSERT_TRUE(std::regex_search(
      outcome.output, found,
      std::regex("rank ([0-3]): step ([0-9]+): (loss|grad norm) is (-?nan|-?inf) on rank ([0-3])")))
      << outcome.output;
  EXPECT_EQ(found[1], found[5]);
  // Steps before it are recorded and saved, the failed one is not.
  int step = std::stoi(found[2]);
  EXPECT_EQ(readMetrics(directory / "metrics.jsonl").size(), size_t(step - 1));
  for (const std::string &name : expectOnlyPublished())
    EXPECT_LT(std::stoi(name.substr(5)), step) << name;
  expectNoProcessLeft();
}

/// Without mpirun's help each rank still has its own exit code: none is zero.
TEST_F(Failure, LossThatIsNotFiniteFailsOnEveryRank) {
  fs::path script = directory / "rank.sh";
  Words words = command(50, {"--lr", "1e20", "--clip-grad", "0"});
  auto at = std::find(words.begin(), words.end(), program.string());
  words.insert(at, {"sh", "-c",
                    "\"$@\"; code=$?; echo $code > " + directory.string() +
                        "/code.$OMPI_COMM_WORLD_RANK; exit $code",
                    "sh"});
  EXPECT_NE(run(words).exitCode, 0);
  expectNoProcessLeft();
  // Ranks that the launcher ends first can't say theirs any more.
  int codes = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    fs::path file = directory / ("code." + std::to_string(rank));
    if (!fs::exists(file) || fs::file_size(file) == 0)
      continue;
    ++codes;
    EXPECT_NE(std::stoi(readBytes(file)), 0) << "rank " << rank;
  }
  EXPECT_GT(codes, 0);
}

TEST_F(Failure, InterruptedLauncherLeavesNothingBehind) {
  // By default the launcher sends SIGKILL a second after SIGTERM, which a slow machine may need.
  Process process(command(100000, {"--save-every", "50"}),
                  {{"OMPI_MCA_odls_base_sigkill_timeout", "5"}});
  ASSERT_TRUE(process.waitFor("step 60/"));
  ASSERT_EQ(findProcesses(mark).size(), size_t(kRanks));
  kill(process.getPid(), SIGINT);
  Outcome outcome = process.wait();
  EXPECT_NE(outcome.exitCode, 0);
  expectNoProcessLeft();
  std::vector<std::string> saves = expectOnlyPublished();
  EXPECT_FALSE(saves.empty());
  expectResumable(saves);
}

TEST_F(Failure, KilledRankEndsTheOthers) {
  Process process(command(100000, {"--save-every", "50"}));
  ASSERT_TRUE(process.waitFor("step 60/"));
  std::vector<pid_t> ranks = findProcesses(mark, 1);
  ASSERT_EQ(ranks.size(), 1u);
  kill(ranks[0], SIGKILL);
  Outcome outcome = process.wait();
  EXPECT_NE(outcome.exitCode, 0) << outcome.output;
  expectNoProcessLeft();
}

} // namespace

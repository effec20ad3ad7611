//===- checkpoint_test.cpp - A run killed at any write of a save goes on as if it had not been ===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// A shim before libc's functions on files (test/shim/file_shim.cpp) lists what a save changes and
// ends a rank by SIGKILL at one of these operations, a write when half of it is done. Whatever the
// place, the run that resumes has to compute the same bits as one that was never interrupted.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

using namespace ulsc::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int kRanks = 4, kFinalStep = 4;

class Checkpoint : public testing::Test {
protected:
  static void SetUpTestSuite() {
    fs::path model = goldenDirectory("llama");
    tokens = model / "tokens.bin";
    program = compile(model, {"--seq", "16", "--batch", "8", "--microbatches", "4", "--mesh",
                              "dp=2,tp=2", "--dropout", "on"});
    root = fs::canonical(scratchDirectory("checkpoint"));
    for (auto [name, steps] : {std::pair("whole", kFinalStep), std::pair("two", 2)}) {
      Outcome outcome = resumeTo(steps, name);
      ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
    }
  }

  static fs::path saves(const std::string &name) { return root / name / "saves"; }

  /// Runs to `steps` from the newest save, if there is one.
  static Outcome resumeWith(int steps, const std::string &name, const Environment &environment) {
    fs::create_directories(root / name);
    return run(launch(program, kRanks,
                      {"--data", tokens, "--steps", std::to_string(steps), "--dropout", "0.1",
                       "--seed", "5", "--save", saves(name), "--save-every", "1", "--resume",
                       "auto", "--metrics", root / name / "metrics.jsonl"},
                      environment));
  }

  /// The same, `rank` being killed at its `killAt`-th operation; 0: not at all.
  static Outcome resumeTo(int steps, const std::string &name, int rank = 0, int killAt = 0) {
    if (killAt == 0)
      return resumeWith(steps, name, {});
    return resumeWith(steps, name,
                      preload("ulsc_file_shim", {{"ULSC_FILE_BELOW", saves(name)},
                                                 {"ULSC_FILE_RANK", std::to_string(rank)},
                                                 {"ULSC_FILE_KILL_AT", std::to_string(killAt)}}));
  }

  static void copyRun(const std::string &from, const std::string &to) {
    fs::remove_all(root / to);
    fs::copy(root / from, root / to, fs::copy_options::recursive);
  }

  /// The run `name` got to the end and equals the uninterrupted one.
  static void expectWhole(const std::string &name) {
    std::vector<StepMetrics> actual = readMetrics(root / name / "metrics.jsonl"),
                             expected = readMetrics(root / "whole" / "metrics.jsonl");
    ASSERT_EQ(actual.size(), size_t(kFinalStep));
    ASSERT_EQ(expected.size(), size_t(kFinalStep));
    for (int i = 0; i < kFinalStep; ++i) {
      EXPECT_EQ(actual[i].step, i + 1);
      EXPECT_EQ(actual[i].loss, expected[i].loss) << "step " << i + 1;
      EXPECT_EQ(actual[i].gradNorm, expected[i].gradNorm) << "step " << i + 1;
    }
    EXPECT_EQ(listDirectory(saves(name)), (std::vector<std::string>{"step-3", "step-4"}));
    std::vector<std::string> files = listDirectory(saves("whole") / "step-4");
    EXPECT_EQ(files.size(), size_t(kRanks + 1)) << "a file of each rank and state.json";
    EXPECT_EQ(listDirectory(saves(name) / "step-4"), files);
    for (const std::string &file : files) {
      EXPECT_TRUE(readBytes(saves(name) / "step-4" / file) ==
                  readBytes(saves("whole") / "step-4" / file))
          << file;
      // The state also says to which step the run was meant to go.
      if (fs::path(file).extension() == ".safetensors")
        EXPECT_TRUE(readBytes(saves(name) / "step-3" / file) ==
                    readBytes(saves("whole") / "step-3" / file))
            << file;
    }
  }

  /// Goes on from step 2, is killed in the save of step 3, and goes on again.
  static void expectSurvival(int rank, int killAt, const std::string &what) {
    SCOPED_TRACE("rank " + std::to_string(rank) + " killed at its operation " +
                 std::to_string(killAt) + ", " + what);
    copyRun("two", "killed");
    Outcome killed = resumeTo(3, "killed", rank, killAt);
    EXPECT_NE(killed.exitCode, 0) << killed.output;
    Outcome resumed = resumeTo(kFinalStep, "killed");
    EXPECT_EQ(resumed.exitCode, 0) << resumed.output;
    expectWhole("killed");
  }

  /// What each rank changes below the saves when step 3 follows on step 2.
  static const std::vector<std::vector<std::string>> &operations() {
    static const std::vector<std::vector<std::string>> all = [] {
      copyRun("two", "counted");
      Outcome outcome = resumeWith(
          3, "counted",
          preload("ulsc_file_shim", {{"ULSC_FILE_BELOW", saves("counted")},
                                     {"ULSC_FILE_OUT", root / "counted" / "operations.%r"}}));
      EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
      std::vector<std::vector<std::string>> lists;
      for (int rank = 0; rank < kRanks; ++rank)
        lists.push_back(
            readJson(root / "counted" / ("operations." + std::to_string(rank))).at("operations"));
      return lists;
    }();
    return all;
  }

  static fs::path tokens, program, root;
};

fs::path Checkpoint::tokens, Checkpoint::program, Checkpoint::root;

TEST_F(Checkpoint, SaveIsSyncedBeforeItIsPublished) {
  const std::vector<std::string> &list = operations()[0];
  auto find = [&](const std::string &what) {
    size_t place = 0;
    while (place < list.size() && list[place].find(what.c_str()) == std::string::npos)
      ++place;
    EXPECT_LT(place, list.size()) << what;
    return place;
  };
  size_t values = find("sync " + (saves("counted") / "step-3.partial/rank-00000").string());
  size_t state = find("sync " + (saves("counted") / "step-3.partial/state.json").string());
  size_t rename = find("rename " + (saves("counted") / "step-3.partial").string());
  size_t removal = find("rename " + (saves("counted") / "step-1").string());
  EXPECT_LT(values, state);
  EXPECT_LT(state, rename);
  EXPECT_LT(rename, removal) << "the oldest goes only when the new one is there";
}

TEST_F(Checkpoint, ResumesAfterKillAtEveryWriteOfTheFirstRank) {
  const std::vector<std::string> &list = operations()[0];
  ASSERT_GT(list.size(), 15u);
  for (size_t i = 0; i < list.size(); ++i)
    expectSurvival(0, static_cast<int>(i + 1), list[i]);
}

TEST_F(Checkpoint, ResumesAfterKillAtWritesOfOtherRanks) {
  for (int rank = 1; rank < kRanks; ++rank) {
    const std::vector<std::string> &list = operations()[rank];
    ASSERT_GE(list.size(), 4u) << "create, write, sync, close";
    int place = rank % static_cast<int>(list.size());
    expectSurvival(rank, place + 1, list[place]);
  }
}

TEST_F(Checkpoint, ResumesAfterKillInTheFirstSave) {
  // In the file of the rank, before and after it is published.
  for (int killAt : {4, 12, 13}) {
    SCOPED_TRACE(killAt);
    fs::remove_all(root / "killed");
    EXPECT_NE(resumeTo(1, "killed", 0, killAt).exitCode, 0);
    if (killAt <= 12) // a run that begins anew drops no line of an earlier one
      fs::remove(root / "killed" / "metrics.jsonl");
    Outcome resumed = resumeTo(kFinalStep, "killed");
    EXPECT_EQ(resumed.exitCode, 0) << resumed.output;
    EXPECT_EQ(resumed.output.find("beginning anew") == std::string::npos, killAt > 12);
    expectWhole("killed");
  }
}

TEST_F(Checkpoint, ResumesAfterTwoKills) {
  copyRun("two", "killed");
  EXPECT_NE(resumeTo(3, "killed", 0, 4).exitCode, 0);
  // The first operations of the second run clear away what the first left.
  EXPECT_NE(resumeTo(3, "killed", 0, 2).exitCode, 0);
  Outcome resumed = resumeTo(kFinalStep, "killed");
  EXPECT_EQ(resumed.exitCode, 0) << resumed.output;
  expectWhole("killed");
}

} // namespace

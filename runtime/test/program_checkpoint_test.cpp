// Saving, resuming and ends before the last step, on hand-written programs.
#include "fake_run.h"

#include <csignal>
#include <fstream>

using namespace ulsc::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

class Checkpoint : public FakeRun {
protected:
  /// Kills rank 0 at its `killAt`-th change of the saves, then goes on to step 4; returns whether
  /// it got so far.
  bool killAndResume(const std::string &mesh, const std::string &saved, int killAt) const {
    fs::remove_all(path("s"));
    if (!saved.empty())
      fs::copy(path(saved), path("s"), fs::copy_options::recursive);
    Words flags{"--data", tokens, "--save", path("s"), "--resume", "auto", "--save-every", "1"};
    Words first = flags, second = flags;
    first.insert(first.end(), {"--steps", "3"});
    second.insert(second.end(), {"--steps", "4"});
    Environment kill{{"ULSC_FILE_BELOW", path("s")},
                     {"ULSC_FILE_RANK", "0"},
                     {"ULSC_FILE_KILL_AT", std::to_string(killAt)}};
    Outcome died = run(command(mesh, first, preload("ulsc_file_shim", kill)));
    Outcome resumed = run(command(mesh, second));
    EXPECT_EQ(resumed.exitCode, 0) << resumed.output;
    if (!saved.empty() || resumed.output.find("beginning anew") == std::string::npos)
      expectPart(resumed.output, "resume   " + path("s").string() + "/step-");
    expectSameSave("whole-" + mesh + "/step-4", "s/step-4");
    EXPECT_EQ(listDirectory(path("s")), (std::vector<std::string>{"step-3", "step-4"}))
        << "killed at " << killAt;
    return died.exitCode != 0;
  }
};

TEST_F(Checkpoint, ResumeIsBitwise) {
  runProgram("2x2", {"--steps", "6", "--save", path("whole"), "--seed", "3"});
  runProgram("2x2",
             {"--steps", "3", "--save", path("half"), "--seed", "3", "--metrics", path("m")});
  std::string output = runProgram(
      "2x2", {"--steps", "6", "--save", path("half"), "--resume", "auto", "--metrics", path("m")});
  expectPart(output, "half/step-3");
  expectSameSave("whole/step-6", "half/step-6");
  std::vector<int64_t> steps;
  for (const StepMetrics &record : metrics("m"))
    steps.push_back(record.step);
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Checkpoint, ResumeOnAnotherMesh) {
  std::string a = path("a");
  runProgram("2x2", {"--steps", "3", "--save", a});
  runProgram("1x1", {"--steps", "3", "--resume", a, "--export-hf", path("one")});
  runProgram("2x2", {"--steps", "3", "--resume", a + "/step-3", "--export-hf", path("four")});
  EXPECT_TRUE(readBytes(path("one/model.safetensors")) ==
              readBytes(path("four/model.safetensors")));
  runProgram("1x1", {"--steps", "5", "--resume", a, "--save", path("b"), "--metrics", path("m1")});
  runProgram("1x2", {"--steps", "5", "--resume", a, "--metrics", path("m2")});
  std::vector<StepMetrics> one = metrics("m1"), two = metrics("m2");
  ASSERT_EQ(one.size(), two.size());
  ASSERT_FALSE(one.empty());
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_NEAR(one[i].loss, two[i].loss, 1e-6);
}

TEST_F(Checkpoint, KeepsTwoSaves) {
  runProgram("1x1", {"--steps", "7", "--save", path("s"), "--save-every", "2"});
  EXPECT_EQ(listDirectory(path("s")), (std::vector<std::string>{"step-6", "step-7"}));
  expectPart(runProgram("1x1", {"--steps", "2", "--save", path("s")}, 1),
             "already holds a checkpoint of step 7");
}

// Whatever has the name of a save and is not one stays.
TEST_F(Checkpoint, ForeignDirectoriesStay) {
  write("note", "mine");
  auto put = [&](const std::string &name) {
    fs::create_directories(path(name));
    fs::copy_file(path("note"), path(name + "/note"));
  };
  put("s/step-1");
  put("s/step-0");
  std::string errors = runProgram("1x1", {"--steps", "4", "--save", path("s")}, 1);
  expectPart(errors, "s/step-1' has the name of a save, but is not one of this program's");
  expectPart(errors, "move it away");
  fs::rename(path("s/step-1"), path("s/other"));
  runProgram("1x1", {"--steps", "4", "--save", path("s"), "--save-every", "1"});
  EXPECT_EQ(listDirectory(path("s")),
            (std::vector<std::string>{"other", "step-0", "step-3", "step-4"}));
  EXPECT_EQ(readBytes(path("s/step-0/note")), "mine");
  // Even one with a state.json, if of another kind.
  write("s/step-0/state.json", "{}");
  runProgram("1x1", {"--steps", "6", "--save", path("s"), "--save-every", "1", "--resume", "auto"});
  EXPECT_EQ(readBytes(path("s/step-0/note")), "mine");
  EXPECT_EQ(listDirectory(path("s")).size(), 4u);
}

TEST_F(Checkpoint, IncompleteSavesAreToldAndKept) {
  runProgram("1x1", {"--steps", "4", "--save", path("s"), "--save-every", "1"});
  fs::remove(path("s/step-4/state.json"));
  std::string output = runProgram(
      "1x1", {"--steps", "5", "--save", path("s"), "--save-every", "1", "--resume", "auto"});
  expectPart(output, "s/step-4' is incomplete");
  expectPart(output, "s/step-3");
  EXPECT_EQ(listDirectory(path("s")),
            (std::vector<std::string>{"step-4", "step-4.incomplete", "step-5"}));
  EXPECT_EQ(listDirectory(path("s/step-4.incomplete")).size(), 1u);
}

TEST_F(Checkpoint, MetricsLoseNoLine) {
  auto steps = [&] {
    std::vector<int64_t> list;
    for (const StepMetrics &record : metrics("m"))
      list.push_back(record.step);
    return list;
  };
  Words flags{"--metrics", path("m"), "--save", path("s")};
  auto with = [&](const Words &more) {
    Words all = flags;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  runProgram("1x1", {"--metrics", path("m"), "--steps", "3"});
  runProgram("1x1", with({"--steps", "2"}));
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2, 3, 1, 2}));
  std::string before = readBytes(path("m"));
  // Ends within the first step after the resume; a line that was cut goes, the others stay.
  write("m", before + "{\"step\": 3, \"lo");
  runProgram("1x1", with({"--steps", "4", "--resume", "auto"}), 1, {{"FAKE_NAN_AT", "3"}});
  EXPECT_EQ(readBytes(path("m")), before);
  runProgram("1x1", with({"--steps", "4", "--resume", "auto"}));
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2, 3, 1, 2, 3, 4}));
  fs::remove(path("s/step-4/state.json"));
  runProgram("1x1", with({"--steps", "4", "--resume", "auto"}));
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2, 3, 1, 2, 3, 4}));
  runProgram("1x1", {"--metrics", "/dev/stdout", "--steps", "1"});
}

TEST_F(Checkpoint, KillAtEveryWrite) {
  for (std::string mesh : {"1x1", "2x1"}) {
    runProgram(mesh, {"--steps", "4", "--save", path("whole-" + mesh)});
    runProgram(mesh, {"--steps", "2", "--save", path("two-" + mesh), "--save-every", "1"});
  }
  int killAt = 1;
  while (killAndResume("1x1", "two-1x1", killAt))
    ++killAt;
  EXPECT_GT(killAt, 15);
  for (killAt = 1; killAt < 40; killAt += 4)
    killAndResume("1x1", "", killAt);
  for (int at : {4, 8, 11})
    EXPECT_TRUE(killAndResume("2x1", "two-2x1", at));
}

TEST_F(Checkpoint, AnotherModelIsRefused) {
  runProgram("1x1", {"--steps", "2", "--save", path("s")});
  json state = readJson(path("s/step-2/state.json"));
  auto resume = [&](const std::string &config, const std::string &dtype, int expected) {
    state["model"]["config"] = config;
    state["compile"]["dtype"] = dtype;
    write("s/step-2/state.json", state.dump(1));
    return runProgram("2x1", {"--steps", "3", "--resume", path("s")}, expected);
  };
  std::string errors = resume(R"({"model_type": "fake", "rope_theta": 5.0})", "bf16", 1);
  expectPart(errors, "its model's \"rope_theta\" is 5.0, the program's is absent");
  expectPart(errors, "trained with --dtype bf16, the program was compiled with --dtype f32");
  resume(R"({"model_type": "fake", "use_cache": true, "attn_pdrop": 0.1})", "f32", 0);
  state["model"].erase("config"); // of an earlier version
  state.erase("compile");
  write("s/step-2/state.json", state.dump(1));
  runProgram("1x1", {"--steps", "3", "--resume", path("s")});
}

TEST_F(Checkpoint, DamagedFilesAreErrors) {
  runProgram("1x1", {"--steps", "2", "--save", path("s")});
  fs::path stateFile = path("s/step-2/state.json");
  fs::path valueFile = path("s/step-2/rank-00000.safetensors");
  std::string state = readBytes(stateFile), values = readBytes(valueFile);
  auto replaced = [&](const std::string &from, const std::string &to) {
    std::string text = state;
    return text.replace(text.find(from), from.size(), to);
  };
  std::string changed = values;
  changed.replace(changed.size() - 4, 4, "abcd");
  const std::pair<fs::path, std::string> cases[] = {
      {stateFile, state.substr(0, 100)},
      {stateFile, "[]"},
      {stateFile, ""},
      {stateFile, replaced("ulsc.checkpoint/1", "other")},
      {stateFile, replaced("[\n    50,", "[\n    51,")},
      {stateFile, replaced("bias:master", "bias:other")},
      {valueFile, values.substr(0, values.size() - 1)},
      {valueFile, ""},
      {valueFile, changed}};
  for (const auto &[file, content] : cases) {
    write("s/step-2/state.json", state);
    write("s/step-2/rank-00000.safetensors", values);
    ASSERT_FALSE(content == readBytes(file));
    std::ofstream(file, std::ios::binary) << content;
    std::string errors = runProgram("1x1", {"--steps", "4", "--resume", path("s")}, 1);
    expectPart(errors, "error: ");
    expectPart(errors, "s/step-2");
  }
}

// Ends before the last step.

class Stop : public FakeRun {
protected:
  /// Signals rank 0 after its second step.
  Outcome stop(const std::string &mesh, int number, const Words &flags) const {
    Words all{"--data", tokens, "--steps", "1000"};
    all.insert(all.end(), flags.begin(), flags.end());
    std::string mark = "ULSC_TEST_MARK=" + path("mark").string();
    Process process(
        command(mesh, all, {{"FAKE_SLEEP_MS", "30"}, {"ULSC_TEST_MARK", path("mark").string()}}));
    EXPECT_TRUE(process.waitFor("step 2/"));
    std::vector<pid_t> ranks = findProcesses(mark, ranksOf(mesh) > 1 ? 0 : -1);
    EXPECT_EQ(ranks.size(), 1u);
    for (pid_t pid : ranks)
      kill(pid, number);
    return process.wait();
  }
};

TEST_F(Stop, SignalsEndAfterTheStep) {
  Outcome outcome = stop("1x1", SIGINT, {"--save", path("s")});
  EXPECT_EQ(outcome.exitCode, 130);
  expectPart(outcome.output, "stopped by SIGINT after step");
  EXPECT_EQ(listDirectory(path("s")).size(), 1u);
  outcome = stop("2x1", SIGTERM, {});
  EXPECT_EQ(outcome.exitCode, 143);
  expectPart(outcome.output, "nothing is saved without --save");
}

// The step would take far longer than the test may.
TEST_F(Stop, SecondSignalEndsAtOnce) {
  Process process(
      command("1x1", {"--data", tokens, "--steps", "1000"}, {{"FAKE_SLEEP_MS", "1000000"}}));
  ASSERT_TRUE(process.waitFor("in step 1"));
  kill(process.getPid(), SIGINT);
  ASSERT_TRUE(process.waitFor("interrupted in step 1"));
  kill(process.getPid(), SIGINT);
  EXPECT_EQ(process.wait().exitCode, 130);
}

TEST_F(Stop, LossThatIsNotFiniteEndsAll) {
  for (std::string mesh : {"1x1", "2x1"}) {
    std::string errors =
        runProgram(mesh, {"--steps", "5", "--save", path("s")}, 1, {{"FAKE_NAN_AT", "2"}});
    expectPart(errors, "step 2: loss is nan on rank ");
    for (const std::string &name : listDirectory(path("s")))
      EXPECT_NE(name.rfind("step-", 0), 0u) << name;
  }
}

} // namespace

#include "fake_run.h"

#include <fstream>
#include <random>

using namespace ulsc::test;
namespace fs = std::filesystem;

void FakeRun::SetUp() {
  const testing::TestInfo *info = testing::UnitTest::GetInstance()->current_test_info();
  directory = fs::canonical(
      scratchDirectory(std::string("program-") + info->test_suite_name() + "-" + info->name()));
  std::mt19937 random(1);
  std::string bytes;
  for (int i = 0; i < 3000; ++i)
    bytes += {static_cast<char>(random() % 50), 0};
  write("tokens.bin", bytes);
  tokens = path("tokens.bin");
}

void FakeRun::write(const std::string &name, const std::string &content) const {
  std::ofstream stream(path(name), std::ios::binary);
  stream << content;
  ASSERT_TRUE(stream.flush().good()) << name;
}

int FakeRun::ranksOf(const std::string &mesh) { return (mesh[0] - '0') * (mesh[2] - '0'); }

fs::path FakeRun::programOf(const std::string &mesh) {
  return fs::path(ULSC_BUILD_DIR) / "bin" / ("fake-" + mesh);
}

Words FakeRun::command(const std::string &mesh, const Words &flags,
                       const Environment &environment) const {
  return launch(programOf(mesh), ranksOf(mesh), flags, environment);
}

static std::string runCommand(const Words &command, int expected) {
  Outcome outcome = run(command);
  std::string text;
  for (const std::string &word : command)
    text += word + " ";
  EXPECT_EQ(outcome.exitCode, expected) << text << "\n" << outcome.output;
  return outcome.output;
}

std::string FakeRun::runProgram(const std::string &mesh, Words flags, int expected,
                                const Environment &environment) const {
  flags.insert(flags.begin(), {"--data", tokens});
  return runCommand(command(mesh, flags, environment), expected);
}

std::string FakeRun::runWithoutData(const std::string &mesh, const Words &flags,
                                    int expected) const {
  return runCommand(command(mesh, flags), expected);
}

std::string FakeRun::runMixed(const std::string &first, const Words &firstFlags,
                              const std::string &second, const Words &secondFlags,
                              int expected) const {
  Words words = {"timeout", "60", "mpirun", "--oversubscribe"};
  for (const auto &[mesh, flags] : {std::pair(first, firstFlags), {second, secondFlags}}) {
    if (words.back() != "--oversubscribe")
      words.push_back(":");
    words.insert(words.end(), {"-np", "1", programOf(mesh), "--threads", "1", "--data", tokens});
    words.insert(words.end(), flags.begin(), flags.end());
  }
  return runCommand(words, expected);
}

std::vector<StepMetrics> FakeRun::metrics(const std::string &name) const {
  return readMetrics(path(name));
}

void FakeRun::expectSameSave(const std::string &a, const std::string &b) const {
  int files = 0;
  for (const std::string &name : listDirectory(path(a)))
    if (fs::path(name).extension() == ".safetensors" && ++files)
      EXPECT_TRUE(readBytes(path(a) / name) == readBytes(path(b) / name)) << b << " " << name;
  EXPECT_GT(files, 0);
}

void ulsc::test::expectPart(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in:\n" << text;
}

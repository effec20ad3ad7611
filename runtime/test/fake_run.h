// Runs the hand-written programs of fake_program.c and fake_pipeline.c as a user would, on 1, 2 and
// 4 ranks.
#ifndef ULSC_RUNTIME_TEST_FAKE_RUN_H
#define ULSC_RUNTIME_TEST_FAKE_RUN_H

#include "harness.h"

#include <gtest/gtest.h>

#include <memory>

namespace ulsc::test {

/// One test's folder and token file. A mesh is "2x1": dp = 2, tp = 1; "2x1-flat" has state in
/// chunks, "2x1-pp" is fake_pipeline.c in two stages on one data rank each.
class FakeRun : public testing::Test {
protected:
  void SetUp() override;

  std::filesystem::path path(const std::string &name) const { return directory / name; }
  void write(const std::string &name, const std::string &content) const;

  Words command(const std::string &mesh, const Words &flags,
                const Environment &environment = {}) const;
  /// With the token file; fails the test when the exit code is not `expected`.
  std::string runProgram(const std::string &mesh, Words flags, int expected = 0,
                         const Environment &environment = {}) const;
  std::string runWithoutData(const std::string &mesh, const Words &flags, int expected = 0) const;
  /// Two ranks, each with a mesh's program and flags of its own, on the token file.
  std::string runMixed(const std::string &first, const Words &firstFlags, const std::string &second,
                       const Words &secondFlags, int expected) const;
  std::vector<StepMetrics> metrics(const std::string &name) const;
  /// Two saves of the same program hold the same bytes.
  void expectSameSave(const std::string &a, const std::string &b) const;

  static int ranksOf(const std::string &mesh);
  static std::filesystem::path programOf(const std::string &mesh);

  std::filesystem::path directory;
  std::string tokens;
};

/// What `text` has to hold; a readable failure where not.
void expectPart(const std::string &text, const std::string &part);

} // namespace ulsc::test

#endif // ULSC_RUNTIME_TEST_FAKE_RUN_H

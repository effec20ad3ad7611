// What a run tells about the time that its ranks waited. Bounds are generous: a slow machine makes
// every wait longer, but for that on a rank that sleeps.
#include "fake_run.h"

using namespace ulsc::test;
using nlohmann::json;

namespace {

using Waits = FakeRun;

constexpr const char *sleepMs = "200";
constexpr double leastMs = 10;

json rowOf(const json &exposure, const std::string &source, const std::string &kind) {
  for (const json &row : exposure.at("rows"))
    if (row.at("source") == source && row.at("kind") == kind)
      return row;
  ADD_FAILURE() << "no " << kind << " of " << source << " in " << exposure;
  return {};
}

TEST_F(Waits, a_late_rank_is_waited_for) {
  std::string output = runProgram("2x1", {"--steps", "3", "--metrics", path("m")}, 0,
                                  {{"FAKE_SLEEP_MS", sleepMs}, {"FAKE_SLEEP_DP", "1"}});
  expectPart(output, "exposed  ");
  expectPart(output, "in the mean of steps 2 to 3\n");
  json exposure = readExposure(path("m"));
  json late = rowOf(exposure, "loss", "all_reduce"); // the first after the sleep
  EXPECT_GT(late["most_exposed_ms"], leastMs);
  EXPECT_GE(late["most_exposed_ms"], late["exposed_ms"]);
  EXPECT_EQ(late["count_per_step"], 1);
  EXPECT_NEAR(late["predicted_ms"], 2.5e-3, 1e-12);
  EXPECT_EQ(exposure["first_step"], 2);
  EXPECT_EQ(exposure["last_step"], 3);
  EXPECT_GT(exposure["exposed_ms"], leastMs / 2);
  EXPECT_LE(exposure["exposed_ms"], exposure["step_ms"]);
  for (const StepMetrics &step : metrics("m")) // rank 0 is the one that waits
    EXPECT_GT(step.all["exposed_comm_ms"]["all_reduce"], leastMs) << step.step;
}

TEST_F(Waits, stages_have_their_own) {
  std::string output = runProgram("2x1-pp", {"--steps", "3", "--metrics", path("m")}, 0,
                                  {{"FAKE_SLEEP_MS", sleepMs}});
  expectPart(output, "  stage  source");
  json exposure = readExposure(path("m"));
  json receive = rowOf(exposure, "activations", "receive");
  EXPECT_EQ(receive["stage"], 1);
  EXPECT_EQ(receive["count_per_step"], 2);
  EXPECT_GT(receive["exposed_ms"], leastMs);
  EXPECT_EQ(rowOf(exposure, "activations", "send")["stage"], 0);
  EXPECT_LE(exposure["exposed_ms"], exposure["step_ms"]);
}

TEST_F(Waits, a_resumed_run_drops_the_end_of_the_steps_it_does_again) {
  runProgram("2x1",
             {"--steps", "4", "--metrics", path("m"), "--save", path("s"), "--save-every", "2"});
  ASSERT_EQ(readExposure(path("m"))["last_step"], 4);
  auto ends = [&] {
    std::string text = readBytes(path("m"));
    size_t count = 0;
    for (size_t at = text.find("{\"exposure\""); at != std::string::npos;
         at = text.find("{\"exposure\"", at + 1))
      ++count;
    return count;
  };
  std::string first = path("s").string() + "/step-2", last = path("s").string() + "/step-4";
  runProgram("2x1", {"--steps", "3", "--metrics", path("m"), "--resume", first});
  EXPECT_EQ(metrics("m").size(), 3u);
  EXPECT_EQ(ends(), 1u);
  EXPECT_EQ(readExposure(path("m"))["first_step"], 3);
  EXPECT_EQ(readExposure(path("m"))["last_step"], 3);
  runProgram("2x1", {"--steps", "5", "--metrics", path("m"), "--resume", last});
  EXPECT_EQ(metrics("m").size(), 4u); // 1, 2, 3, 5
  EXPECT_EQ(ends(), 2u);
}

TEST_F(Waits, a_lone_rank_tells_of_none) {
  std::string output = runProgram("1x1", {"--steps", "2", "--metrics", path("m")});
  EXPECT_EQ(output.find("exposed"), std::string::npos) << output;
  EXPECT_TRUE(readExposure(path("m")).is_null());
}

} // namespace

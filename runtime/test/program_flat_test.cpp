// State in flat chunks against state in whole blocks: the same bits, through files of both.
#include "fake_run.h"

#include <cmath>

using namespace ulsc::test;

namespace {

class Flat : public FakeRun {
protected:
  void expectSameBytes(const std::string &a, const std::string &b) const {
    EXPECT_TRUE(readBytes(path(a)) == readBytes(path(b))) << a << " " << b;
  }

  /// Compares whole tensors, put together from the ranks' slices; returns how many elements.
  size_t expectSameTensors(const std::string &a, const std::string &b,
                           const std::string &prefix) const {
    size_t elements = 0;
    std::map<std::string, Tensor> first = readSlices(path(a), prefix),
                                  second = readSlices(path(b), prefix);
    EXPECT_EQ(first.size(), second.size());
    for (const auto &[name, tensor] : first) {
      EXPECT_EQ(tensor.shape, second[name].shape) << name;
      EXPECT_TRUE(tensor.values == second[name].values) << b << " " << name;
      for (double value : tensor.values)
        EXPECT_FALSE(std::isnan(value)) << a << " " << name;
      elements += tensor.values.size();
    }
    return elements;
  }
};

TEST_F(Flat, ChunksComputeTheSameBits) {
  for (std::string mesh : {"2x1", "2x2"}) {
    for (std::string name : {mesh, mesh + "-flat"})
      runProgram(name,
                 {"--steps", "3", "--export-hf", path("e" + name), "--dump-gradients",
                  path("g" + name), "--save", path("s" + name), "--metrics", path("m" + name)});
    expectSameBytes("e" + mesh + "/model.safetensors", "e" + mesh + "-flat/model.safetensors");
    EXPECT_EQ(expectSameTensors("g" + mesh, "g" + mesh + "-flat", "step-3-"), 203u);
    EXPECT_EQ(expectSameTensors("s" + mesh + "/step-3", "s" + mesh + "-flat/step-3", "rank-"),
              2 * 200u + 3 * 3u);
    std::vector<StepMetrics> whole = metrics("m" + mesh), flat = metrics("m" + mesh + "-flat");
    ASSERT_EQ(flat.size(), 3u);
    for (size_t i = 0; i < flat.size(); ++i) {
      EXPECT_EQ(flat[i].loss, whole[i].loss);
      EXPECT_EQ(flat[i].gradNorm, whole[i].gradNorm);
    }
  }
}

TEST_F(Flat, ResumeIsBitwise) {
  runProgram("2x2-flat", {"--steps", "6", "--save", path("whole")});
  runProgram("2x2-flat", {"--steps", "3", "--save", path("half")});
  runProgram("2x2-flat", {"--steps", "6", "--save", path("half"), "--resume", "auto"});
  expectSameSave("whole/step-6", "half/step-6");
}

TEST_F(Flat, ResumeFromAndToWholeBlocks) {
  for (std::string name : {"2x2", "2x2-flat"}) {
    runProgram(name, {"--steps", "3", "--save", path(name)});
    runProgram(name, {"--steps", "5", "--save", path(name), "--resume", "auto"});
  }
  for (auto [from, to] : {std::pair("2x2", "2x2-flat"), {"2x2-flat", "2x2"}}) {
    std::string saves = std::string("to-") + to;
    runProgram(
        to, {"--steps", "5", "--resume", path(from).string() + "/step-3", "--save", path(saves)});
    expectSameSave(std::string(to) + "/step-5", saves + "/step-5");
  }
}

TEST_F(Flat, ResumeOnAnotherMesh) {
  for (std::string name : {"2x2", "2x2-flat"})
    runProgram(name, {"--steps", "3", "--save", path(name), "--export-hf", path("e" + name)});
  // On one device the next step is the same, and its state has the same bits, whoever saved.
  for (std::string name : {"2x2", "2x2-flat"}) {
    runProgram("1x1", {"--steps", "3", "--resume", path(name), "--export-hf", path("one" + name)});
    expectSameBytes("e2x2/model.safetensors", "one" + name + "/model.safetensors");
    runProgram("1x1", {"--steps", "4", "--resume", path(name), "--save", path("next" + name)});
  }
  expectSameSave("next2x2/step-4", "next2x2-flat/step-4");
  for (std::string name : {"2x1", "2x1-flat", "2x2", "2x2-flat"})
    runProgram(name, {"--steps", "6", "--resume", path("next2x2"), "--save", path("last" + name)});
  for (std::string mesh : {"2x1", "2x2"})
    EXPECT_EQ(expectSameTensors("last" + mesh + "/step-6", "last" + mesh + "-flat/step-6", "rank-"),
              409u);
}

TEST_F(Flat, WeightsRoundTrip) {
  runWithoutData("1x1", {"--steps", "0", "--export-hf", path("a")});
  runWithoutData("2x2-flat", {"--steps", "0", "--export-hf", path("b")});
  expectSameBytes("a/model.safetensors", "b/model.safetensors");
  runProgram("2x1-flat", {"--steps", "2", "--export-hf", path("c")});
  runWithoutData("2x2-flat", {"--weights", path("c"), "--steps", "0", "--export-hf", path("d")});
  expectSameBytes("c/model.safetensors", "d/model.safetensors");
}

} // namespace

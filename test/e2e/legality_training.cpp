//===- legality_training.cpp - Trains what the legality matrix can choose ---------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "legality_training.h"

#include "tools/ulsc-legality/Compiler.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace ulsc;
using namespace ulsc::test;
using namespace ulsc::legality;
using nlohmann::json;
namespace fs = std::filesystem;

//===---------------------------------------------------------------------------------------===//
// Training
//===---------------------------------------------------------------------------------------===//

/// The words of `ulsc compile`, model first.
static Words complete(const Command &command) {
  static const Compiler compiler(fs::path(ULSC_BUILD_DIR) / "bin" / "ulsc", ULSC_SOURCE_DIR,
                                 fs::path(ULSC_BUILD_DIR) / "test" / "recipes");
  std::string error;
  std::optional<Words> words = compiler.complete(command, error);
  EXPECT_TRUE(words) << error;
  return words.value_or(Words{});
}

static Words makeProgramFlags(const Case &choices, const fs::path &model, const fs::path &directory,
                              const TrainingOptions &options) {
  Words flags{"--data",
              model / "tokens.bin",
              "--steps",
              std::to_string(options.steps),
              "--seed",
              "7",
              "--lr",
              "1e-3",
              "--save",
              directory / "save",
              "--dump-gradients",
              directory / "gradients"};
  if (usesChoice(choices, "dropout", "on"))
    flags.insert(flags.end(), {"--dropout", "0.1"});
  flags.insert(flags.end(), options.flags.begin(), options.flags.end());
  return flags;
}

CaseTraining test::trainCase(const Command &command, const Case &choices,
                             const TrainingOptions &options) {
  fs::path directory = scratchDirectory("case-" + std::to_string(::getpid()));
  Command targeted = command;
  targeted.flags.insert(targeted.flags.end(), {"--target", options.target});
  Words words = complete(targeted);
  if (words.empty())
    return {};
  if (options.seq)
    *(std::find(words.begin(), words.end(), "--seq") + 1) = std::to_string(*options.seq);
  fs::path model = words[0];
  words.erase(words.begin());
  fs::path program = compile(model, words, directory / "report.json");
  CaseTraining training;
  Environment environment = options.environment;
  if (options.isWatched)
    for (const auto &entry :
         preload("ulsc_alloc_shim", {{"ULSC_ALLOC_OUT", directory / "alloc.%r"}}))
      environment.insert(entry);
  training.steps = train(program, command.ranks,
                         makeProgramFlags(choices, model, directory, options), environment);
  training.report = readJson(directory / "report.json");
  training.gradients = readSlices(directory / "gradients", "step-1-");
  for (int rank = 0; options.isWatched && rank < command.ranks; ++rank)
    training.seen.push_back(readJson(directory / ("alloc." + std::to_string(rank))));
  // Adam makes steps of rounding where a gradient is exactly zero.
  if (usesChoice(choices, "optimizer", "sgd"))
    training.parameters =
        readSlices(directory / "save" / ("step-" + std::to_string(options.steps)), "rank-");
  return training;
}

//===---------------------------------------------------------------------------------------===//
// Numbers
//===---------------------------------------------------------------------------------------===//

namespace {
/// The largest relative difference that is still right.
struct Tolerance {
  double loss, norm, parameters;
  double gradients;      ///< of the first step
  double cancelling = 1; ///< so many times as much where summands nearly cancel
};
} // namespace

/// Sums are taken in another order on other meshes and differ in their last bits. What is rounded
/// to 8 or 11 bits after that may fall on the other side, 2^-8 of its size away.
static Tolerance getTolerance(const Case &choices) {
  Tolerance wide{1e-5, 1e-4, 1e-4, 1e-4}, narrow{1e-3, 5e-3, 3e-2, 3e-2, 3};
  if (isWide(choices))
    return wide;
  // Moments are rounded after the first step's gradients.
  if (usesChoice(choices, "dtype", "f32") && usesChoice(choices, "state", "bf16-moments"))
    narrow.gradients = wide.gradients, narrow.cancelling = wide.cancelling;
  return narrow;
}

void test::recordMeasurement(const char *what, double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  testing::Test::RecordProperty(what, text);
}

static void expectNear(const std::map<std::string, Tensor> &actual,
                       const std::map<std::string, Tensor> &expected, double tolerance,
                       double cancelling, const char *what) {
  ASSERT_FALSE(expected.empty());
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0;
  for (const auto &[name, tensor] : expected) {
    auto found = actual.find(name);
    ASSERT_NE(found, actual.end()) << name;
    double distance = relativeDistance(found->second, tensor);
    // Softmax ignores what all keys share, so that the rows of their gradient nearly cancel: what
    // is rounded of each weighs more in their sum.
    bool cancels = name.find("k_proj.bias") != std::string::npos;
    EXPECT_LE(distance, tolerance * (cancels ? cancelling : 1)) << what << " " << name;
    largest = std::max(largest, distance);
  }
  recordMeasurement(what, largest);
}

void test::expectSameNumbers(const Case &choices, const CaseTraining &actual,
                             const CaseTraining &expected) {
  Tolerance tolerance = getTolerance(choices);
  ASSERT_FALSE(actual.steps.empty());
  ASSERT_EQ(actual.steps.size(), expected.steps.size());
  double loss = 0, norm = 0;
  for (size_t i = 0; i < actual.steps.size(); ++i) {
    loss = std::max(loss, relativeDifference(actual.steps[i].loss, expected.steps[i].loss));
    norm = std::max(norm, relativeDifference(actual.steps[i].gradNorm, expected.steps[i].gradNorm));
  }
  EXPECT_LE(loss, tolerance.loss);
  EXPECT_LE(norm, tolerance.norm);
  recordMeasurement("loss", loss);
  recordMeasurement("norm", norm);
  expectNear(actual.gradients, expected.gradients, tolerance.gradients, tolerance.cancelling,
             "gradients");
  if (usesChoice(choices, "optimizer", "sgd"))
    expectNear(actual.parameters, expected.parameters, tolerance.parameters, tolerance.cancelling,
               "parameters");
}

//===---------------------------------------------------------------------------------------===//
// Cases
//===---------------------------------------------------------------------------------------===//

CaseList test::readLegalityCases(std::string &problem) {
  return CaseList::read(fs::path(ULSC_SOURCE_DIR) / "docs" / "legality-cases.txt", problem);
}

std::ostream &test::operator<<(std::ostream &stream, const LegalityCase &c) {
  return stream << describe(c.choices);
}

std::string test::nameOfCase(const LegalityCase &c) {
  std::string name = describe(c.choices, "_");
  for (char &letter : name)
    letter = isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
}

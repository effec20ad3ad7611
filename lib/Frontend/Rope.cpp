//===- Rope.cpp - Frequencies of rotary position embeddings
//------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "lib/Frontend/Rope.h"

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::frontend;

namespace {
struct Scaling {
  std::string type = "default";
  double factor = 1, lowFrequencyFactor = 1, highFrequencyFactor = 4;
  int64_t originalPositions = 1;
};
} // namespace

static constexpr double kMaxTheta = 1e15, kMaxFactor = 1e6;

static const KeyRule kRopeKeys[] = {
    {"type", KeyUse::Used},
    {"rope_type", KeyUse::Used},
    {"rope_theta", KeyUse::Used},
    {"factor", KeyUse::Used},
    {"low_freq_factor", KeyUse::Used},
    {"high_freq_factor", KeyUse::Used},
    {"original_max_position_embeddings", KeyUse::Used},
    {"partial_rotary_factor", KeyUse::OnlyIf, "1|null", "rotating a part of each head"},
    {"attention_factor", KeyUse::OnlyIf, "1|null", "scaling attention"},
};

static Scaling readScaling(const ConfigReader &object) {
  Scaling scaling;
  object.checkKeys({kRopeKeys});
  scaling.type =
      object.getChoice({"rope_type", "type"}, {"default", "linear", "llama3"}, "default");
  if (scaling.type == "default")
    return scaling;
  scaling.factor = object.getNumber("factor", 1.0, kMaxFactor, /*closed=*/true);
  if (scaling.type != "llama3")
    return scaling;
  scaling.lowFrequencyFactor =
      object.getNumber("low_freq_factor", 0.0, kMaxFactor, /*closed=*/false);
  scaling.highFrequencyFactor =
      object.getNumber("high_freq_factor", 0.0, kMaxFactor, /*closed=*/false);
  scaling.originalPositions =
      object.getInteger({"original_max_position_embeddings"}, 1, int64_t(1) << 30);
  if (object.isSound({"low_freq_factor", "high_freq_factor"}) &&
      scaling.highFrequencyFactor <= scaling.lowFrequencyFactor)
    object.emitError("high_freq_factor")
        << "is " << scaling.highFrequencyFactor
        << ", expected more than \"low_freq_factor\", which is " << scaling.lowFrequencyFactor
        << "; published models have 4 and 1";
  return scaling;
}

/// One frequency under llama3 scaling (Grattafiori et al. 2024, as transformers'
/// `_compute_llama3_parameters`): long waves are slowed down by the factor, short ones stay, those
/// between are interpolated.
static double scaleLlama3(double frequency, const Scaling &scaling) {
  double wavelength = 2 * M_PI / frequency;
  double positions = double(scaling.originalPositions);
  if (wavelength > positions / scaling.lowFrequencyFactor)
    return frequency / scaling.factor;
  if (wavelength < positions / scaling.highFrequencyFactor)
    return frequency;
  double smooth = (positions / wavelength - scaling.lowFrequencyFactor) /
                  (scaling.highFrequencyFactor - scaling.lowFrequencyFactor);
  return (1 - smooth) * frequency / scaling.factor + smooth * frequency;
}

SmallVector<double> ulsc::frontend::readRopeFrequencies(const ConfigReader &config,
                                                        int64_t headSize) {
  std::optional<ConfigReader> newer = config.getObject("rope_parameters");
  std::optional<ConfigReader> older = config.getObject("rope_scaling");
  if (newer && older)
    config.emitError("rope_scaling")
        << "is given beside \"rope_parameters\", its newer spelling; keep one of them";
  double theta = config.getNumber("rope_theta", 0.0, kMaxTheta, /*closed=*/false, 10000.0);
  if (newer && newer->has("rope_theta")) {
    double inside = newer->getNumber("rope_theta", 0.0, kMaxTheta, /*closed=*/false);
    if (config.has("rope_theta") && inside != theta)
      config.emitError("rope_theta")
          << "is " << theta << " but \"rope_parameters\" says " << inside << "; keep one of them";
    theta = inside;
  }
  Scaling scaling;
  if (newer || older)
    scaling = readScaling(newer ? *newer : *older);

  SmallVector<double> frequencies;
  for (int64_t i = 0; i < headSize / 2; ++i) {
    double frequency = 1.0 / std::pow(theta, double(2 * i) / double(headSize));
    if (scaling.type == "linear")
      frequency /= scaling.factor;
    else if (scaling.type == "llama3")
      frequency = scaleLlama3(frequency, scaling);
    frequencies.push_back(frequency);
  }
  return frequencies;
}

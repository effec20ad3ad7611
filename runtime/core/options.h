// The command line of a compiled program.
#ifndef ULSC_RUNTIME_CORE_OPTIONS_H
#define ULSC_RUNTIME_CORE_OPTIONS_H

#include "core/manifest.h"

#include <optional>
#include <string>

namespace ulsc::runtime {

struct Options {
  std::string data, weights, exportDirectory, metrics, trace, save, resume, gradients;
  int64_t steps = 0, saveEvery = 0, traceSteps = 2;
  uint64_t seed = 0;
  bool hasSeed = false;
  int threads = 0; // 0: not given
  std::optional<double> dropout;
  bool describe = false;
  /// Seconds until a rank that has not joined counts as missing, and until a collective counts as
  /// stuck; 0: never.
  int64_t joinTimeout = 600, collectiveTimeout = 600;
  std::string cudaGraph = "auto";

  /// A trace has times of kernels, which those of a graph have not.
  bool usesCudaGraph() const { return cudaGraph == "on" || (cudaGraph == "auto" && trace.empty()); }

  double learningRate = 3e-4, leastLearningRate = 0, weightDecay = 0.1;
  std::vector<double> betas = {0.9, 0.95};
  double epsilon = 1e-8, momentum = 0.9, clipGrad = 1.0;
  std::string schedule = "constant", weightDecayOn = "matrices";
  int64_t warmupSteps = 0;
  double lossScale = 65536;
  int64_t lossScaleGrowthInterval = 2000;
};

/// Parses and checks. Returns nothing when the program has to end with `exitCode` (after --help or
/// an error, both already printed; `isQuiet` ranks print nothing). Defaults are the manifest's
/// hyperparameters.
std::optional<Options> parseOptions(int argc, char **argv, const Manifest &manifest, bool isQuiet,
                                    int &exitCode);

/// The candidate with the smallest edit distance to `word`.
std::string nearest(const std::string &word, const std::vector<std::string> &candidates);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_OPTIONS_H

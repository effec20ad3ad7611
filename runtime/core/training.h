// A run: its state, and the loop over its steps.
#ifndef ULSC_RUNTIME_CORE_TRAINING_H
#define ULSC_RUNTIME_CORE_TRAINING_H

#include "core/context.h"
#include "core/manifest.h"
#include "core/options.h"
#include "core/schedule.h"
#include "data/token_file.h"
#include "metrics/exposure.h"
#include "metrics/metrics.h"
#include "metrics/trace.h"

#include <memory>
#include <optional>

namespace ulsc::runtime {

using StepFunction = void (*)(ulsc_context *);

/// What a compiled program exports.
struct Program {
  const char *manifest;
  const char *kernels; // of a device, or null
  StepFunction step;
};

class Backend;

/// Everything of one rank. Members that throw do so on all ranks (onAllRanks).
class Training {
public:
  Training(const Manifest &manifest, const Program &program, const Options &options,
           Communicator &communicator, const Backend &backend);

  /// Arena, groups, initial state, data: all before the first step.
  void prepare();
  /// Runs to the last step or a stop. Returns the exit code.
  int run();

private:
  void createDevice();
  void fillControl();
  void fillParameterScales();
  void fillState();
  std::string checkpointToResume() const;
  void resumeFrom(const std::string &checkpoint);
  void prepareStep();
  void checkStep() const;
  void takeLossScale();
  void unscaleGradients();
  void afterStep(double seconds, double inputSeconds);
  bool mustStop() const;
  int stop();
  void save();
  void exportModel();
  void writeTrace();
  void reportExposure();
  void dumpGradients();
  bool isFirst() const { return communicator.rank() == 0; }

  const Manifest &manifest;
  Program program;
  const Options &options;
  Communicator &communicator;
  const Backend &backend;
  Shape coordinates;
  const Stage &stage;
  std::string threadText;
  std::unique_ptr<Device> device;
  Collectives *collectives = nullptr;
  ulsc_control control{};
  Context context;
  Schedule schedule;
  std::vector<float> parameterScales;
  std::unique_ptr<TokenFile> data;
  std::unique_ptr<Metrics> metrics;
  Exposure exposure;
  std::unique_ptr<Trace> trace;
  uint64_t seed = 0;
  /// Of the last step, while `control` has the next one's.
  double usedLossScale = 1;
  int64_t skippedSteps = 0;
  int64_t step = 0, tokensConsumed = 0, lastSaved = -1;
};

/// The whole program: what main returns.
int runProgram(int argc, char **argv, const Program &program, const Backend &backend);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_TRAINING_H

// What a run tells about itself: the lines at its start, progress, and the metrics file.
#ifndef ULSC_RUNTIME_METRICS_METRICS_H
#define ULSC_RUNTIME_METRICS_METRICS_H

#include "core/context.h"
#include "core/manifest.h"

#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace ulsc::runtime {

/// One step as rank 0 saw it.
struct StepRecord {
  int64_t step; // completed steps, this one included
  int64_t totalSteps, tokensConsumed, tokens;
  double loss, gradNorm, learningRate, seconds, inputSeconds;
  std::array<double, collectiveKinds> waitSeconds;
  /// With loss scaling: the scale that the step had, and whether it changed nothing for an
  /// overflow.
  double lossScale;
  bool isSkipped;
};

/// Largest resident size of this process so far, in bytes.
int64_t peakProcessBytes();

/// "12.3 MiB".
std::string byteText(int64_t bytes);

/// Prints model, mesh, batch, threads, and memory by stage.
void printHeader(const Manifest &manifest, const std::string &threads);

struct ExposureSamples;

/// Progress on standard output, and a JSON object per step in a file. Used on rank 0 alone.
class Metrics {
public:
  /// An empty path writes no file. Objects are appended to what the file has; a resumed run, whose
  /// `firstStep` is not 0, first drops those of the steps that it does again.
  Metrics(const Manifest &manifest, const std::string &path, int64_t firstStep);
  ~Metrics();
  Metrics(const Metrics &) = delete;
  Metrics &operator=(const Metrics &) = delete;

  void record(const StepRecord &record);
  /// At the end of a run: what all ranks waited for.
  void recordExposure(const ExposureSamples &samples);
  /// Ends the updating line of a terminal, so that a message can follow.
  void endLine();

private:
  void print(const StepRecord &record);
  void write(const StepRecord &record);
  void writeLine(const nlohmann::ordered_json &object);

  const Manifest &manifest;
  std::string path;
  std::FILE *file = nullptr;
  bool isTerminal, hasOpenLine = false;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_METRICS_METRICS_H

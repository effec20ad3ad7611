// The time in which ranks did nothing but start collectives and wait for them, by collective.
#ifndef ULSC_RUNTIME_METRICS_EXPOSURE_H
#define ULSC_RUNTIME_METRICS_EXPOSURE_H

#include "core/context.h"
#include "core/manifest.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace ulsc::runtime {

/// What all ranks measured over the same steps. Seconds and calls are those of all steps together.
struct ExposureSamples {
  struct Collective {
    double seconds = 0, calls = 0;
  };
  struct Rank {
    double stepSeconds = 0;
    std::vector<Collective> collectives; // as the manifest numbers them
  };
  int64_t firstStep = 0, lastStep = 0;
  std::vector<Rank> ranks;

  double steps() const { return static_cast<double>(lastStep - firstStep + 1); }
};

/// Measures on one rank. All ranks begin and end the same steps.
class Exposure {
public:
  Exposure(const Manifest &manifest, const Stage &stage);

  /// The totals begin anew with the second step: the first one sets up connections and touches all
  /// memory for the first time.
  void beginStep(int64_t number);
  void endStep(double seconds);
  /// What lies between two marks of the device's clock is time in which it computed nothing.
  void addStart(const ulsc_collective_desc &desc, int slot, int64_t begin, int64_t end);
  void addWait(int slot, int64_t begin, int64_t end);
  /// Reads the marks, when the step's work is done.
  void settle(const WorkClock &clock);
  /// This step did what the last one did, marks included.
  void repeatSpans() { spans = settled; }

  bool hasSteps() const { return begun > 0; }
  /// Of this step, by kind, once settled.
  const std::array<double, collectiveKinds> &secondsByKind() const { return kindSeconds; }
  /// Called by all ranks; the first one gets what all measured, the others what they did.
  ExposureSamples gather(Communicator &communicator) const;

private:
  struct Started {
    int kind = 0;
    int64_t identifier = -1; // -1: not in the manifest
  };
  struct Span {
    Started collective;
    int64_t begin, end; // marks
    bool isStart;
  };

  std::vector<Started> slots;
  std::vector<Span> spans, settled; // of this step and of the last one
  std::array<double, collectiveKinds> kindSeconds{};
  ExposureSamples::Rank totals;
  int64_t firstStep = 0, lastStep = 0, begun = 0;
};

/// Collectives that are told together, a step of a rank. Where ranks differ, values are means over
/// those of the stage.
struct ExposureRow {
  const CollectiveInfo *info = nullptr; // the first of them
  int64_t stage = -1;                   // -1: the program has no stages
  int64_t ranks = 0;
  int64_t calls = 0; // the same in every step and on every rank
  double seconds = 0;
  double mostSeconds = 0; // of the rank that waited longest
  /// Where the manifest predicts them for all.
  std::optional<double> predictedSeconds, predictedExposedSeconds;
};

/// Joins collectives that the report joins, or, for readers in a hurry, those that agree in stage,
/// source, kind and axes. In the order of the manifest, stage by stage.
enum class ExposureDetail { Report, Source };
std::vector<ExposureRow> joinExposure(const Manifest &manifest, const ExposureSamples &samples,
                                      ExposureDetail detail);

/// A few lines for people.
std::string exposureTable(const Manifest &manifest, const ExposureSamples &samples);
/// The object of the metrics file.
nlohmann::ordered_json exposureRecord(const Manifest &manifest, const ExposureSamples &samples);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_METRICS_EXPOSURE_H

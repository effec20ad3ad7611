#include "metrics/exposure.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ulsc::runtime {

Exposure::Exposure(const Manifest &manifest, const Stage &stage) : slots(stage.collectiveSlots) {
  totals.collectives.resize(manifest.collectives.size());
}

void Exposure::beginStep(int64_t number) {
  kindSeconds.fill(0);
  if (++begun <= 2) {
    firstStep = number;
    totals.stepSeconds = 0;
    std::fill(totals.collectives.begin(), totals.collectives.end(), ExposureSamples::Collective());
  }
  lastStep = number;
}

void Exposure::endStep(double seconds) { totals.stepSeconds += seconds; }

void Exposure::addStart(const ulsc_collective_desc &desc, int slot, int64_t begin, int64_t end) {
  if (desc.kind < 0 || desc.kind >= collectiveKinds)
    return;
  bool isKnown =
      desc.identifier >= 0 && desc.identifier < static_cast<int64_t>(totals.collectives.size());
  slots[slot] = {desc.kind, isKnown ? desc.identifier : -1};
  spans.push_back({slots[slot], begin, end, /*isStart=*/true});
}

void Exposure::addWait(int slot, int64_t begin, int64_t end) {
  spans.push_back({slots[slot], begin, end, /*isStart=*/false});
}

void Exposure::settle(const WorkClock &clock) {
  for (const Span &span : spans) {
    double seconds = clock.secondsAt(span.end) - clock.secondsAt(span.begin);
    kindSeconds[span.collective.kind] += seconds;
    if (span.collective.identifier < 0)
      continue;
    ExposureSamples::Collective &total = totals.collectives[span.collective.identifier];
    total.seconds += seconds;
    total.calls += span.isStart;
  }
  std::swap(settled, spans);
  spans.clear();
}

ExposureSamples Exposure::gather(Communicator &communicator) const {
  ExposureSamples samples{firstStep, lastStep, {totals}};
  std::vector<double> numbers = {totals.stepSeconds};
  for (const ExposureSamples::Collective &collective : totals.collectives)
    numbers.insert(numbers.end(), {collective.seconds, collective.calls});
  int64_t bytes = static_cast<int64_t>(numbers.size() * sizeof(double));
  if (communicator.rank() != 0) {
    communicator.send(numbers.data(), bytes, 0);
    return samples;
  }
  for (int rank = 1; rank < communicator.ranks(); ++rank) {
    communicator.receive(numbers.data(), bytes, rank);
    samples.ranks.push_back(totals);
    samples.ranks.back().stepSeconds = numbers[0];
    for (size_t i = 0; i < totals.collectives.size(); ++i)
      samples.ranks.back().collectives[i] = {numbers[2 * i + 1], numbers[2 * i + 2]};
  }
  return samples;
}

namespace {

/// The ranks that hold a stage; all of them where there are no stages.
std::vector<std::vector<int64_t>> ranksByStage(const Manifest &manifest) {
  std::vector<std::vector<int64_t>> result(manifest.stages.size());
  for (int64_t rank = 0; rank < manifest.mesh.ranks(); ++rank) {
    const Stage &stage = manifest.stageOf(manifest.mesh.coordinates(rank));
    result[&stage - manifest.stages.data()].push_back(rank);
  }
  return result;
}

std::string keyOf(const CollectiveInfo &info, ExposureDetail detail) {
  std::string key = info.source + "\n" + info.kind;
  for (const std::string &axis : info.axes)
    key += "\n" + axis;
  if (detail == ExposureDetail::Source)
    return key;
  return key + "\n" + info.phase + "\n" + info.dtype + "\n" + std::to_string(info.bytes) + "\n" +
         info.cause;
}

/// What `ranks` measured of the collectives `members`.
ExposureRow joinMembers(const Manifest &manifest, const ExposureSamples &samples,
                        const std::vector<int64_t> &ranks, const std::vector<int64_t> &members) {
  ExposureRow row;
  row.info = &manifest.collectives[members.front()];
  row.ranks = static_cast<int64_t>(ranks.size());
  row.predictedSeconds = row.predictedExposedSeconds = 0;
  double times = samples.steps(), means = times * static_cast<double>(row.ranks);
  auto predict = [&](std::optional<double> &sum, const std::optional<double> &us, double calls) {
    if (sum && us)
      *sum += *us * 1e-6 * calls / means;
    else
      sum.reset();
  };
  double calls = 0;
  for (int64_t rank : ranks) {
    double seconds = 0;
    for (int64_t member : members) {
      const CollectiveInfo &info = manifest.collectives[member];
      const ExposureSamples::Collective &sample = samples.ranks[rank].collectives[member];
      seconds += sample.seconds;
      calls += sample.calls;
      predict(row.predictedSeconds, info.predictedUs, sample.calls);
      predict(row.predictedExposedSeconds, info.predictedExposedUs, sample.calls);
    }
    row.seconds += seconds / means;
    row.mostSeconds = std::max(row.mostSeconds, seconds / times);
  }
  row.calls = std::llround(calls / means);
  return row;
}

} // namespace

std::vector<ExposureRow> joinExposure(const Manifest &manifest, const ExposureSamples &samples,
                                      ExposureDetail detail) {
  std::vector<ExposureRow> rows;
  std::vector<std::vector<int64_t>> stages = ranksByStage(manifest);
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    std::map<std::string, size_t> known;
    std::vector<std::vector<int64_t>> groups;
    for (size_t i = 0; i < manifest.collectives.size(); ++i) {
      bool isCalled = false;
      for (int64_t rank : stages[stage])
        isCalled |= samples.ranks[rank].collectives[i].calls > 0;
      if (!isCalled)
        continue;
      auto [place, isNew] = known.emplace(keyOf(manifest.collectives[i], detail), groups.size());
      if (isNew)
        groups.emplace_back();
      groups[place->second].push_back(static_cast<int64_t>(i));
    }
    for (const std::vector<int64_t> &members : groups) {
      rows.push_back(joinMembers(manifest, samples, stages[stage], members));
      if (stages.size() > 1)
        rows.back().stage = static_cast<int64_t>(stage);
    }
  }
  return rows;
}

} // namespace ulsc::runtime

// What ranks waited for, beside what the compiler predicted: a table for people, an object for
// programs.
#include "core/error.h"
#include "metrics/exposure.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

namespace ulsc::runtime {

namespace {

constexpr size_t tableRows = 6, sourceWidth = 44;

using Line = std::vector<std::string>;

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", seconds * 1e3);
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%", share * 100);
  return text;
}

std::string shortened(const std::string &source) {
  return source.size() <= sourceWidth ? source : source.substr(0, sourceWidth - 3) + "...";
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ",") + word;
  return text;
}

/// Columns as wide as their widest cells, the last `numbers` of them to the right.
std::string align(const std::vector<Line> &lines, size_t numbers) {
  std::vector<size_t> widths(lines.front().size());
  for (const Line &line : lines)
    for (size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], line[i].size());
  std::string text;
  for (const Line &line : lines) {
    std::string row;
    for (size_t i = 0; i < line.size(); ++i) {
      std::string space(widths[i] - line[i].size(), ' ');
      row += "  " + (i + numbers >= line.size() ? space + line[i] : line[i] + space);
    }
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

/// Of a step and rank, over all ranks.
double meanStepSeconds(const ExposureSamples &samples) {
  double sum = 0;
  for (const ExposureSamples::Rank &rank : samples.ranks)
    sum += rank.stepSeconds;
  return sum / samples.steps() / static_cast<double>(samples.ranks.size());
}

/// What a rank of all waited on average for a row, which may be of some of them.
double meanOverAll(const ExposureSamples &samples, const ExposureRow &row) {
  return row.seconds * static_cast<double>(row.ranks) / static_cast<double>(samples.ranks.size());
}

double meanOverAll(const ExposureSamples &samples, const std::vector<ExposureRow> &rows,
                   size_t first = 0) {
  double sum = 0;
  for (size_t i = first; i < rows.size(); ++i)
    sum += meanOverAll(samples, rows[i]);
  return sum;
}

std::string stepsText(const ExposureSamples &samples) {
  if (samples.firstStep == samples.lastStep)
    return concat("in step ", samples.lastStep);
  return concat("in the mean of steps ", samples.firstStep, " to ", samples.lastStep);
}

/// The columns of a table; those of what the rows lack are left out.
struct Columns {
  bool hasStages, hasPredictedExposed;

  Line titles() const {
    Line line = {"source", "kind", "axes", "calls", "predicted transfer ms"};
    if (hasStages)
      line.insert(line.begin(), "stage");
    if (hasPredictedExposed)
      line.push_back("predicted exposed ms");
    line.insert(line.end(), {"exposed ms", "most", "share"});
    return line;
  }
  size_t numbers() const { return hasPredictedExposed ? 6 : 5; }

  /// `share` is of the steps of all ranks, so that those of all rows add up.
  Line cells(const ExposureRow &row, double share) const {
    auto text = [](const std::optional<double> &seconds) {
      return seconds ? milliseconds(*seconds) : "-";
    };
    Line line = {shortened(row.info->source), row.info->kind, joined(row.info->axes),
                 std::to_string(row.calls), text(row.predictedSeconds)};
    if (hasStages)
      line.insert(line.begin(), std::to_string(row.stage));
    if (hasPredictedExposed)
      line.push_back(text(row.predictedExposedSeconds));
    line.insert(line.end(),
                {milliseconds(row.seconds), milliseconds(row.mostSeconds), percent(share)});
    return line;
  }

  /// Of rows that are not shown, which may be those of several stages.
  Line others(size_t rows, double seconds, double stepSeconds) const {
    Line line(titles().size());
    line[hasStages] = concat(rows, " others", hasStages ? ", mean of all ranks" : "");
    line[line.size() - 3] = milliseconds(seconds);
    line.back() = percent(seconds / stepSeconds);
    return line;
  }
};

} // namespace

std::string exposureTable(const Manifest &manifest, const ExposureSamples &samples) {
  std::vector<ExposureRow> rows = joinExposure(manifest, samples, ExposureDetail::Source);
  if (rows.empty())
    return "";
  std::sort(rows.begin(), rows.end(), [](const ExposureRow &a, const ExposureRow &b) {
    return std::tie(b.seconds, a.stage, a.info) < std::tie(a.seconds, b.stage, b.info);
  });
  Columns columns{rows.front().stage >= 0, false};
  for (const ExposureRow &row : rows)
    columns.hasPredictedExposed |= row.predictedExposedSeconds.has_value();
  double stepSeconds = meanStepSeconds(samples), waited = meanOverAll(samples, rows);
  std::vector<Line> lines = {columns.titles()};
  size_t shown = rows.size() <= tableRows + 1 ? rows.size() : tableRows;
  for (size_t i = 0; i < shown; ++i)
    lines.push_back(columns.cells(rows[i], meanOverAll(samples, rows[i]) / stepSeconds));
  if (shown < rows.size())
    lines.push_back(
        columns.others(rows.size() - shown, meanOverAll(samples, rows, shown), stepSeconds));
  return concat("exposed  ", percent(waited / stepSeconds), " of a step: ranks waited ",
                milliseconds(waited), " of ", milliseconds(stepSeconds), " ms for communication, ",
                stepsText(samples), "\n") +
         align(lines, columns.numbers());
}

nlohmann::ordered_json exposureRecord(const Manifest &manifest, const ExposureSamples &samples) {
  std::vector<ExposureRow> rows = joinExposure(manifest, samples, ExposureDetail::Report);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ExposureRow &row : rows) {
    const CollectiveInfo &info = *row.info;
    nlohmann::ordered_json object;
    if (row.stage >= 0)
      object["stage"] = row.stage;
    object["source"] = info.source;
    object["kind"] = info.kind;
    object["axes"] = info.axes;
    object["phase"] = info.phase;
    object["cause"] = info.cause;
    object["dtype"] = info.dtype;
    object["bytes"] = info.bytes;
    object["count_per_step"] = row.calls;
    if (row.predictedSeconds)
      object["predicted_ms"] = *row.predictedSeconds * 1e3;
    if (row.predictedExposedSeconds)
      object["predicted_exposed_ms"] = *row.predictedExposedSeconds * 1e3;
    object["exposed_ms"] = row.seconds * 1e3;
    object["most_exposed_ms"] = row.mostSeconds * 1e3;
    list.push_back(std::move(object));
  }
  nlohmann::ordered_json exposure = {{"first_step", samples.firstStep},
                                     {"last_step", samples.lastStep},
                                     {"step_ms", meanStepSeconds(samples) * 1e3},
                                     {"exposed_ms", meanOverAll(samples, rows) * 1e3},
                                     {"rows", std::move(list)}};
  return {{"exposure", std::move(exposure)}};
}

} // namespace ulsc::runtime

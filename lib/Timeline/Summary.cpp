//===- Summary.cpp - A timeline in a few numbers ----------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Support/Quantity.h"
#include "ulsc/Timeline/Timeline.h"

#include "llvm/Support/FormatVariadic.h"

using namespace ulsc;
using namespace ulsc::timeline;
namespace json = llvm::json;

static int64_t sum(const Bytes &bytes) {
  int64_t total = 0;
  for (int64_t value : bytes)
    total += value;
  return total;
}

json::Object timeline::makeReport(const Timeline &timeline, llvm::StringRef schedule) {
  json::Array inFlight, ranks;
  for (auto [program, rank] : llvm::zip_equal(timeline.program.ranks, timeline.ranks)) {
    inFlight.push_back(rank.inFlight);
    ranks.push_back(json::Object{{"stage", std::max<int64_t>(program.stage, 0)},
                                 {"work_us", rank.workUs},
                                 {"transfer_wait_us", rank.transferWaitUs},
                                 {"collective_wait_us", rank.collectiveWaitUs},
                                 {"call_wait_us", rank.callWaitUs},
                                 {"idle_share", rank.idleShare},
                                 {"peak_bytes", sum(rank.peak.bytes)}});
  }
  json::Object report{{"stages", int64_t(timeline.ranks.size())},
                      {"makespan_us", timeline.makespan},
                      {"idle_share", timeline.idleShare},
                      {"in_flight", std::move(inFlight)},
                      {"ranks", std::move(ranks)}};
  if (!schedule.empty())
    report["schedule"] = schedule.str();
  return report;
}

/// `12.3 ms`, in the unit of `scale`.
static std::string formatUs(double us, double scale) {
  return llvm::formatv("{0:F3} {1}",
                       scale >= 1e6   ? us / 1e6
                       : scale >= 1e3 ? us / 1e3
                                      : us,
                       scale >= 1e6   ? "s"
                       : scale >= 1e3 ? "ms"
                                      : "us")
      .str();
}

static std::string formatShare(double share) { return llvm::formatv("{0:P1}", share).str(); }

void timeline::print(llvm::raw_ostream &stream, const Timeline &timeline,
                     llvm::StringRef schedule) {
  bool hasStages = timeline.program.ranks.front().stage >= 0;
  double scale = timeline.makespan;
  stream << "predicted step: " << formatUs(scale, scale);
  if (hasStages)
    stream << " with " << timeline.ranks.size() << " stages, schedule " << schedule << ", idle "
           << formatShare(timeline.idleShare);
  stream << "\n";
  std::vector<std::vector<std::string>> table = {
      {hasStages ? "stage" : "rank", "work", "of it waits", "waits transfers", "waits collectives",
       "idle", "in flight", "peak memory"}};
  for (auto [program, rank] : llvm::zip_equal(timeline.program.ranks, timeline.ranks))
    table.push_back({hasStages ? std::to_string(program.stage) : "all",
                     formatUs(rank.workUs, scale), formatUs(rank.callWaitUs, scale),
                     formatUs(rank.transferWaitUs, scale), formatUs(rank.collectiveWaitUs, scale),
                     formatShare(rank.idleShare), std::to_string(rank.inFlight),
                     formatBinaryBytes(sum(rank.peak.bytes))});
  std::vector<size_t> widths(table.front().size());
  for (const auto &line : table)
    for (auto [width, cell] : llvm::zip_equal(widths, line))
      width = std::max(width, cell.size());
  for (const auto &line : table)
    for (auto [i, cell] : llvm::enumerate(line))
      stream << std::string(widths[i] - cell.size(), ' ') << cell
             << (i + 1 < line.size() ? "  " : "\n");
}

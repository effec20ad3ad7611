//===- communication.h - Programs whose traffic is counted -------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TEST_E2E_COMMUNICATION_H
#define ULSC_TEST_E2E_COMMUNICATION_H

#include "harness.h"

#include <map>

namespace ulsc::test::communication {

constexpr int64_t kSteps = 3, kBatch = 16, kSeq = 32;

/// What is trained, and where.
struct Case {
  std::string model;
  int64_t dp, tp, microbatches;
  std::string strategy = "";
  /// `--reshard-after-forward`.
  std::string reshard = "true";
  /// The recipe's patterns of units.
  std::vector<std::string> units = {};
  /// `--recompute`.
  std::string recompute = "selective:norm,act,gather";
  /// Pipeline stages, and their schedule.
  int64_t pp = 1;
  std::string schedule = "";
  int64_t chunks = 1;

  std::string mesh() const {
    return (pp > 1 ? "pp=" + std::to_string(pp) + "," : "") + "dp=" + std::to_string(dp) +
           ",tp=" + std::to_string(tp);
  }
  int ranks() const { return int(pp * dp * tp); }
};

inline std::ostream &operator<<(std::ostream &stream, const Case &c) {
  return stream << c.model << " " << c.mesh() << " " << c.strategy << ", " << c.microbatches
                << " microbatches";
}

/// The program of a case, and its report in `report`.
std::filesystem::path compileCase(const Case &c, std::filesystem::path &report);

/// What travels in a step for one reason: the report has a line for it, the program one or more
/// collectives.
struct Traffic {
  int64_t count = 0, bytes = 0;
  bool operator==(const Traffic &other) const {
    return count == other.count && bytes == other.bytes;
  }
};
inline std::ostream &operator<<(std::ostream &stream, const Traffic &traffic) {
  return stream << traffic.count << " calls, " << traffic.bytes << " bytes";
}

/// A reason as the text that tells it from others.
std::string reasonOf(const std::string &kind, const std::vector<std::string> &axes,
                     const std::string &phase, const std::string &cause);

using TrafficByReason = std::map<std::string, Traffic>;

/// Names the reasons that differ alone.
void expectEqual(const TrafficByReason &actual, const TrafficByReason &expected,
                 const std::string &where);

/// What the report says of `steps` steps; with pipeline stages, of one of them.
TrafficByReason reported(const nlohmann::json &report, int64_t steps, int64_t stage = -1);

/// Runs the program of a case and compares what each rank's MPI calls moved with its report.
void expectReportEqualsWhatTravelled(const Case &c);

/// Names, and sizes in elements, of what a model exchanges.
struct Model {
  std::string embed, attentionOut, mlpOut, mlpIn, attentionIn, attentionInRule;
  int64_t layers, hidden;
  /// Gradients that become final together, and why they are summed; every tp rank has the whole of
  /// the first size, a part of the second.
  struct Bucket {
    int64_t calls, whole, divided;
    std::vector<std::string> summed;
  };
  std::vector<Bucket> buckets;
};

Model describe(const std::string &name, int64_t tp);

} // namespace ulsc::test::communication

#endif // ULSC_TEST_E2E_COMMUNICATION_H

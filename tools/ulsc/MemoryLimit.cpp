//===- MemoryLimit.cpp - A program that stays within --memory-limit
//----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "tools/ulsc/MemoryLimit.h"

#include "passes/Schedule/FitMemory.h"
#include "passes/Schedule/RecomputePolicy.h"
#include "ulsc/Report.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::tool;

std::optional<int64_t> ulsc::tool::parseBytes(StringRef text) {
  static constexpr std::pair<StringRef, double> units[] = {
      {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
      {"KB", 1e3},     {"kB", 1e3},        {"MB", 1e6},           {"GB", 1e9},
      {"TB", 1e12},    {"B", 1},
  };
  double scale = 1, number = 0;
  for (auto [unit, value] : units)
    if (text.consume_back(unit)) {
      scale = value;
      break;
    }
  text = text.trim();
  bool isNumber = !text.empty() && (llvm::isDigit(text.front()) || text.front() == '.') &&
                  !text.getAsDouble(number);
  // Beyond what any device has, and within what a double holds to the byte.
  constexpr double most = 9e15;
  if (!isNumber || number * scale < 1 || number * scale > most)
    return std::nullopt;
  return int64_t(number * scale);
}

/// `70.0 GB`; the exact number where it is short.
static std::string formatBytes(int64_t bytes) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
  double value = double(bytes);
  unsigned unit = 0;
  for (; value >= 1000 && unit < 4; ++unit)
    value /= 1000;
  return llvm::formatv(unit == 0 ? "{0:F0} {1}" : "{0:F2} {1}", value, units[unit]).str();
}

namespace {
/// Rows of memory in the order in which they are there, and what makes each smaller.
struct MemoryRow {
  StringRef name, advice;
};

/// Plans copies of a module.
class Planner {
public:
  Planner(ModuleOp module, const StageOptions &options) : module(module), options(options) {}

  FailureOr<PlannedPolicy> plan(const std::string &policy);
  /// The row of `memory` of the smallest plan so far.
  const llvm::json::Object &getSmallest() const { return smallest; }

private:
  FailureOr<PlannedPolicy> planCopy(const std::string &policy);
  LogicalResult runStage(ModuleOp copy, StringRef name, const StageOptions &options);

  ModuleOp module;
  const StageOptions &options;
  llvm::json::Object smallest;
  unsigned numPlans = 0;
};
} // namespace

static constexpr MemoryRow kRows[] = {
    {"parameters",
     "divide them over data ranks (--strategy zero3) or the model over more devices (a "
     "larger tp)"},
    {"gradients", "divide them over data ranks (--strategy zero2 or zero3) or the model over more "
                  "devices (a larger tp)"},
    {"optimizer", "divide it over data ranks (--strategy zero1, zero2 or zero3) or the model over "
                  "more devices (a larger tp), or use --optimizer sgd"},
    {"communication", "divide the model over more devices (a larger tp)"},
    {"activations", "use a smaller --micro-batch, a shorter --seq, a larger tp, or sp beside tp"},
    {"temporaries", "use a smaller --micro-batch, a shorter --seq or a larger tp"},
    {"workspaces", "use a smaller --micro-batch, --attention own, or --target cpu for a model as "
                   "small as this: on GPUs products get 32 MiB whatever the model"},
};

LogicalResult Planner::runStage(ModuleOp copy, StringRef name, const StageOptions &options) {
  auto fail = [&](const Twine &message) -> LogicalResult { return copy.emitError() << message; };
  for (const Stage &stage : getStages()) {
    if (stage.name != name)
      continue;
    PassManager manager(copy.getContext());
    manager.enableVerifier(options.verifiesEach);
    return failure(failed(buildStage(manager, stage, options, fail)) || failed(manager.run(copy)));
  }
  return failure();
}

FailureOr<PlannedPolicy> Planner::plan(const std::string &policy) {
  bool isOnTerminal = llvm::errs().is_displayed();
  if (isOnTerminal)
    llvm::errs() << "\rplan " << ++numPlans << ": recompute " << policy << "\x1b[K";
  FailureOr<PlannedPolicy> planned = planCopy(policy);
  if (isOnTerminal)
    llvm::errs() << "\r\x1b[K";
  return planned;
}

FailureOr<PlannedPolicy> Planner::planCopy(const std::string &policy) {
  OwningOpRef<ModuleOp> copy(module.clone());
  // The plan that is taken gives its remarks when it is compiled.
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &diagnostic) {
    return success(diagnostic.getSeverity() == DiagnosticSeverity::Remark);
  });
  StageOptions changed = options;
  changed.options["scheduled"] += " recompute=" + policy;
  if (failed(runStage(*copy, "scheduled", changed)))
    return failure();
  llvm::json::Object recompute = report::makeRecompute(*copy);
  if (failed(runStage(*copy, "exec", changed)))
    return failure();
  // Of pipeline stages, the one that needs most.
  llvm::json::Object memory;
  for (const llvm::json::Value &row : report::makeMemory(*copy))
    if (row.getAsObject()->getInteger("peak") > memory.getInteger("peak").value_or(-1))
      memory = *row.getAsObject();
  PlannedPolicy planned;
  planned.policy = policy;
  planned.peakBytes = memory.getInteger("peak").value_or(0);
  for (StringRef row : {"parameters", "gradients", "optimizer"})
    planned.persistentBytes += memory.getInteger(row).value_or(0);
  planned.recomputedUs = recompute.getNumber("predicted_us").value_or(0);
  std::optional<int64_t> peak = smallest.getInteger("peak");
  if (!peak || planned.peakBytes < *peak)
    smallest = std::move(memory);
  return planned;
}

/// The first row with which the sum of the rows exceeds the limit.
static const MemoryRow &findRow(const llvm::json::Object &memory, int64_t limit) {
  int64_t sum = 0;
  for (const MemoryRow &row : kRows)
    if ((sum += memory.getInteger(row.name).value_or(0)) > limit)
      return row;
  return kRows[std::size(kRows) - 1];
}

static LogicalResult fail(int64_t limit, const Twine &which, const std::string &policy,
                          const llvm::json::Object &memory, StringRef remedy) {
  const MemoryRow &row = findRow(memory, limit);
  std::string rows;
  for (const MemoryRow &known : kRows)
    rows += (rows.empty() ? "" : ", ") + known.name.str() + " " +
            formatBytes(memory.getInteger(known.name).value_or(0));
  int64_t peak = memory.getInteger("peak").value_or(0);
  std::optional<int64_t> stage = memory.getInteger("stage");
  llvm::errs() << "ulsc: error: --memory-limit " << limit << " can't be met: " << which
               << (stage ? " of stage " + std::to_string(*stage) : "") << " is " << peak
               << " bytes (--recompute " << policy << "), and its row " << row.name
               << " makes it impossible: " << rows << "; " << remedy << row.advice << "\n";
  return failure();
}

LogicalResult ulsc::tool::applyMemoryLimit(ModuleOp module, int64_t limit,
                                           const std::string &policy, StageOptions &options) {
  Planner planner(module, options);
  auto plan = [&](const std::string &policy) { return planner.plan(policy); };
  if (!policy.empty()) {
    FailureOr<PlannedPolicy> planned = plan(policy);
    if (failed(planned))
      return failure();
    if (planned->peakBytes > limit)
      return fail(limit, "the peak", policy, planner.getSmallest(),
                  "leave out --recompute to have it chosen, or ");
    options.options["scheduled"] += " recompute=" + policy;
    return success();
  }
  FailureOr<MemoryFit> fit = fitMemory(module, limit, plan);
  if (failed(fit))
    return failure();
  if (fit->isHopeless)
    return fail(limit,
                "what lasts between steps takes " + std::to_string(fit->smallest.persistentBytes) +
                    " bytes alone, and with activations the peak",
                fit->smallest.policy, planner.getSmallest(), "");
  if (!fit->chosen)
    return fail(limit, "the smallest peak found", fit->smallest.policy, planner.getSmallest(), "");
  options.options["scheduled"] += " recompute=" + fit->chosen->policy;
  llvm::errs() << "recompute " << fit->chosen->policy << ": a peak of " << fit->chosen->peakBytes
               << " bytes is within --memory-limit " << limit << "\n";
  return success();
}

//===- MeasuredCosts.cpp - How long blocks took in a run --------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Cost/MeasuredCosts.h"

#include "ulsc/Support/JsonFile.h"
#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::cost;

/// More than eleven days.
static constexpr double kMostUs = 1e12;

/// A trace has a line for each kernel of its steps on each rank.
static constexpr uint64_t kMostBytes = uint64_t(256) << 20;

namespace {
/// The calls of a block in a trace.
struct BlockCalls {
  double forwardUs = 0, backwardUs = 0;
  int64_t forwards = 0;
};
} // namespace

/// Adds a call of a block's function: `layer.fwd`, `layer.bwd.acc`, `layer.again`. What has no
/// backward, as a frozen embedding, is called by its block's plain name.
static void addCall(llvm::MapVector<StringRef, BlockCalls> &calls, StringRef function, double us) {
  for (StringRef part : {".fwd", ".bwd", ".again"}) {
    size_t end = function.rfind(part);
    if (end == StringRef::npos)
      continue;
    BlockCalls &block = calls[function.take_front(end)];
    bool isForward = part == ".fwd";
    (isForward ? block.forwardUs : block.backwardUs) += us;
    block.forwards += isForward;
    return;
  }
  BlockCalls &block = calls[function];
  block.forwardUs += us;
  ++block.forwards;
}

/// A time whose sums and squares stay finite.
static bool isLegalTime(std::optional<double> us) { return us && *us >= 0 && *us <= kMostUs; }

static std::string describeModel(const Workload &workload) {
  return workload.model + " (" + workload.family + ", " + std::to_string(workload.parameters) +
         " parameters)";
}

/// What a trace says of its program; nothing where it lacks a part of it.
static std::optional<Workload> readWorkload(const llvm::json::Object &root) {
  const llvm::json::Object *data = root.getObject("otherData");
  if (!data)
    return std::nullopt;
  Workload workload;
  bool isWhole = true;
  auto text = [&](StringRef key, std::string &value) {
    std::optional<StringRef> found = data->getString(key);
    isWhole &= found.has_value();
    value = found.value_or("").str();
  };
  auto number = [&](StringRef key, int64_t &value) {
    std::optional<int64_t> found = data->getInteger(key);
    isWhole &= found.has_value();
    value = found.value_or(0);
  };
  text("model", workload.model);
  text("family", workload.family);
  text("dtype", workload.dtype);
  number("parameters", workload.parameters);
  number("seq", workload.seq);
  number("micro_batch", workload.microBatch);
  return isWhole ? std::optional<Workload>(workload) : std::nullopt;
}

/// Whether a trace's times are those of `own`. A model is known by its family and size, whatever
/// its folder is called.
static bool checkWorkload(const JsonFile &file, const Workload &own) {
  std::optional<Workload> traced = readWorkload(*file.getRoot().getAsObject());
  if (!traced) {
    file.emitError("/traceEvents")
        << "the trace does not say of which model it is (\"otherData\"), as those of programs of "
           "earlier versions; compile the program again and run it with --trace, or give times by "
           "hand, as {\"costs\": {\"layer\": {\"forward_us\": 120, \"backward_us\": 250}, …}}";
    return false;
  }
  auto at = [](StringRef key) { return ("/otherData/" + key).str(); };
  bool isLegal = true;
  if (traced->family != own.family || traced->parameters != own.parameters) {
    file.emitError(at("model")) << "the trace is of model " << describeModel(*traced)
                                << ", expected one of " << describeModel(own);
    isLegal = false;
  }
  if (traced->dtype != own.dtype) {
    file.emitError(at("dtype")) << "the trace is of --dtype " << traced->dtype
                                << ", expected one of --dtype " << own.dtype
                                << ", as this compilation has";
    isLegal = false;
  }
  // Only proportions count. Those of attention to products change with the length.
  if (isLegal && (traced->seq != own.seq || traced->microBatch != own.microBatch))
    file.emitWarning(at("seq")) << "the trace is of micro-batches of " << traced->microBatch
                                << " × " << traced->seq << " tokens, this compilation has "
                                << own.microBatch << " × " << own.seq
                                << "; the proportions of its blocks' times may be others";
  return isLegal;
}

/// A call's time without what it started and waited for: how late others are says nothing of the
/// block.
static double getOwnTime(const llvm::json::Object &event, double duration) {
  const llvm::json::Object *arguments = event.getObject("args");
  double waited = arguments ? arguments->getNumber("waited_us").value_or(0) : 0;
  return std::clamp(duration - waited, 0.0, duration);
}

static std::optional<MeasuredCosts> readTrace(const JsonFile &file,
                                              const llvm::json::Array &events) {
  llvm::MapVector<StringRef, BlockCalls> calls;
  for (auto [i, value] : llvm::enumerate(events)) {
    const llvm::json::Object *event = value.getAsObject();
    if (!event || event->getString("cat") != StringRef("block"))
      continue;
    std::optional<StringRef> name = event->getString("name");
    const llvm::json::Value *duration = event->get("dur");
    if (!name || !duration)
      continue;
    if (!isLegalTime(duration->getAsNumber())) {
      file.emitError("/traceEvents/" + std::to_string(i) + "/dur")
          << "\"dur\" of event " << i << ", " << shorten(*name) << ", is "
          << describeJson(*duration) << ", expected microseconds from 0 to 1e12";
      return std::nullopt;
    }
    addCall(calls, *name, getOwnTime(*event, *duration->getAsNumber()));
  }
  MeasuredCosts costs;
  for (auto &[name, block] : calls) {
    // A frozen beginning of the model has no backward; all else has both.
    if (!block.forwards) {
      file.emitError("/traceEvents") << "the trace has calls of block " << name
                                     << " only backward, expected whole steps of training";
      return std::nullopt;
    }
    // Several calls may make up a backward, but each has one forward.
    costs[name.str()] = {block.forwardUs / double(block.forwards),
                         block.backwardUs / double(block.forwards),
                         file.getLocation("/traceEvents")};
  }
  if (!costs.empty())
    return costs;
  file.emitError("/traceEvents") << "the trace has no span of a block (\"cat\": \"block\"), "
                                    "expected one that a compiled program wrote with --trace";
  return std::nullopt;
}

/// Reads `{"forward_us": 120, "backward_us": 250}`.
static bool readCost(const JsonFile &file, const std::string &path, const llvm::json::Value &value,
                     MeasuredCost &cost) {
  static constexpr StringRef keys[] = {"forward_us", "backward_us"};
  const llvm::json::Object *object = value.getAsObject();
  std::string what = "the cost of \"" + StringRef(path).rsplit('/').second.str() + "\" ";
  if (!object) {
    file.emitError(path)
        << what << "is " << describeJson(value)
        << ", expected an object as in {\"forward_us\": 120, \"backward_us\": 250}";
    return false;
  }
  bool isLegal = true;
  for (const std::string &key : file.getKeys(path))
    if (!llvm::is_contained(keys, key)) {
      isLegal = false;
      file.emitError(path + "/" + key)
          << "\"" << shorten(key) << "\" is no key of a cost; expected one of "
          << llvm::join(ArrayRef<StringRef>(keys), ", ") << suggestNearest(key, keys);
    }
  for (StringRef key : keys) {
    const llvm::json::Value *given = object->get(key);
    std::optional<double> number = given ? given->getAsNumber() : std::nullopt;
    if (isLegalTime(number)) {
      (key == "forward_us" ? cost.forwardUs : cost.backwardUs) = *number;
      continue;
    }
    isLegal = false;
    if (given)
      file.emitError(path + "/" + key.str()) << "\"" << key << "\" is " << describeJson(*given)
                                             << ", expected microseconds from 0 to 1e12";
    else
      file.emitError(path) << what << "has no \"" << key
                           << "\", expected microseconds from 0 to 1e12";
  }
  cost.location = file.getLocation(path);
  return isLegal;
}

/// A file of costs holds nothing else: what it has beside them would not be looked at.
static bool checkRoot(const JsonFile &file) {
  bool isLegal = true;
  for (const std::string &key : file.getKeys("")) {
    if (key == "costs")
      continue;
    isLegal = false;
    InFlightDiagnostic error = file.emitError("/" + key);
    if (key == "traceEvents")
      error << "the file has \"costs\" and \"traceEvents\", expected one of them: times by hand, "
               "or a trace; take one out";
    else
      error << "\"" << shorten(key) << "\" stands beside \"costs\", expected \"costs\" alone; take "
            << "it out";
  }
  return isLegal;
}

std::optional<MeasuredCosts> cost::readMeasuredCosts(MLIRContext *context, StringRef path,
                                                     const Workload &own) {
  std::optional<JsonFile> file = JsonFile::load(context, path, kMostBytes);
  if (!file)
    return std::nullopt;
  const llvm::json::Object *root = file->getRoot().getAsObject();
  if (root && root->get("costs") && !checkRoot(*file))
    return std::nullopt;
  if (const llvm::json::Array *events = root ? root->getArray("traceEvents") : nullptr)
    return checkWorkload(*file, own) ? readTrace(*file, *events) : std::nullopt;
  const llvm::json::Object *object = root ? root->getObject("costs") : nullptr;
  if (!object) {
    file->emitError("") << "the file is " << describeJson(file->getRoot())
                        << ", expected a program's trace, with \"traceEvents\", or an object "
                           "\"costs\" from blocks to their costs";
    return std::nullopt;
  }
  MeasuredCosts costs;
  bool isLegal = true;
  for (const std::string &name : file->getKeys("/costs"))
    isLegal &= readCost(*file, "/costs/" + name, *object->get(name), costs[name]);
  return isLegal ? std::optional<MeasuredCosts>(std::move(costs)) : std::nullopt;
}

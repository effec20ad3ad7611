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
    addCall(calls, *name, *duration->getAsNumber());
  }
  MeasuredCosts costs;
  for (auto &[name, block] : calls) {
    // A frozen beginning of the model has no backward; all else has both.
    if (!block.forwards) {
      file.emitError("/traceEvents")
          << "has calls of block " << name << " only backward, expected whole steps of training";
      return std::nullopt;
    }
    // Several calls may make up a backward, but each has one forward.
    costs[name.str()] = {block.forwardUs / double(block.forwards),
                         block.backwardUs / double(block.forwards),
                         file.getLocation("/traceEvents")};
  }
  if (!costs.empty())
    return costs;
  file.emitError("/traceEvents") << "has no span of a block (\"cat\": \"block\"), expected a trace "
                                    "that a compiled program wrote with --trace";
  return std::nullopt;
}

/// Reads `{"forward_us": 120, "backward_us": 250}`.
static bool readCost(const JsonFile &file, const std::string &path, const llvm::json::Value &value,
                     MeasuredCost &cost) {
  static constexpr StringRef keys[] = {"forward_us", "backward_us"};
  const llvm::json::Object *object = value.getAsObject();
  if (!object) {
    file.emitError(path)
        << "is " << describeJson(value)
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
      file.emitError(path) << "has no \"" << key << "\", expected microseconds from 0 to 1e12";
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

std::optional<MeasuredCosts> cost::readMeasuredCosts(MLIRContext *context, StringRef path) {
  std::optional<JsonFile> file = JsonFile::load(context, path, kMostBytes);
  if (!file)
    return std::nullopt;
  const llvm::json::Object *root = file->getRoot().getAsObject();
  if (root && root->get("costs") && !checkRoot(*file))
    return std::nullopt;
  if (const llvm::json::Array *events = root ? root->getArray("traceEvents") : nullptr)
    return readTrace(*file, *events);
  const llvm::json::Object *object = root ? root->getObject("costs") : nullptr;
  if (!object) {
    file->emitError("") << "is " << describeJson(file->getRoot())
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

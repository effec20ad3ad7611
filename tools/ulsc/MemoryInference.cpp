//===- MemoryInference.cpp - Memory of serving a model ----------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "tools/ulsc/MemoryInference.h"

#include "tools/ulsc/Compilation.h"
#include "ulsc/Support/Quantity.h"

#include "dialects/Uls/Uls.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::tool;

namespace {
/// What one rank holds to serve sequences. Ranks along data axes are replicas of the model, among
/// which sequences are shared out.
struct Serving {
  std::string name;
  int64_t parameters = 0, devices = 1, replicas = 1;
  int64_t heldParameters = 0, replicatedParameters = 0;
  int64_t tokenBytes = 0, sequenceBytes = 0, weightBytes = 0;
  /// Ranks that would have to divide the key/value heads, and whether they don't.
  int64_t headRanks = 1;
  bool isCacheReplicated = false;
};
} // namespace

static int64_t getRanks(const Recipe &recipe, StringRef axis) {
  int64_t ranks = 1;
  if (const AxisRule *rule = recipe.findRule(axis))
    for (const std::string &name : rule->meshAxes)
      ranks *= std::max<int64_t>(recipe.getAxisSize(name), 1);
  return ranks;
}

/// Elements of a parameter on one rank: a rule divides the dimension that it names if that divides,
/// query heads one by one. A compiled training program asks for more: whole groups of heads.
static int64_t countHeld(uls::ParamOp param, const Recipe &recipe) {
  ArrayRef<int64_t> shape = param.getTensorType().getShape();
  int64_t held = param.getTensorType().getNumElements();
  for (auto [dim, axis] : llvm::enumerate(param.getAxes().getAsRange<StringAttr>())) {
    int64_t ranks = getRanks(recipe, axis.getValue()), size = shape[dim];
    if (axis.getValue() == "heads" && dim + 1 < shape.size())
      size *= shape[dim + 1];
    if (size % ranks == 0)
      held /= ranks;
  }
  return held;
}

static bool measure(Compilation &compilation, const MemoryRequest &request, Serving &serving) {
  ModuleOp module = compilation.getModule();
  const Recipe &recipe = compilation.getRecipe();
  auto model = module->getAttrOfType<DictionaryAttr>("uls.model");
  serving.name = model.getAs<StringAttr>("name").str();
  serving.parameters = report::countParameters(module);
  serving.devices = recipe.getDeviceCount();
  serving.replicas = recipe.getDataRanks();
  for (auto param : module.getOps<uls::ParamOp>()) {
    int64_t held = countHeld(param, recipe);
    serving.heldParameters += held;
    if (held == param.getTensorType().getNumElements())
      serving.replicatedParameters += held;
  }
  serving.weightBytes = serving.heldParameters * memory::getDtypeBytes(request.dtypes.stored);
  serving.headRanks = getRanks(recipe, "kv_heads");
  serving.tokenBytes =
      memory::computeCacheBytesPerToken(memory::collectCacheLayers(module), request.dtypes.stored,
                                        serving.headRanks, serving.isCacheReplicated);
  std::optional<int64_t> sequence = llvm::checkedMul(serving.tokenBytes, request.seq);
  if (!sequence)
    return !reportUsageError(
        "--seq is " + Twine(request.seq) +
        ", whose key/value cache has more than 2^63 bytes; give a shorter one");
  serving.sequenceBytes = *sequence;
  return true;
}

static void add(std::vector<std::vector<std::string>> &table, StringRef name, int64_t bytes) {
  table.push_back(
      {name.str(), formatExactBytes(bytes), formatDecimalBytes(bytes), formatBinaryBytes(bytes)});
}

/// The largest number of sequences that fit beside the weights, over all replicas.
static void printLargest(MemoryOutput &output, const MemoryRequest &request,
                         const Serving &serving) {
  int64_t memory = *request.deviceMemory, rest = memory - serving.weightBytes;
  int64_t each = rest < 0 || !serving.sequenceBytes ? 0 : rest / serving.sequenceBytes;
  int64_t largest =
      llvm::checkedMul(each, serving.replicas).value_or(std::numeric_limits<int64_t>::max());
  output.document["device_memory"] = memory;
  output.document["largest_concurrency"] = largest;
  std::string of =
      "device memory " + formatExactBytes(memory) + " (" + formatDecimalBytes(memory) + "): ";
  if (rest < 0)
    output.print(of + "the weights alone are " + formatDecimalBytes(-rest) +
                 " too much; a larger tp divides them");
  else
    output.print(of + "largest concurrency " + formatCount(largest) + " sequences of " +
                 formatCount(request.seq) + " tokens" +
                 (serving.replicas > 1 ? ", " + formatCount(each) + " a replica" : ""));
}

static void print(MemoryOutput &output, const MemoryRequest &request, const Serving &serving,
                  std::optional<int64_t> total) {
  output.print(serving.name + ": " + formatCount(serving.parameters) + " parameters on " +
               formatCount(serving.devices) + (serving.devices == 1 ? " device" : " devices") +
               ", weights and cache in " + memory::getDtypeName(request.dtypes.stored));
  if (serving.replicas > 1)
    output.print(formatCount(serving.replicas) + " replicas share out the sequences");
  std::vector<std::vector<std::string>> table;
  add(table, "  weights", serving.weightBytes);
  if (serving.heldParameters != serving.parameters)
    add(table, "    replicated",
        serving.replicatedParameters * memory::getDtypeBytes(request.dtypes.stored));
  add(table, "  key/value cache of a token", serving.tokenBytes);
  add(table, "  key/value cache of a sequence of " + formatCount(request.seq),
      serving.sequenceBytes);
  llvm::json::Object inference{{"weights", serving.weightBytes},
                               {"cache_per_token", serving.tokenBytes},
                               {"cache_per_sequence", serving.sequenceBytes},
                               {"seq", request.seq},
                               {"is_cache_replicated", serving.isCacheReplicated}};
  if (total) {
    int64_t held = llvm::divideCeil(*request.sequences, serving.replicas);
    add(table,
        "  key/value cache of " + formatCount(held) + (held == 1 ? " sequence" : " sequences"),
        *total - serving.weightBytes);
    add(table, "  total", *total);
    inference["concurrency"] = *request.sequences;
    inference["total"] = *total;
  }
  output.print("a rank");
  output.print(table, "lrrr");
  output.document["model"] =
      llvm::json::Object{{"name", serving.name}, {"parameters", serving.parameters}};
  output.document["inference"] = std::move(inference);
  if (serving.isCacheReplicated)
    output.print("the key/value heads are replicated: " + Twine(serving.headRanks) +
                 " ranks do not divide them, so that each holds all");
  if (total && request.deviceMemory) {
    int64_t margin = *request.deviceMemory - *total;
    output.document["fits"] = margin >= 0;
    output.document["margin"] = margin;
    output.print(margin >= 0 ? "fits, " + formatDecimalBytes(margin) + " left"
                             : "does not fit, " + formatDecimalBytes(-margin) + " too much");
  }
}

int ulsc::tool::runInference(const Arguments &asked, const MemoryRequest &request,
                             MemoryOutput &output) {
  Arguments arguments(asked);
  // Only parameters and attentions matter here, whose sizes do not depend on it.
  if (request.dtypes.stored == memory::Dtype::F16)
    arguments.erase("dtype");
  Compilation compilation(arguments, /*showsRemarks=*/false, Purpose::Parameters);
  Serving serving;
  if (!compilation.prepare())
    return 1;
  if (int64_t stages = compilation.getRecipe().getAxisSize("pp"); stages > 1)
    return reportUsageError("the mesh has pp=" + Twine(stages) +
                            ": --inference tells no pipeline stages, only ranks that are alike; "
                            "take pp out (a larger tp divides weights and cache), or ask about "
                            "training, without --inference");
  if (!measure(compilation, request, serving))
    return 1;
  std::optional<int64_t> total;
  if (request.sequences) {
    int64_t held = llvm::divideCeil(*request.sequences, serving.replicas);
    std::optional<int64_t> cache = llvm::checkedMul(serving.sequenceBytes, held);
    total = cache ? llvm::checkedAdd(*cache, serving.weightBytes) : std::nullopt;
    if (!total)
      return reportUsageError(
          "--concurrency is " + Twine(*request.sequences) +
          ", whose key/value cache has more than 2^63 bytes; give a smaller one");
  }
  print(output, request, serving, total);
  if (request.deviceMemory)
    printLargest(output, request, serving);
  output.print("weights and cache only: activations are not included");
  return 0;
}

//===- MemoryRequest.cpp - What ulsc memory is asked ------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "tools/ulsc/MemoryRequest.h"

#include "tools/ulsc/Compilation.h"
#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"

using namespace ulsc;
using namespace ulsc::tool;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

static const OptionSpec kOwnOptions[] = {
    {"params", "N", "number of parameters, as 70e9, instead of a MODEL"},
    {"device-memory", "BYTES", "memory of a device, as 80e9 or 80GiB: what fits, what to blame"},
    {"min-devices", "", "the fewest devices on which the state fits --device-memory"},
    {"compare-dtype", "", "the state in several dtypes"},
    {"inference", "", "weights and key/value cache of serving instead of training"},
    {"concurrency", "N", "with --inference: sequences served at once"},
    {"json", "FILE", "write the answer as one JSON document; - for stdout, without the text"},
    {"dtype", "f32|bf16|f16",
     "dtype of the stored copy and of compute, and of weights and cache (default f32)"},
    {"grad-dtype", "f32|bf16|f16", "dtype of gradients (default f32; f16 with --params alone)"},
    {"master-dtype", "f32|bf16|f16|none",
     "dtype of the optimizer's parameters (default f32; bf16 and f16 with --params alone)"},
    {"moment-dtype", "f32|bf16|f16",
     "dtype of the optimizer's moments (default f32; f16 with --params alone)"},
    {"reduce-dtype", "f32|bf16|f16",
     "dtype in which gradients are summed over ranks (default: "
     "--grad-dtype); it changes no byte of the state"},
    {"strategy", "NAME+...",
     "presets, as ddp, zero1, zero2, zero3 (fsdp), hsdp, tp, sp; without a model or a batch the "
     "default is a table"},
    {"seq", "N", "length of a sequence; with --batch, activations are told, too"},
    {"batch", "N", "global batch in sequences"},
};

ArrayRef<OptionSpec> ulsc::tool::getMemoryOptions() {
  static const std::vector<OptionSpec> options = [] {
    std::vector<OptionSpec> all(std::begin(kOwnOptions), std::end(kOwnOptions));
    for (const OptionSpec &option : getModelOptions())
      if (llvm::none_of(kOwnOptions,
                        [&](const OptionSpec &own) { return own.name == option.name; }))
        all.push_back(option);
    return all;
  }();
  return options;
}

bool ulsc::tool::isCompileOption(StringRef name) {
  return llvm::any_of(getModelOptions(), [&](const OptionSpec &option) {
    return option.name == name && option.later.empty();
  });
}

namespace {
class RequestReader {
public:
  explicit RequestReader(const Arguments &arguments) : arguments(arguments) {}
  std::optional<MemoryRequest> run();

private:
  bool fail(const Twine &message) { return !reportUsageError(message); }
  bool readSubject();
  bool readNumbers();
  bool readDtypes();
  bool readStrategy();
  bool readMesh();
  bool checkAxesOfStrategy();
  bool checkOptionsOf(StringRef mode, ArrayRef<StringRef> refused, StringRef fix);

  const Arguments &arguments;
  MemoryRequest request;
};
} // namespace

/// Options that mean nothing in a mode, all at once.
bool RequestReader::checkOptionsOf(StringRef mode, ArrayRef<StringRef> refused, StringRef fix) {
  bool isLegal = true;
  for (StringRef name : refused)
    if (arguments.has(name))
      isLegal = fail("--" + name + " has no meaning with " + mode + ": " + fix);
  return isLegal;
}

bool RequestReader::readSubject() {
  bool isLegal = true;
  request.parameters =
      arguments.getQuantity("params", memory::kMostParameters, /*isOfBytes=*/false, isLegal);
  request.isInference = arguments.has("inference");
  request.findsDevices = arguments.has("min-devices");
  request.comparesDtypes = arguments.has("compare-dtype");
  const std::vector<std::string> &models = arguments.positionals;
  if (!arguments.has("params") && models.empty())
    return fail("ulsc memory needs a MODEL (a config.json or a directory that holds one), or "
                "--params N without one, as --params 70e9");
  if (arguments.has("params") && !models.empty())
    return fail("--params " + arguments.get("params") + " and the MODEL \"" + models[0] +
                "\" contradict each other: a model has its own number of parameters; take one out");
  if (models.size() > 1)
    return fail("takes one MODEL, found " + Twine(models.size()) + ", \"" + models[1] +
                "\" among them");
  if (arguments.has("params")) {
    llvm::SmallVector<StringRef> refused;
    for (const OptionSpec &option : getMemoryOptions())
      if (option.name == "inference" || option.name == "concurrency" || option.name == "seq" ||
          option.name == "batch" ||
          (isCompileOption(option.name) &&
           !llvm::is_contained({"mesh", "devices", "strategy", "dtype", "optimizer", "grad-dtype",
                                "master-dtype", "moment-dtype", "reduce-dtype"},
                               option.name)))
        refused.push_back(option.name);
    isLegal &= checkOptionsOf("--params", refused,
                              "it asks about a model's tensors; give a MODEL, or take it out");
  }
  if (request.isInference)
    isLegal &= checkOptionsOf("--inference",
                              {"optimizer", "grad-dtype", "master-dtype", "moment-dtype",
                               "reduce-dtype", "strategy", "batch", "micro-batch", "microbatches",
                               "min-devices", "compare-dtype", "shard", "recipe"},
                              "it is of training; take one of them out");
  else if (arguments.has("concurrency"))
    isLegal = fail("--concurrency is " + arguments.get("concurrency") +
                   " without --inference, whose sequences it counts; add --inference or take it "
                   "out (training has --batch)");
  if (request.findsDevices && request.comparesDtypes)
    isLegal = fail("--min-devices and --compare-dtype ask different things; take one out");
  return isLegal;
}

bool RequestReader::readNumbers() {
  bool isLegal = true;
  constexpr int64_t mostBytes = 1'000'000'000'000'000'000;
  request.deviceMemory =
      arguments.getQuantity("device-memory", mostBytes, /*isOfBytes=*/true, isLegal);
  auto sequences = arguments.getInteger("concurrency", 1, 0);
  auto seq = arguments.getInteger("seq", 1, 0);
  // Of a batch only a compilation makes use.
  for (StringRef name : {"batch", "micro-batch", "microbatches"})
    isLegal &= arguments.getInteger(name, 1, 0).has_value();
  if (!isLegal || !sequences || !seq)
    return false;
  if (arguments.has("concurrency"))
    request.sequences = *sequences;
  request.seq = *seq;
  request.json = arguments.get("json");
  if (request.findsDevices && !request.deviceMemory)
    return fail("--min-devices needs --device-memory BYTES, the memory of one device, as "
                "--device-memory 80e9");
  if (request.findsDevices && arguments.has("devices"))
    return fail("--devices " + arguments.get("devices") +
                " contradicts --min-devices, which looks for that number; take one out");
  if (request.isInference && !request.seq)
    return fail("--inference needs --seq N, the tokens that a sequence may have, as --seq 32768");
  return true;
}

bool RequestReader::readDtypes() {
  llvm::SmallVector<StringRef> spellings = {
      "f32", "fp32=f32", "float32=f32", "bf16", "bfloat16=bf16", "f16", "fp16=f16", "float16=f16"};
  bool isLegal = true;
  auto read = [&](StringRef name, StringRef fallback) {
    std::optional<std::string> text = arguments.getChoice(name, spellings, fallback);
    isLegal &= text.has_value();
    return text.value_or(fallback.str());
  };
  std::string gradient = read("grad-dtype", "f32");
  request.dtypes.stored = *memory::findDtype(read("dtype", "f32"));
  request.dtypes.gradient = *memory::findDtype(gradient);
  request.dtypes.moment = *memory::findDtype(read("moment-dtype", "f32"));
  request.reduceDtype = read("reduce-dtype", gradient);
  spellings.push_back("none");
  request.dtypes.master = memory::findDtype(read("master-dtype", "f32"));
  auto optimizer = arguments.getChoice("optimizer", {"adamw", "sgd"}, "adamw");
  if (!optimizer || !isLegal)
    return false;
  request.optimizer = *optimizer;
  request.dtypes.moments = *optimizer == "adamw" ? 2 : 1;
  const memory::StateDtypes &dtypes = request.dtypes;
  if (dtypes.hasMaster() && *dtypes.master != memory::Dtype::F32)
    return fail("--master-dtype is " + memory::getDtypeName(*dtypes.master) +
                " beside parameters stored in " + memory::getDtypeName(dtypes.stored) +
                ", whose digits it lacks; expected f32, none or --dtype's");
  return true;
}

bool RequestReader::readStrategy() {
  std::string all = arguments.get("strategy");
  llvm::SmallVector<StringRef> names,
      legal = {"none", "ddp", "zero1", "zero2", "zero3", "fsdp", "hsdp", "tp", "sp"};
  if (!request.parameters)
    for (StringRef name : getStrategies())
      if (!llvm::is_contained(legal, name))
        legal.push_back(name);
  if (!all.empty())
    StringRef(all).split(names, '+');
  StringRef first;
  for (StringRef name : names) {
    name = name.trim();
    if (!llvm::is_contained(legal, name))
      return fail("--strategy is \"" + all + "\" with \"" + name + "\", expected of " +
                  llvm::join(legal, ", ") + ", joined by +" + suggestNearest(name, legal));
    const memory::StateStrategy *strategy = memory::findStateStrategy(name);
    if (!strategy) {
      request.otherStrategies.push_back(name.str());
      continue;
    }
    if (request.strategy)
      return fail("--strategy is \"" + all + "\", which names both " + first + " and " + name +
                  "; keep one of them");
    request.strategy = strategy;
    first = name;
  }
  return true;
}

bool RequestReader::checkAxesOfStrategy() {
  const MemoryMesh &mesh = *request.mesh;
  bool namesTp = llvm::is_contained(request.otherStrategies, "tp");
  bool namesAny = request.strategy || !request.otherStrategies.empty();
  std::string text = "--mesh is \"" + mesh.describe() + "\"";
  if (namesTp && !mesh.has("tp"))
    return fail(text + " without the axis tp, which strategy tp needs; add tp=1 or more, or take "
                       "tp out");
  if (namesAny && !namesTp && mesh.getSize("tp") > 1)
    return fail(text + " with an axis tp that --strategy does not use; add +tp to the strategy");
  if (namesAny && !request.strategy && mesh.getDataRanks() > 1)
    return fail(text + " with data ranks that --strategy does not use; add +ddp, or another of "
                       "its kind, to the strategy");
  if (request.strategy && request.strategy->isHybrid && !request.findsDevices &&
      !(mesh.has("dp_replicate") && mesh.has("dp_shard")))
    return fail(text + " without the axes dp_replicate and dp_shard, which strategy hsdp needs; "
                       "as --mesh dp_replicate=2,dp_shard=32");
  return true;
}

bool RequestReader::readMesh() {
  auto devices = arguments.getInteger("devices", 1, 0);
  if (!devices)
    return false;
  if (*devices > kMostDevices)
    return fail("--devices is " + Twine(*devices) + ", expected at most " + Twine(kMostDevices));
  std::string text = arguments.get("mesh");
  bool namesHsdp = request.strategy && request.strategy->isHybrid;
  bool isHybrid = StringRef(text).contains("dp_replicate") ||
                  StringRef(text).contains("dp_shard") || (namesHsdp && !arguments.has("recipe"));
  if (!request.parameters && !request.findsDevices && !isHybrid)
    return true;
  if (request.findsDevices && arguments.has("recipe") && text.empty())
    return fail("--min-devices with --recipe needs --mesh, as tp=8 or dp=*: a recipe's own mesh "
                "says how many devices there are");
  if (request.findsDevices && isHybrid && !namesHsdp)
    return fail("--mesh is \"" + text +
                "\", whose axes are of hsdp, but --min-devices looks for "
                "the size of dp; add --strategy hsdp, or take them out");
  request.mesh = parseMemoryMesh(text, *devices, request.findsDevices);
  return request.mesh && checkAxesOfStrategy();
}

std::optional<MemoryRequest> RequestReader::run() {
  if (!readSubject() || !readNumbers() || !readDtypes() || !readStrategy() || !readMesh())
    return std::nullopt;
  return std::move(request);
}

std::optional<MemoryRequest> ulsc::tool::readMemoryRequest(const Arguments &arguments) {
  return RequestReader(arguments).run();
}

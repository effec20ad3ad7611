//===- MemoryState.cpp - The state by formula, as ulsc memory tells it ------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "tools/ulsc/MemoryState.h"

#include "ulsc/Support/Quantity.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace ulsc;
using namespace ulsc::tool;
using llvm::StringRef;
using llvm::Twine;
using Table = std::vector<std::vector<std::string>>;

const memory::StateStrategy &ulsc::tool::getStrategy(const MemoryRequest &request) {
  return request.strategy ? *request.strategy : memory::getStateStrategies().front();
}

memory::RankMemory ulsc::tool::computeState(const StateSubject &subject,
                                            const memory::StateDtypes &dtypes,
                                            const memory::StateStrategy &strategy) {
  return memory::computeStateMemory(subject.tensors, dtypes, strategy.stage,
                                    subject.mesh.getStorageAxes(strategy),
                                    subject.mesh.getDevices());
}

/// The strategies to compare: the one that was asked for, or all that the mesh has axes for.
static llvm::SmallVector<const memory::StateStrategy *> getStrategies(const MemoryRequest &request,
                                                                      const MemoryMesh &mesh) {
  llvm::SmallVector<const memory::StateStrategy *> strategies;
  for (const memory::StateStrategy &strategy : memory::getStateStrategies())
    if (request.strategy ? request.strategy == &strategy
                         : !strategy.isHybrid || mesh.has("dp_shard"))
      strategies.push_back(&strategy);
  return strategies;
}

//===---------------------------------------------------------------------------------------===//
// What it is about
//===---------------------------------------------------------------------------------------===//

static std::string describeMaster(const memory::StateDtypes &dtypes) {
  if (!dtypes.master)
    return "no master";
  return "master " + memory::getDtypeName(*dtypes.master).str() +
         (dtypes.hasMaster() ? "" : " (the stored value)");
}

static std::string describeBytes(const memory::StateDtypes &dtypes) {
  memory::StateBytes bytes = memory::getBytesPerParameter(dtypes);
  return std::to_string(bytes.getTotal()) + " = " + std::to_string(bytes.parameters) +
         " parameter + " + std::to_string(bytes.gradients) + " gradient + " +
         std::to_string(bytes.master) + " master + " + std::to_string(bytes.moments) + " moments";
}

static llvm::json::Object makeJson(const memory::StateBytes &bytes) {
  return llvm::json::Object{{"parameters", bytes.parameters},
                            {"gradients", bytes.gradients},
                            {"master", bytes.master},
                            {"moments", bytes.moments},
                            {"total", bytes.getTotal()}};
}

void ulsc::tool::printSubject(MemoryOutput &output, const MemoryRequest &request,
                              const StateSubject &subject) {
  const memory::StateDtypes &dtypes = request.dtypes;
  int64_t devices = subject.mesh.getDevices();
  output.print((subject.name.empty() ? "" : subject.name + ": ") + formatCount(subject.parameters) +
               " parameters" +
               (request.findsDevices
                    ? std::string()
                    : " on " + formatCount(devices) + (devices == 1 ? " device" : " devices") +
                          " (" + subject.mesh.describe() + ")"));
  auto name = [](memory::Dtype dtype) { return memory::getDtypeName(dtype).str(); };
  std::string master = dtypes.master ? name(*dtypes.master) : "none";
  if (!request.comparesDtypes) {
    bool isReduced = request.reduceDtype != name(dtypes.gradient);
    output.print("stored " + name(dtypes.stored) + ", gradients " + name(dtypes.gradient) +
                 (isReduced ? ", reduced in " + request.reduceDtype : "") + ", " +
                 describeMaster(dtypes) + ", moments " + name(dtypes.moment) + " (" +
                 request.optimizer + ")");
    bool isBelowPaper = dtypes.stored != memory::Dtype::F32 && dtypes.hasMaster() &&
                        dtypes.gradient == memory::Dtype::F32 && dtypes.moments == 2;
    output.print(
        "bytes per parameter: " + describeBytes(dtypes) +
        (isBelowPaper ? "; the ZeRO paper's 16 is with --grad-dtype " + name(dtypes.stored) : ""));
  }
  llvm::json::Object model{{"parameters", subject.parameters}}, mesh;
  if (!subject.name.empty())
    model["name"] = subject.name;
  llvm::json::Array axes;
  for (auto &[axis, size] : subject.mesh.axes)
    axes.push_back(llvm::json::Object{{"name", axis}, {"size", size}});
  output.document["model"] = std::move(model);
  if (!request.findsDevices)
    output.document["mesh"] = llvm::json::Object{{"axes", std::move(axes)}, {"devices", devices}};
  output.document["dtypes"] = llvm::json::Object{{"stored", name(dtypes.stored)},
                                                 {"gradients", name(dtypes.gradient)},
                                                 {"reduce", request.reduceDtype},
                                                 {"master", master},
                                                 {"moments", name(dtypes.moment)}};
  output.document["optimizer"] = request.optimizer;
  output.document["bytes_per_parameter"] = makeJson(memory::getBytesPerParameter(dtypes));
}

//===---------------------------------------------------------------------------------------===//
// Whether it fits
//===---------------------------------------------------------------------------------------===//

static std::string describeMargin(int64_t margin) {
  return margin >= 0 ? "fits, " + formatDecimalBytes(margin) + " left"
                     : formatDecimalBytes(-margin) + " too much";
}

/// The axes of more than one rank along which a sharded tensor lies alike.
static std::string describeCopies(const MemoryMesh &mesh, llvm::ArrayRef<std::string> axes) {
  std::string text;
  for (auto &[name, size] : mesh.axes)
    if (size > 1 && !axes.empty() && !llvm::is_contained(axes, name))
      text += (text.empty() ? ", copied along " : ",") + name;
  return text;
}

std::string ulsc::tool::joinStrategies(const memory::StateStrategy &strategy,
                                       llvm::ArrayRef<std::string> others) {
  std::string names = strategy.name.str();
  for (const std::string &other : others)
    names += "+" + other;
  return names;
}

/// The first of the stronger strategies with which a rank fits, else the one that takes least;
/// nothing where none takes less than `most`.
static std::optional<Remedy> findRemedy(const MemoryRequest &request, int64_t most,
                                        MeasureStrategy measure) {
  std::optional<Remedy> best;
  const memory::StateStrategy &own = getStrategy(request);
  for (const memory::StateStrategy &strategy : memory::getStateStrategies()) {
    bool isStronger = strategy.stage > own.stage || (strategy.stage == own.stage && own.isHybrid);
    if (strategy.isHybrid || !isStronger)
      continue;
    std::optional<Remedy> remedy = measure(strategy);
    if (!remedy || remedy->total >= (best ? best->total : most))
      continue;
    best = remedy;
    if (best->total <= *request.deviceMemory)
      break;
  }
  return best;
}

/// What else makes a plan smaller.
static std::string adviseOnPlan(const memory::Row &row, int64_t memory, int64_t microBatch) {
  std::string advice = "--memory-limit " + std::to_string(memory) +
                       " has the compiler look for what to compute again so that it fits";
  if (!row.parts.empty())
    return advice + "; more devices, divided by zero3 or tp, make the state smaller";
  return advice + "; " + (microBatch > 1 ? "a smaller micro-batch, " : "") +
         "shorter sequences, a larger tp, or sp beside tp make activations smaller";
}

void ulsc::tool::printFit(MemoryOutput &output, const MemoryRequest &request,
                          const StateSubject &subject, const memory::RankMemory &rank,
                          int64_t microBatch, MeasureStrategy measure) {
  if (!request.deviceMemory)
    return;
  int64_t memory = *request.deviceMemory, margin = memory - rank.total;
  const memory::Row &row = rank.getLargest();
  llvm::json::Object blame{{"row", row.name}, {"bytes", row.bytes}};
  std::string culprit = row.name + " " + formatDecimalBytes(row.bytes);
  if (!row.parts.empty()) {
    const memory::RowPart &part = *llvm::max_element(
        row.parts, [](const auto &a, const auto &b) { return a.bytes < b.bytes; });
    culprit += ", " + describe(part);
    if (!part.isTransient) {
      culprit += describeCopies(subject.mesh, part.axes);
      blame["axes"] = llvm::json::Array(part.axes);
    }
  }
  // Of several stages the one that takes most is told.
  std::string stage = rank.stage >= 0 ? " on stage " + std::to_string(rank.stage) : "";
  if (rank.stage >= 0)
    blame["stage"] = rank.stage;
  output.document["device_memory"] = memory;
  output.document["fits"] = margin >= 0;
  output.document["margin"] = margin;
  output.document["blame"] = std::move(blame);
  output.print("device memory " + formatExactBytes(memory) + " (" + formatDecimalBytes(memory) +
               "): " + describeMargin(margin) + stage);
  output.print((margin < 0 ? "to blame: " : "largest: ") + culprit);
  if (margin >= 0)
    return;
  std::optional<Remedy> remedy = findRemedy(request, rank.total, measure);
  bool isEnough = remedy && remedy->total <= memory;
  if (remedy)
    output.print("on the same mesh --strategy " + remedy->strategy + " takes " +
                 formatDecimalBytes(remedy->total) +
                 (isEnough ? ", which fits" : ", which is still too much"));
  if (isEnough)
    return;
  if (microBatch > 0)
    output.print(adviseOnPlan(row, memory, microBatch));
  else if (!remedy)
    output.print("more devices, divided by zero3 or tp, make it smaller");
}

//===---------------------------------------------------------------------------------------===//
// Tables
//===---------------------------------------------------------------------------------------===//

static memory::StateBytes sumState(const StateSubject &subject, const memory::StateDtypes &dtypes,
                                   const memory::StateStrategy &strategy, int64_t shards) {
  return memory::computeStateBytes(memory::getStateTensors(subject.tensors), dtypes, strategy.stage,
                                   shards);
}

static void printStrategies(MemoryOutput &output, const MemoryRequest &request,
                            const StateSubject &subject) {
  Table table{{"strategy", "parameters", "gradients", "master", "moments", "state of a rank", ""}};
  llvm::json::Array rows;
  for (const memory::StateStrategy *strategy : getStrategies(request, subject.mesh)) {
    memory::StateBytes bytes =
        sumState(subject, request.dtypes, *strategy, subject.mesh.getShards(*strategy));
    table.push_back({strategy->name.str(), formatDecimalBytes(bytes.parameters),
                     formatDecimalBytes(bytes.gradients), formatDecimalBytes(bytes.master),
                     formatDecimalBytes(bytes.moments), formatDecimalBytes(bytes.getTotal()),
                     formatExactBytes(bytes.getTotal())});
    llvm::json::Object row = makeJson(bytes);
    row["strategy"] = strategy->name;
    if (request.deviceMemory) {
      int64_t margin = *request.deviceMemory - bytes.getTotal();
      table.back().push_back(describeMargin(margin));
      row["fits"] = margin >= 0;
      row["margin"] = margin;
    }
    rows.push_back(std::move(row));
  }
  if (request.deviceMemory) {
    table.front().push_back("of " + formatDecimalBytes(*request.deviceMemory));
    output.document["device_memory"] = *request.deviceMemory;
  }
  output.print(table, "lrrrrrrl");
  output.document["strategies"] = std::move(rows);
}

/// What people compare; the asked one last where it is none of them.
static llvm::SmallVector<memory::StateDtypes> getCompared(const memory::StateDtypes &asked) {
  using memory::Dtype;
  llvm::SmallVector<memory::StateDtypes> all(5);
  for (unsigned i = 1; i < 5; ++i)
    all[i].stored = Dtype::BF16;
  for (unsigned i = 2; i < 5; ++i)
    all[i].gradient = Dtype::BF16;
  all[3].master = all[4].master = std::nullopt;
  all[4].moment = Dtype::BF16;
  auto isAsked = [&](const memory::StateDtypes &dtypes) {
    return dtypes.stored == asked.stored && dtypes.gradient == asked.gradient &&
           dtypes.hasMaster() == asked.hasMaster() && dtypes.moment == asked.moment;
  };
  if (llvm::none_of(all, isAsked))
    all.push_back(asked);
  for (memory::StateDtypes &dtypes : all)
    dtypes.moments = asked.moments;
  return all;
}

static void printDtypes(MemoryOutput &output, const MemoryRequest &request,
                        const StateSubject &subject) {
  auto strategies = getStrategies(request, subject.mesh);
  Table table{{"stored", "gradients", "master", "moments", "bytes per parameter"}};
  for (const memory::StateStrategy *strategy : strategies)
    table.front().push_back(strategy->name.str());
  llvm::json::Array rows;
  for (const memory::StateDtypes &dtypes : getCompared(request.dtypes)) {
    memory::StateBytes each = memory::getBytesPerParameter(dtypes);
    std::string master = dtypes.hasMaster() ? memory::getDtypeName(*dtypes.master).str()
                         : dtypes.master    ? "stored"
                                            : "none";
    table.push_back({memory::getDtypeName(dtypes.stored).str(),
                     memory::getDtypeName(dtypes.gradient).str(), master,
                     memory::getDtypeName(dtypes.moment).str(), std::to_string(each.getTotal())});
    llvm::json::Object totals;
    for (const memory::StateStrategy *strategy : strategies) {
      int64_t total =
          sumState(subject, dtypes, *strategy, subject.mesh.getShards(*strategy)).getTotal();
      table.back().push_back(formatDecimalBytes(total) + (!request.deviceMemory ? ""
                                                          : total <= *request.deviceMemory
                                                              ? " (fits)"
                                                              : " (too much)"));
      totals[strategy->name] = total;
    }
    rows.push_back(llvm::json::Object{{"stored", table.back()[0]},
                                      {"gradients", table.back()[1]},
                                      {"master", master},
                                      {"moments", table.back()[3]},
                                      {"bytes_per_parameter", makeJson(each)},
                                      {"total", std::move(totals)}});
  }
  output.print(table, "llllrrrrrr");
  output.document["compared_dtypes"] = std::move(rows);
  if (request.deviceMemory)
    output.document["device_memory"] = *request.deviceMemory;
}

static void printFewestDevices(MemoryOutput &output, const MemoryRequest &request,
                               const StateSubject &subject) {
  Table table{{"strategy", "devices", "mesh", "state of a rank", "", ""}};
  llvm::json::Array rows;
  int64_t others = subject.mesh.getDevices(), limit = *request.deviceMemory;
  for (const memory::StateStrategy *strategy : getStrategies(request, subject.mesh)) {
    int64_t most = kMostDevices / others;
    std::optional<int64_t> shards = memory::findFewestShards(
        memory::getStateTensors(subject.tensors), request.dtypes, strategy->stage, limit, most);
    int64_t total = sumState(subject, request.dtypes, *strategy, shards.value_or(most)).getTotal();
    llvm::json::Object row{{"strategy", strategy->name}, {"total", total}};
    if (!shards) {
      table.push_back(
          {strategy->name.str(), "none", "", formatDecimalBytes(total), formatExactBytes(total),
           describeMargin(limit - total) + " on " + formatCount(most * others) + " devices, too"});
      rows.push_back(std::move(row));
      continue;
    }
    MemoryMesh mesh = subject.mesh;
    StringRef sought = strategy->isHybrid ? "dp_shard" : "dp";
    if (!mesh.has(sought))
      mesh.axes.insert(mesh.axes.begin() + mesh.has("dp_replicate"), {sought.str(), 1});
    for (auto &[name, size] : mesh.axes)
      if (name == sought)
        size = *shards;
    table.push_back({strategy->name.str(), formatCount(mesh.getDevices()), mesh.describe(),
                     formatDecimalBytes(total), formatExactBytes(total),
                     describeMargin(limit - total)});
    row["devices"] = mesh.getDevices();
    row["mesh"] = mesh.describe();
    row["margin"] = limit - total;
    rows.push_back(std::move(row));
  }
  output.print("fewest devices on which the state fits " + formatExactBytes(limit) + " (" +
               formatDecimalBytes(limit) + ")");
  output.print(table, "lrlrrl");
  output.document["device_memory"] = limit;
  output.document["min_devices"] = std::move(rows);
}

void ulsc::tool::printState(MemoryOutput &output, const MemoryRequest &request,
                            const StateSubject &subject) {
  printSubject(output, request, subject);
  if (request.findsDevices) {
    printFewestDevices(output, request, subject);
  } else if (request.comparesDtypes) {
    printDtypes(output, request, subject);
  } else if (!request.strategy) {
    printStrategies(output, request, subject);
  } else {
    std::string names = joinStrategies(*request.strategy, request.otherStrategies);
    output.document["strategy"] = names;
    output.print("strategy " + names);
    memory::RankMemory rank = computeState(subject, request.dtypes, *request.strategy);
    output.print(rank, "state");
    printFit(output, request, subject, rank, /*microBatch=*/0,
             [&](const memory::StateStrategy &strategy) -> std::optional<Remedy> {
               return Remedy{joinStrategies(strategy, request.otherStrategies),
                             computeState(subject, request.dtypes, strategy).total};
             });
  }
}

//===- AssignChunks.cpp - Cuts the calls of a step into chunks --------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Stage/BlockNames.h"
#include "passes/Stage/ChunkParts.h"
#include "passes/Stage/CutCalls.h"
#include "passes/Stage/Passes.h"

#include "ulsc/Cost/MeasuredCosts.h"
#include "ulsc/Cost/OpCost.h"
#include "ulsc/PipelineScheduleFile.h"
#include "ulsc/Recipe.h"
#include "ulsc/Support/JsonFile.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

namespace ulsc {
#define GEN_PASS_DEF_ASSIGNCHUNKSPASS
#include "passes/Stage/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::stage;

namespace {
class AssignChunks : public ulsc::impl::AssignChunksPassBase<AssignChunks> {
public:
  using AssignChunksPassBase::AssignChunksPassBase;
  void runOnOperation() override;

private:
  LogicalResult assign(uls::StepOp step, const std::optional<Pipeline> &named);
  SmallVector<double> predictTimes(ArrayRef<uls::CallOp> calls);
  std::optional<SmallVector<double>> findTimes(ArrayRef<uls::CallOp> calls);
  std::optional<SmallVector<size_t>> balance(uls::StepOp step, ArrayRef<uls::CallOp> calls,
                                             int64_t microbatches);
};
} // namespace

/// Microseconds of a block's forward and backward, on whole sizes: only their proportions matter.
static double predictBlock(uls::BlockOp block, const cost::Cluster &cluster) {
  double us = 0;
  block.walk([&](Operation *op) { us += cost::predictUs(op, cluster); });
  return us;
}

/// The ends of the chunks that the blocks named in a recipe begin; nothing after an error.
static std::optional<SmallVector<size_t>>
cutAtNames(ArrayRef<uls::CallOp> calls, const Pipeline &pipeline, size_t count, size_t ranks) {
  if (size_t named = pipeline.stages.size() + 1; named != count) {
    std::string hint;
    if (named % ranks == 0)
      hint = "; for " + std::to_string(named) + " chunks give \"chunks\" (or --pp-chunks) " +
             std::to_string(named / ranks) + " and a schedule of as many, as interleaved";
    emitError(pipeline.stagesLocation)
        << "\"stages\" names " << pipeline.stages.size()
        << (pipeline.stages.size() == 1 ? " block" : " blocks") << ", expected " << count - 1
        << ": the one that begins each of the " << count << " chunks after the first" << hint;
    return std::nullopt;
  }
  BlockNames names(calls);
  bool isLegal = true;
  SmallVector<size_t> ends;
  for (auto [i, stage] : llvm::enumerate(pipeline.stages)) {
    auto &[name, location] = stage;
    std::optional<size_t> call = names.find(name);
    isLegal &= call && *call > (ends.empty() ? 0 : ends.back());
    if (!call)
      emitError(location) << "\"" << shorten(name) << "\" is no block; " << names.suggest(name);
    else if (*call == 0)
      emitError(location) << "\"" << name << "\" begins the first chunk, expected the blocks that "
                          << "begin the chunks after it; the next is " << names.getName(1);
    else if (!ends.empty() && *call <= ends.back())
      emitError(location) << "\"" << name << "\" does not come after " << names.getName(ends.back())
                          << ", which begins the chunk before; name blocks in the model's order, "
                             "each once";
    if (call)
      ends.push_back(*call);
  }
  if (!isLegal)
    return std::nullopt;
  ends.push_back(calls.size());
  return ends;
}

SmallVector<double> AssignChunks::predictTimes(ArrayRef<uls::CallOp> calls) {
  cost::Cluster cluster = cost::Cluster::getDefault();
  SymbolTable symbols(getOperation());
  llvm::StringMap<double> timeOf;
  SmallVector<double> times;
  for (uls::CallOp call : calls) {
    auto [known, isNew] = timeOf.try_emplace(call.getCallee(), 0);
    if (isNew)
      known->second = predictBlock(symbols.lookup<uls::BlockOp>(call.getCallee()), cluster);
    times.push_back(known->second);
  }
  return times;
}

/// The measured time of each call; nothing after an error. Measured and predicted times are not
/// mixed, for their proportions mean nothing.
static std::optional<SmallVector<double>>
findMeasured(ArrayRef<uls::CallOp> calls, const cost::MeasuredCosts &costs, StringRef path) {
  BlockNames names(calls);
  SmallVector<const cost::MeasuredCost *> costOf(calls.size());
  auto assignBlock = [&](StringRef block, const cost::MeasuredCost &cost) {
    bool isKnown = false;
    for (size_t i = 0; i < calls.size(); ++i) {
      uls::CallOp call = calls[i];
      isKnown |= call.getCallee() == block;
      if (call.getCallee() == block && !costOf[i])
        costOf[i] = &cost;
    }
    return isKnown;
  };
  bool isLegal = true;
  // What is said of one layer goes before what is said of its block.
  llvm::SmallDenseMap<size_t, StringRef> nameOf;
  for (auto &[name, cost] : costs)
    if (std::optional<size_t> call = names.find(name)) {
      costOf[*call] = &cost;
      if (auto [other, isNew] = nameOf.try_emplace(*call, name); !isNew) {
        emitError(cost.location) << "\"" << name << "\" and \"" << other->second
                                 << "\" are one block; keep one of them";
        isLegal = false;
      }
    }
  for (auto &[name, cost] : costs)
    if (!assignBlock(name, cost) && !names.find(name)) {
      emitError(cost.location) << "there is a cost of \"" << shorten(name)
                               << "\", which is no block; " << names.suggest(name);
      isLegal = false;
    }
  SmallVector<double> times;
  std::string missing;
  Location file = FileLineColLoc::get(calls.front()->getContext(), path, 0, 0);
  for (auto [i, cost] : llvm::enumerate(costOf)) {
    times.push_back(cost ? cost->forwardUs + cost->backwardUs : 0);
    if (!cost && StringRef(missing).count(',') < 3)
      missing += (missing.empty() ? "" : ", ") + names.getName(i).str();
  }
  if (!missing.empty()) {
    emitError(file) << "there is no cost of " << missing
                    << "; measured and predicted times are not mixed: give a cost of each block, "
                       "or leave out --costs";
    isLegal = false;
  } else if (llvm::all_of(times, [](double us) { return us == 0; })) {
    emitError(file) << "the costs of all blocks are 0 microseconds, which balance nothing; "
                       "expected what each of them takes, or leave out --costs";
    isLegal = false;
  }
  return isLegal ? std::optional<SmallVector<double>>(std::move(times)) : std::nullopt;
}

/// What is compiled, as a trace of the same tells it.
static cost::Workload getWorkload(ModuleOp module) {
  cost::Workload workload;
  if (auto model = module->getAttrOfType<DictionaryAttr>("uls.model")) {
    for (auto [key, text] : {std::pair("name", &workload.model), {"family", &workload.family}})
      if (auto value = model.getAs<StringAttr>(key))
        *text = value.str();
    if (auto parameters = model.getAs<IntegerAttr>("parameters"))
      workload.parameters = parameters.getInt();
  }
  if (auto batch = module->getAttrOfType<DictionaryAttr>(uls::UlsDialect::kBatchAttrName))
    for (auto [key, number] : {std::pair("seq", &workload.seq), {"micro", &workload.microBatch}})
      if (auto value = batch.getAs<IntegerAttr>(key))
        *number = value.getInt();
  // Matrices are stored in what products compute in.
  workload.dtype = "f32";
  for (auto param : module.getOps<uls::ParamOp>())
    if (Type type = param.getTensorType().getElementType(); !type.isF32())
      workload.dtype = type.isBF16() ? "bf16" : "f16";
  return workload;
}

std::optional<SmallVector<double>> AssignChunks::findTimes(ArrayRef<uls::CallOp> calls) {
  if (costs.empty())
    return predictTimes(calls);
  std::optional<cost::MeasuredCosts> measured =
      cost::readMeasuredCosts(&getContext(), costs, getWorkload(getOperation()));
  return measured ? findMeasured(calls, *measured, costs) : std::nullopt;
}

/// The ends of chunks of about equal time that the memory has room for; nothing after an error.
std::optional<SmallVector<size_t>>
AssignChunks::balance(uls::StepOp step, ArrayRef<uls::CallOp> calls, int64_t microbatches) {
  std::optional<SmallVector<double>> times = findTimes(calls);
  FailureOr<RecomputePolicy> policy = RecomputePolicy::read(&getContext(), recompute);
  std::optional<pipeline::Schedule> table = pipeline::findSchedule(
      step.getLoc(), schedule, {getPipelineRanks(getOperation()), microbatches, chunks});
  if (!times || failed(policy) || !table)
    return std::nullopt;
  SmallVector<CallMemory> memory;
  if (memoryLimit)
    memory = estimateMemory(step, calls, *policy);
  SmallVector<size_t> ends = cutCalls({*times, memory, double(memoryLimit)}, *table);
  if (!ends.empty())
    return ends;
  step.emitError() << "the blocks can't be cut into " << table->shape.getChunks()
                   << " chunks by their times, whose sums are not finite; correct --costs";
  return std::nullopt;
}

LogicalResult AssignChunks::assign(uls::StepOp step, const std::optional<Pipeline> &named) {
  int64_t ranks = getPipelineRanks(getOperation());
  SmallVector<uls::CallOp> calls;
  int64_t microbatches = 1;
  for (auto loop : step.getEntry().getOps<uls::MicrobatchesOp>()) {
    llvm::append_range(calls, loop.getBody().front().getOps<uls::CallOp>());
    microbatches = loop.getCount();
  }
  pipeline::Shape shape{ranks, microbatches, chunks};
  if (std::string problem = pipeline::checkSize(shape); !problem.empty())
    return step.emitError() << "schedule " << schedule << " " << problem;
  if (std::string problem = pipeline::checkBlocks(shape, calls.size(), schedule); !problem.empty())
    return step.emitError() << problem;
  size_t count = shape.getChunks();
  std::optional<SmallVector<size_t>> ends;
  if (named && named->stagesLocation)
    ends = cutAtNames(calls, *named, count, ranks);
  else
    ends = balance(step, calls, microbatches);
  if (!ends)
    return failure();
  Builder builder(&getContext());
  size_t first = 0;
  for (auto [chunk, end] : llvm::enumerate(*ends))
    for (; first < end; ++first)
      calls[first]->setAttr(dist::DistDialect::kChunkAttrName, builder.getI64IntegerAttr(chunk));
  return success();
}

void AssignChunks::runOnOperation() {
  if (getPipelineRanks(getOperation()) == 1)
    return;
  std::optional<Pipeline> named;
  if (!recipe.empty()) {
    named = readRecipePipeline(&getContext(), recipe);
    if (!named)
      return signalPassFailure();
  }
  for (auto step : getOperation().getOps<uls::StepOp>())
    if (failed(assign(step, named)))
      return signalPassFailure();
}

//===- BuildStages.cpp - A step for each rank of the pipeline ---------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Stage/BlockNames.h"
#include "passes/Stage/Passes.h"
#include "passes/Stage/RankStep.h"
#include "ulsc/PipelineScheduleFile.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/Path.h"

namespace ulsc {
#define GEN_PASS_DEF_BUILDSTAGESPASS
#include "passes/Stage/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::stage;
using dist::DistDialect;

namespace {
class BuildStages : public ulsc::impl::BuildStagesPassBase<BuildStages> {
public:
  using BuildStagesPassBase::BuildStagesPassBase;
  void runOnOperation() override;

private:
  LogicalResult build(uls::StepOp step, int64_t ranks);
  void noteParameters(ArrayRef<RankStep> steps);
  void noteChunks(const StepSource &source);
};
} // namespace

/// The ranks that add to each carried value.
static std::vector<SmallVector<int64_t, 2>> findOwners(StepSource &source) {
  std::vector<SmallVector<int64_t, 2>> owners(source.loop.getNumResults());
  for (auto [chunk, rank] : llvm::enumerate(source.schedule.rankOf))
    for (pipeline::Work work : {pipeline::Work::Forward, pipeline::Work::BackwardInput})
      for (Operation *op : source.parts.getOps(work, chunk))
        for (Value result : op->getResults())
          if (std::optional<unsigned> index = source.parts.getCarried(result))
            if (!llvm::is_contained(owners[*index], rank))
              owners[*index].push_back(rank);
  for (SmallVector<int64_t, 2> &ranks : owners)
    llvm::sort(ranks);
  return owners;
}

/// Parameters know their stages; one that no chunk takes is held by the first.
void BuildStages::noteParameters(ArrayRef<RankStep> steps) {
  Builder builder(&getContext());
  for (auto param : getOperation().getOps<uls::ParamOp>()) {
    SmallVector<int64_t> stages;
    for (auto [rank, step] : llvm::enumerate(steps))
      if (step.getParameters().contains(param.getSymNameAttr()))
        stages.push_back(rank);
    if (stages.empty())
      stages.push_back(0);
    param->setAttr(DistDialect::kStagesAttrName, builder.getDenseI64ArrayAttr(stages));
  }
}

/// The module knows which blocks each chunk calls, for who reads what was compiled.
void BuildStages::noteChunks(const StepSource &source) {
  Builder builder(&getContext());
  SmallVector<Attribute> chunks;
  for (auto [chunk, rank] : llvm::enumerate(source.schedule.rankOf)) {
    SmallVector<Attribute> blocks;
    for (Operation *op : source.parts.getOps(pipeline::Work::Forward, chunk))
      if (auto call = llvm::dyn_cast<uls::CallOp>(op))
        blocks.push_back(builder.getStringAttr(getCallName(call)));
    chunks.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("blocks", builder.getArrayAttr(blocks)),
         builder.getNamedAttr("stage", builder.getI64IntegerAttr(rank))}));
  }
  // Programs that are alike but for where a table lay are alike.
  StringRef name = llvm::sys::path::filename(schedule);
  getOperation()->setAttr(
      pipeline::kPipelineAttr,
      builder.getDictionaryAttr({builder.getNamedAttr("chunks", builder.getArrayAttr(chunks)),
                                 builder.getNamedAttr("schedule", builder.getStringAttr(name))}));
}

LogicalResult BuildStages::build(uls::StepOp step, int64_t ranks) {
  auto loops = llvm::to_vector(step.getEntry().getOps<uls::MicrobatchesOp>());
  if (loops.size() != 1)
    return step.emitError() << "has " << loops.size()
                            << " loops over microbatches; pipeline stages need one";
  uls::MicrobatchesOp loop = loops.front();
  ChunkParts parts(loop);
  std::optional<pipeline::Schedule> table = pipeline::findSchedule(
      step.getLoc(), schedule, {ranks, static_cast<int64_t>(loop.getCount()), chunks});
  if (!table || failed(parts.run()))
    return failure();
  auto flows = parts.getFlows(table->rankOf);
  std::vector<pipeline::Flow> plain;
  for (auto &[value, flow] : flows)
    plain.push_back(flow);
  auto mesh = *getOperation().getOps<dist::MeshOp>().begin();
  SmallVector<StringRef> others;
  for (dist::MeshAxisAttr axis : mesh.getMesh().getAxes())
    if (axis.getName() != kPipelineAxis)
      others.push_back(axis.getName());
  Builder builder(&getContext());
  StepSource source{
      step, loop, parts, *table, flows, mesh.getSymName(), builder.getStrArrayAttr(others)};
  std::vector<SmallVector<int64_t, 2>> owners = findOwners(source);
  for (auto [i, list] : llvm::enumerate(owners))
    if (list.size() > 2)
      return step.emitError() << "carried value " << i << " is used by " << list.size()
                              << " stages; at most 2 may share a parameter";
  auto events = pipeline::planTransfers(*table, plain, {});
  std::vector<RankStep> steps;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    RankStep &own = steps.emplace_back(source, rank);
    own.open();
    for (const pipeline::Event &event : events[rank])
      own.add(event);
    own.exchangeCarried(owners);
    own.close(owners);
  }
  noteParameters(steps);
  noteChunks(source);
  step.erase();
  return success();
}

void BuildStages::runOnOperation() {
  int64_t ranks = getPipelineRanks(getOperation());
  if (ranks == 1)
    return;
  for (auto step : llvm::make_early_inc_range(getOperation().getOps<uls::StepOp>()))
    if (failed(build(step, ranks)))
      return signalPassFailure();
}

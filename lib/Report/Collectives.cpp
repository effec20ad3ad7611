//===- Collectives.cpp - Every collective of a step
//--------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "ulsc/Report.h"

#include "dialects/Uls/Uls.h"
#include "ulsc/Cost/OpCost.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::report;

double ulsc::report::computeWireBytes(StringRef kind, int64_t bytes, int64_t ranks) {
  if (ranks <= 1)
    return 0;
  double share = double(ranks - 1) / double(ranks);
  if (kind == "all_reduce")
    return 2 * share * double(bytes);
  if (kind == "all_gather" || kind == "reduce_scatter" || kind == "all_to_all")
    return share * double(bytes);
  return double(bytes);
}

static int64_t getBytes(TypeRange types) {
  int64_t bytes = 0;
  for (Type type : types)
    if (auto tensor = llvm::dyn_cast<RankedTensorType>(type))
      bytes += tensor.getNumElements() * ((tensor.getElementTypeBitWidth() + 7) / 8);
  return bytes;
}

/// `f32`, or `f32+bf16` for several.
static std::string getDtype(TypeRange types) {
  std::string text;
  llvm::DenseSet<Type> seen;
  for (Type type : types) {
    Type element = llvm::cast<ShapedType>(type).getElementType();
    if (!seen.insert(element).second)
      continue;
    llvm::raw_string_ostream stream(text);
    stream << (text.empty() ? "" : "+") << element;
  }
  return text;
}

/// The module of the source model that an op's location names.
static std::string getSource(Location location) {
  if (auto name = llvm::dyn_cast<NameLoc>(location))
    return name.getName().str();
  if (auto fused = llvm::dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string source = getSource(part); !source.empty())
        return source;
  if (auto call = llvm::dyn_cast<CallSiteLoc>(location))
    return getSource(call.getCallee());
  return {};
}

CollectiveRow ulsc::report::describeCollective(dist::CollectiveOpInterface op) {
  CollectiveRow row;
  row.kind = op.getKind().str();
  SmallVector<StringAttr> axes;
  for (auto axis : op.getAxes().getAsRange<StringAttr>()) {
    axes.push_back(axis);
    row.axes.push_back(axis.getValue().str());
  }
  row.phase = getPhase(op).str();
  row.bytes = std::max(getBytes(op.getInputs().getTypes()), getBytes(op.getOutputs().getTypes()));
  auto mesh = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(op, op.getMeshAttr());
  row.wireBytes = computeWireBytes(row.kind, row.bytes, mesh ? mesh.getMesh().getSize(axes) : 1);
  if (mesh)
    row.predictedUs = cost::predictUs(op, mesh.getMesh(), cost::Cluster::getDefault());
  row.dtype = getDtype(op.getTravellingTypes());
  row.source = getSource(op->getLoc());
  if (StringAttr cause = op.getCauseAttr())
    row.cause = cause.getValue().str();
  return row;
}

namespace {
/// Walks what a step runs and how often.
class CollectiveWalker {
public:
  explicit CollectiveWalker(ModuleOp module) : module(module), symbols(module) {}

  SmallVector<CollectiveRow> run() {
    // A step, or one for each stage; without one, the forward function.
    SmallVector<Operation *> entries;
    for (auto step : module.getOps<uls::StepOp>())
      entries.push_back(step);
    if (entries.empty())
      for (auto forward : module.getOps<uls::ForwardOp>())
        entries.push_back(forward);
    for (Operation *entry : entries) {
      stage = dist::getStage(entry);
      walk(entry->getRegion(0).front().getOperations(), 1);
    }
    return std::move(rows);
  }

private:
  template <typename Range>
  void walk(Range &&ops, int64_t times) {
    for (Operation &op : ops)
      visit(&op, times);
  }

  void visit(Operation *op, int64_t times) {
    if (auto loop = llvm::dyn_cast<uls::MicrobatchesOp>(op))
      return walk(loop.getBody().front().getOperations(), times * int64_t(loop.getCount()));
    if (auto start = llvm::dyn_cast<dist::StartOp>(op))
      return walk(start.getBody().front().getOperations(), times);
    if (auto call = llvm::dyn_cast<uls::CallOp>(op))
      return enter(call.getCallee(), times, /*isBackward=*/false);
    if (auto backward = llvm::dyn_cast<uls::BackwardOp>(op))
      return enter(backward.getCallee(), times, /*isBackward=*/true);
    if (auto collective = llvm::dyn_cast<dist::CollectiveOpInterface>(op))
      add(collective, times);
  }

  /// A block's body; of a joint one the part that runs.
  void enter(StringRef name, int64_t times, bool isBackward) {
    auto block = symbols.lookup<uls::BlockOp>(name);
    if (!block)
      return;
    if (uls::ResultOp result = block.getResultOp()) {
      Block::iterator middle(result);
      Block &body = block.getEntry();
      if (isBackward)
        return walk(llvm::make_range(middle, body.end()), times);
      return walk(llvm::make_range(body.begin(), middle), times);
    }
    walk(block.getEntry().getOperations(), times);
  }

  void add(dist::CollectiveOpInterface op, int64_t times) {
    CollectiveRow row = describeCollective(op);
    row.countPerStep = times;
    row.stage = stage;
    std::string key = std::to_string(stage) + "\n" + row.kind + "\n" + llvm::join(row.axes, ",") +
                      "\n" + row.phase + "\n" + std::to_string(row.bytes) + "\n" + row.dtype +
                      "\n" + row.source + "\n" + row.cause;
    auto [known, isNew] = index.try_emplace(key, rows.size());
    if (isNew)
      rows.push_back(std::move(row));
    else
      rows[known->second].countPerStep += times;
  }

  ModuleOp module;
  SymbolTable symbols;
  int64_t stage = -1;
  SmallVector<CollectiveRow> rows;
  llvm::StringMap<size_t> index;
};
} // namespace

SmallVector<CollectiveRow> ulsc::report::collectCollectives(ModuleOp module) {
  return CollectiveWalker(module).run();
}

//===- CollectiveEvaluators.cpp - Collectives between the simulated ranks ===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Evaluators.h"
#include "StageRunner.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

static SmallVector<StringAttr> axesOf(ArrayAttr axes) {
  return llvm::to_vector(axes.getAsRange<StringAttr>());
}

namespace {
/// One operand of a collective, on all ranks.
class Exchange {
public:
  Exchange(Evaluation &e, dist::CollectiveOpInterface op)
      : e(e), op(op), mesh(e.interpreter.getMesh(op.getMeshAttr())), axes(axesOf(op.getAxes())) {}

  bool isValid() const {
    return bool(mesh) &&
           llvm::all_of(axes, [&](StringAttr axis) { return bool(mesh.getAxisSize(axis)); });
  }
  unsigned size() { return op.getInputs().size(); }
  const Tensor &input(unsigned operand, int64_t rank) {
    return e.get(op.getInputs()[operand], rank);
  }
  SmallVector<int64_t> group(int64_t rank) { return mesh.getGroup(rank, axes); }
  int64_t position(int64_t rank) { return mesh.getPosition(rank, axes); }
  int64_t groupSize() { return mesh.getSize(axes); }

  /// Sets each result of each rank to what `compute` says.
  LogicalResult run(function_ref<Tensor(unsigned, int64_t)> compute) {
    for (unsigned operand = 0; operand < size(); ++operand)
      for (int64_t rank : e.interpreter.getActiveRanks()) {
        Tensor result = compute(operand, rank);
        if (result.getShape() !=
            llvm::cast<RankedTensorType>(op.getOutputs()[operand].getType()).getShape())
          return op->emitOpError() << "over " << groupSize() << " ranks does not give "
                                   << op.getOutputs()[operand].getType();
        e.set(op.getOutputs()[operand], rank, result);
      }
    return success();
  }

  Tensor reduce(unsigned operand, int64_t rank, dist::Reduction reduction) {
    SmallVector<int64_t> ranks = group(rank);
    Tensor result = input(operand, ranks[0]);
    for (int64_t other : llvm::drop_begin(ranks))
      result = combine(result, input(operand, other), reduction == dist::Reduction::Max);
    return result;
  }

private:
  static Tensor combine(const Tensor &a, const Tensor &b, bool isMax) {
    if (a.isFloat())
      return a.zip(b, [&](double x, double y) { return isMax ? std::max(x, y) : x + y; });
    std::vector<int64_t> elements(a.getIntegers());
    for (auto [x, y] : llvm::zip_equal(elements, b.getIntegers()))
      x = isMax ? std::max(x, y) : x + y;
    return Tensor(a.getShape(), std::move(elements));
  }

  Evaluation &e;
  dist::CollectiveOpInterface op;
  dist::MeshAttr mesh;
  SmallVector<StringAttr> axes;
};
} // namespace

static Tensor concatenate(ArrayRef<Tensor> parts, int64_t dim) {
  Shape shape(parts[0].getShape());
  int64_t size = shape[dim], inner = getNumElements(ArrayRef<int64_t>(shape).drop_front(dim));
  shape[dim] *= parts.size();
  std::vector<double> floats;
  std::vector<int64_t> integers;
  for (int64_t i = 0; size > 0 && i < parts[0].getNumElements() / inner; ++i)
    for (const Tensor &part : parts) {
      if (part.isFloat())
        llvm::append_range(floats, part.getFloats().slice(i * inner, inner));
      else
        llvm::append_range(integers, part.getIntegers().slice(i * inner, inner));
    }
  return parts[0].isFloat() ? Tensor(shape, std::move(floats)) : Tensor(shape, std::move(integers));
}

/// Block `index` of `count` along `dim`.
static Tensor blockOf(const Tensor &tensor, int64_t dim, int64_t index, int64_t count) {
  Shape size(tensor.getShape()), offsets(size.size(), 0);
  size[dim] /= count;
  offsets[dim] = index * size[dim];
  return tensor.block(offsets, size);
}

template <typename Op>
static void addCollective(Registry &registry, LogicalResult (*evaluate)(Op, Exchange &)) {
  registry.addGlobal<Op>([evaluate](Op op, Evaluation &e) -> LogicalResult {
    Exchange exchange(e, llvm::cast<dist::CollectiveOpInterface>(op.getOperation()));
    if (!exchange.isValid())
      return op.emitOpError() << "goes over axes " << op.getAxes() << " that mesh "
                              << op.getMeshAttr() << " lacks";
    return evaluate(op, exchange);
  });
}

static LogicalResult evaluateAllReduce(dist::AllReduceOp op, Exchange &x) {
  return x.run([&](unsigned i, int64_t rank) { return x.reduce(i, rank, op.getReduction()); });
}

static LogicalResult evaluateAllGather(dist::AllGatherOp op, Exchange &x) {
  return x.run([&](unsigned i, int64_t rank) {
    SmallVector<Tensor> parts;
    for (int64_t other : x.group(rank))
      parts.push_back(x.input(i, other));
    return concatenate(parts, op.getDims()[i]);
  });
}

static LogicalResult evaluateReduceScatter(dist::ReduceScatterOp op, Exchange &x) {
  return x.run([&](unsigned i, int64_t rank) {
    return blockOf(x.reduce(i, rank, op.getReduction()), op.getDims()[i], x.position(rank),
                   x.groupSize());
  });
}

static LogicalResult evaluateAllToAll(dist::AllToAllOp op, Exchange &x) {
  return x.run([&](unsigned i, int64_t rank) {
    SmallVector<Tensor> parts;
    for (int64_t other : x.group(rank))
      parts.push_back(
          blockOf(x.input(i, other), op.getSplitDims()[i], x.position(rank), x.groupSize()));
    return concatenate(parts, op.getConcatDims()[i]);
  });
}

static LogicalResult evaluatePermute(dist::PermuteOp op, Exchange &x) {
  SmallVector<int64_t> source(x.groupSize(), -1);
  for (unsigned i = 0; i + 1 < op.getPairs().size(); i += 2) {
    int64_t from = op.getPairs()[i], to = op.getPairs()[i + 1];
    if (from < 0 || to < 0 || from >= x.groupSize() || to >= x.groupSize())
      return op.emitOpError() << "names position " << std::max(from, to) << " of " << x.groupSize();
    source[to] = from;
  }
  if (llvm::is_contained(source, -1))
    return op.emitOpError() << "sends nothing to position "
                            << llvm::find(source, -1) - source.begin();
  return x.run([&](unsigned i, int64_t rank) {
    return x.input(i, x.group(rank)[source[x.position(rank)]]);
  });
}

static LogicalResult evaluateStart(dist::StartOp op, Evaluation &e) {
  if (isBetweenStages(op.getCollective()))
    return e.interpreter.getStages()->start(op, e);
  Block &body = op.getBody().front();
  if (failed(
          e.interpreter.runOps(body, body.begin(), body.getTerminator()->getIterator(), e.frame)))
    return failure();
  auto results = std::make_shared<std::vector<RuntimeValue>>();
  for (Value value : body.getTerminator()->getOperands())
    results->push_back(e.getValue(value));
  e.frame.values[op.getHandle()].handle = results;
  return success();
}

static LogicalResult evaluateWait(dist::WaitOp op, Evaluation &e) {
  auto start = op.getHandle().getDefiningOp<dist::StartOp>();
  if (start && isBetweenStages(start.getCollective()))
    return e.interpreter.getStages()->wait(op, e);
  auto results = e.getValue(op.getHandle()).handle;
  if (!results)
    return op.emitOpError("waits for a handle that was waited for already");
  for (auto [result, value] : llvm::zip_equal(op.getResults(), *results))
    e.frame.values[result] = value;
  e.frame.values[op.getHandle()].handle.reset();
  return success();
}

static LogicalResult evaluateLocalSlice(dist::LocalSliceOp op, LocalEvaluation &e) {
  dist::MeshAttr mesh = e.all.interpreter.getMesh(op.getMeshAttr());
  SmallVector<StringAttr> axes = axesOf(op.getAxes());
  Tensor result = blockOf(e.get(op.getInput()), op.getDim(), mesh.getPosition(e.rank, axes),
                          mesh.getSize(axes));
  if (result.getShape() != llvm::cast<RankedTensorType>(op.getOutput().getType()).getShape())
    return op.emitOpError() << "over " << mesh.getSize(axes) << " ranks does not give "
                            << op.getOutput().getType();
  e.set(op.getOutput(), result);
  return success();
}

static LogicalResult evaluateReshard(dist::ReshardOp op, LocalEvaluation &e) {
  if (e.all.interpreter.isPartitioned())
    return op.emitOpError("is left in a partitioned module");
  e.set(op.getOutput(), e.get(op.getInput()));
  return success();
}

void interpreter::registerCollectiveEvaluators(Registry &registry) {
  addCollective<dist::AllReduceOp>(registry, evaluateAllReduce);
  addCollective<dist::AllGatherOp>(registry, evaluateAllGather);
  addCollective<dist::ReduceScatterOp>(registry, evaluateReduceScatter);
  addCollective<dist::AllToAllOp>(registry, evaluateAllToAll);
  addCollective<dist::PermuteOp>(registry, evaluatePermute);
  registry.addGlobal<dist::StartOp>(evaluateStart);
  registry.addGlobal<dist::WaitOp>(evaluateWait);
  registry.addGlobal<dist::YieldOp>([](dist::YieldOp, Evaluation &) { return success(); });
  registry.add<dist::LocalSliceOp>(evaluateLocalSlice);
  registry.add<dist::ReshardOp>(evaluateReshard);
  registry.add<dist::AxisIndexOp>([](dist::AxisIndexOp op, LocalEvaluation &e) {
    dist::MeshAttr mesh = e.all.interpreter.getMesh(op.getMeshAttr());
    int64_t position = mesh.getPosition(e.rank, axesOf(op.getAxes()));
    e.set(op.getPosition(), Tensor(Shape{}, std::vector<int64_t>{position}));
    return success();
  });
}

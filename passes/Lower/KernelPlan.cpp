//===- KernelPlan.cpp - How a kernel's ops are arranged in loops -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/KernelPlan.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

/// Row buffers live on the stack; past this an op is computed again instead.
static constexpr int64_t maxRowBufferBytes = 64 * 1024;
/// How many elements a thread should get at least.
static constexpr int64_t elementsPerChunk = 16384;
static constexpr int64_t flatGrain = 4096;

bool ulsc::lower::isElementwise(linalg::GenericOp op) { return op.getNumReductionLoops() == 0; }

linalg::GenericOp ulsc::lower::getGeneric(Value value) {
  return value.getDefiningOp<linalg::GenericOp>();
}

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

static int64_t product(ArrayRef<LoopDim> dims) {
  int64_t result = 1;
  for (const LoopDim &dim : dims)
    result *= dim.size;
  return result;
}

//===----------------------------------------------------------------------===//
// Collapsing
//===----------------------------------------------------------------------===//

/// Whether `map` walks dimensions `d` and `d + 1` as one: neither, or one after the other and
/// nowhere else.
static bool walksAsOne(AffineMap map, unsigned d) {
  auto isDim = [](AffineExpr expr, unsigned position) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    return dim && dim.getPosition() == position;
  };
  unsigned pairs = 0, uses = 0;
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    uses += expr.isFunctionOfDim(d) + expr.isFunctionOfDim(d + 1);
    if (isDim(expr, d) && i + 1 < map.getNumResults() && isDim(map.getResult(i + 1), d + 1))
      ++pairs;
  }
  return uses == 2 * pairs && pairs <= 1;
}

static bool usesIndex(linalg::GenericOp op) {
  return !op.getBody()->getOps<linalg::IndexOp>().empty();
}

SmallVector<LoopDim> ulsc::lower::collapse(ArrayRef<linalg::GenericOp> ops, unsigned begin,
                                           unsigned end, ArrayRef<int64_t> sizes,
                                           ArrayRef<utils::IteratorType> iterators) {
  SmallVector<LoopDim> result;
  bool isFree = llvm::none_of(ops, [](linalg::GenericOp op) { return usesIndex(op); });
  for (unsigned d = begin; d < end; ++d) {
    bool joins = isFree && !result.empty() && iterators[d] == iterators[d - 1];
    for (linalg::GenericOp op : ops)
      for (AffineMap map : op.getIndexingMapsArray())
        joins = joins && walksAsOne(map, d - 1);
    if (joins) {
      result.back().last = d;
      result.back().size *= sizes[d];
    } else {
      result.push_back({d, d, sizes[d]});
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

static SmallVector<linalg::GenericOp> getGenerics(exec::KernelOp kernel) {
  return llvm::to_vector(kernel.getBody().front().getOps<linalg::GenericOp>());
}

static bool isYielded(linalg::GenericOp op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) { return isa<exec::YieldOp>(user); });
}

KernelPlan::KernelPlan(exec::KernelOp kernel) : kernel(kernel) {
  for (linalg::GenericOp op : getGenerics(kernel)) {
    int64_t stage = 0;
    for (Value operand : op->getOperands())
      if (linalg::GenericOp producer = getGeneric(operand))
        stage = std::max(stage, stages.lookup(producer) + (isElementwise(producer) ? 0 : 1));
    stages[op] = stage;
  }
  if (kernel.getKind() != exec::KernelKind::Rows) {
    planColumns();
    return;
  }
  SmallVector<linalg::GenericOp> ops = getGenerics(kernel);
  bool sameSpace = llvm::all_of(ops, [&](linalg::GenericOp op) {
    return isElementwise(op) && op.getStaticLoopRanges() == ops.front().getStaticLoopRanges();
  });
  formGroups();
  if (sameSpace)
    planElementwise();
  else
    planRows();
  chooseKept();
}

void KernelPlan::formGroups() {
  for (linalg::GenericOp op : getGenerics(kernel)) {
    if (isElementwise(op) && !isYielded(op))
      continue;
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
    auto *group = llvm::find_if(groups, [&](const LoopGroup &other) {
      bool hasReduction = llvm::is_contained(other.iterators, utils::IteratorType::reduction);
      return other.stage == stages[op] && other.sizes == sizes &&
             (isElementwise(op) || !hasReduction || other.iterators == iterators);
    });
    if (group == groups.end()) {
      groups.emplace_back();
      group = &groups.back();
      group->stage = stages[op];
      group->sizes = sizes;
      group->iterators = iterators;
    }
    if (!isElementwise(op))
      group->iterators = iterators;
    group->roots.push_back(op);
  }
  llvm::stable_sort(groups,
                    [](const LoopGroup &x, const LoopGroup &y) { return x.stage < y.stage; });
}

void KernelPlan::planElementwise() {
  SmallVector<linalg::GenericOp> ops = getGenerics(kernel);
  LoopGroup &group = groups.front();
  SmallVector<LoopDim> dims = collapse(ops, 0, group.sizes.size(), group.sizes, group.iterators);
  extent = 1;
  if (dims.size() == 1) {
    flat = true;
    extent = dims.front().size;
    grain = flatGrain;
    group.columns = dims;
    return;
  }
  if (!dims.empty())
    group.columns = {dims.pop_back_val()};
  rows = dims;
  extent = product(rows);
  grain = std::max<int64_t>(1, elementsPerChunk / std::max<int64_t>(1, product(group.columns)));
}

void KernelPlan::planRows() {
  SmallVector<linalg::GenericOp> ops = getGenerics(kernel);
  unsigned rowDims = kernel.getRowDims();
  LoopGroup &first = groups.front();
  rows = collapse(ops, 0, rowDims, first.sizes, first.iterators);
  extent = product(rows);
  int64_t cost = 0;
  for (LoopGroup &group : groups) {
    // Ops of another space may be computed inside this one; then only single dimensions are safe.
    SmallVector<linalg::GenericOp> same;
    bool isUniform = true;
    for (linalg::GenericOp op : ops) {
      SmallVector<int64_t> sizes = op.getStaticLoopRanges();
      if (sizes == group.sizes)
        same.push_back(op);
      else if (isElementwise(op) && sizes.size() > rowDims)
        isUniform = false;
    }
    for (unsigned d = rowDims; d < group.sizes.size(); ++d)
      if (!isUniform)
        group.columns.push_back({d, d, group.sizes[d]});
    if (isUniform)
      group.columns = collapse(same, rowDims, group.sizes.size(), group.sizes, group.iterators);
    llvm::stable_sort(group.columns, [&](const LoopDim &x, const LoopDim &y) {
      return group.iterators[x.last] < group.iterators[y.last];
    });
    cost += product(group.columns);
  }
  grain = std::max<int64_t>(1, elementsPerChunk / std::max<int64_t>(1, cost));
}

void KernelPlan::planColumns() {
  unsigned rowDims = kernel.getRowDims();
  LoopGroup group;
  for (auto scatter : kernel.getBody().front().getOps<exec::ScatterAddOp>()) {
    group.sizes.assign(cast<RankedTensorType>(scatter.getValues().getType()).getShape());
    group.iterators.assign(group.sizes.size(), utils::IteratorType::parallel);
  }
  for (linalg::GenericOp op : getGenerics(kernel))
    if (!isElementwise(op)) {
      group.sizes = op.getStaticLoopRanges();
      group.iterators = op.getIteratorTypesArray();
    }
  // Ops over rows and columns, ops over columns alone, and ops over something else, which keep all
  // dimensions apart.
  SmallVector<int64_t> columnSizes(ArrayRef(group.sizes).drop_front(rowDims));
  SmallVector<linalg::GenericOp> before, after;
  bool isUniform = true;
  for (linalg::GenericOp op : getGenerics(kernel)) {
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    if (sizes == group.sizes && stages[op] == 0)
      before.push_back(op);
    else if (sizes == columnSizes)
      after.push_back(op);
    else
      isUniform = false;
  }
  unsigned dims = group.sizes.size();
  rows = collapse(before, 0, rowDims, group.sizes, group.iterators);
  SmallVector<LoopDim> columns = collapse(before, rowDims, dims, group.sizes, group.iterators);
  // The ops after the reduction walk the same columns, without the rows.
  SmallVector<utils::IteratorType> parallel(columnSizes.size(), utils::IteratorType::parallel);
  SmallVector<LoopDim> later = collapse(after, 0, columnSizes.size(), columnSizes, parallel);
  auto apart = [&](unsigned begin, unsigned end) {
    SmallVector<LoopDim> result;
    for (unsigned d = begin; d < end; ++d)
      result.push_back({d, d, group.sizes[d]});
    return result;
  };
  bool isSame = later.size() == columns.size();
  for (size_t i = 0; isSame && i < columns.size(); ++i)
    isSame = later[i].last + rowDims == columns[i].last;
  if (!isUniform || (!after.empty() && !isSame))
    columns = apart(rowDims, dims);
  if (!isUniform)
    rows = apart(0, rowDims);
  group.columns = columns;
  extent = product(columns);
  int64_t wanted = elementsPerChunk / std::max<int64_t>(1, product(rows));
  grain = std::max<int64_t>(64, (wanted + 63) / 64 * 64);
  for (linalg::GenericOp op : before)
    if (!isElementwise(op))
      group.roots.push_back(op);
  groups.push_back(group);
}

//===----------------------------------------------------------------------===//
// Row buffers
//===----------------------------------------------------------------------===//

/// Whether computing `op` anew costs more than reading it back.
static bool isExpensive(linalg::GenericOp op) {
  return llvm::any_of(op.getBody()->getOperations(), [](Operation &inner) {
    if (isa<math::AbsFOp, math::FmaOp>(inner))
      return false;
    return isa<arith::DivFOp, tensor::ExtractOp, exec::RandomOp>(inner) ||
           isa<math::MathDialect>(inner.getDialect());
  });
}

/// The elementwise ops that computing `op` computes with it; true where every access on the way is
/// identity.
static void collectClosure(linalg::GenericOp op, unsigned rowDims, bool isIdentity,
                           llvm::MapVector<Operation *, bool> &closure) {
  for (OpOperand *operand : op.getDpsInputOperands()) {
    linalg::GenericOp producer = getGeneric(operand->get());
    if (!producer || !isElementwise(producer) || producer.getNumLoops() <= rowDims)
      continue;
    bool stays = isIdentity && op.getMatchingIndexingMap(operand).isIdentity();
    auto [it, isNew] = closure.insert({producer, stays});
    it->second |= stays;
    if (isNew)
      collectClosure(producer, rowDims, stays, closure);
  }
}

void KernelPlan::chooseKept() {
  unsigned rowDims = kernel.getRowDims();
  SmallVector<llvm::MapVector<Operation *, bool>> closures(groups.size());
  for (auto [group, closure] : llvm::zip(groups, closures))
    for (linalg::GenericOp root : group.roots) {
      if (isElementwise(root))
        closure.insert({root, true});
      collectClosure(root, rowDims, true, closure);
    }
  llvm::SmallPtrSet<Operation *, 8> seen;
  for (size_t i = 0; i < groups.size(); ++i)
    for (auto [op, isIdentity] : closures[i]) {
      auto generic = cast<linalg::GenericOp>(op);
      bool isLater = false;
      for (size_t j = i + 1; j < groups.size(); ++j)
        isLater |= closures[j].contains(op);
      SmallVector<int64_t> sizes = generic.getStaticLoopRanges();
      int64_t bytes = product(ArrayRef(sizes).drop_front(rowDims)) * 4;
      if (isLater && isIdentity && isExpensive(generic) && sizes == groups[i].sizes &&
          !seen.contains(op) && bytes <= maxRowBufferBytes && generic->getNumResults() == 1)
        groups[i].kept.push_back(generic);
      seen.insert(op);
    }
}

//===----------------------------------------------------------------------===//
// Questions about kernels
//===----------------------------------------------------------------------===//

bool ulsc::lower::isTranspose(exec::KernelOp kernel) {
  SmallVector<linalg::GenericOp> ops = getGenerics(kernel);
  if (kernel.getKind() != exec::KernelKind::Rows || ops.size() != 1 ||
      ops[0].getNumDpsInputs() != 1 || ops[0].getNumDpsInits() != 1 || !isElementwise(ops[0]) ||
      ops[0].getNumLoops() < 2)
    return false;
  Operation *yield = ops[0].getBody()->getTerminator();
  AffineMap from = ops[0].getIndexingMapsArray()[0], to = ops[0].getIndexingMapsArray()[1];
  if (yield->getOperand(0) != ops[0].getBody()->getArgument(0) || !to.isIdentity() ||
      !from.isPermutation())
    return false;
  unsigned last = ops[0].getNumLoops() - 1;
  return from.getDimPosition(last) != last && isa<BlockArgument>(ops[0].getInputs()[0]);
}

/// Whether `op` reads argument `input` other than element by element.
static bool readsElsewhere(linalg::GenericOp op, Value input) {
  for (OpOperand *operand : op.getDpsInputOperands())
    if (operand->get() == input && !op.getMatchingIndexingMap(operand).isIdentity())
      return true;
  return llvm::any_of(op.getBody()->getOps<tensor::ExtractOp>(),
                      [&](tensor::ExtractOp extract) { return extract.getTensor() == input; });
}

static bool reads(linalg::GenericOp op, Value input) {
  return llvm::is_contained(op->getOperands(), input);
}

bool ulsc::lower::mayWriteInPlace(exec::KernelOp kernel, unsigned input, unsigned output) {
  Value argument = kernel.getBody().getArgument(input);
  Value result = kernel.getBody().front().getTerminator()->getOperand(output);
  if (argument.getType() != result.getType() || isTranspose(kernel))
    return false;
  auto scatter = result.getDefiningOp<exec::ScatterAddOp>();
  if (scatter)
    return scatter.getInit() == argument && argument.hasOneUse();
  KernelPlan plan(kernel);
  linalg::GenericOp writer = getGeneric(result);
  for (linalg::GenericOp op : getGenerics(kernel))
    if (readsElsewhere(op, argument))
      return false;
  if (kernel.getKind() == exec::KernelKind::Columns)
    return llvm::all_of(argument.getUsers(), [&](Operation *user) {
      return plan.stages.lookup(user) > 0 ||
             llvm::is_contained(cast<linalg::GenericOp>(user).getOutputs(), argument);
    });
  if (!isElementwise(writer))
    return false;
  bool isWritten = false;
  for (LoopGroup &group : plan.groups) {
    llvm::MapVector<Operation *, bool> closure;
    for (linalg::GenericOp root : group.roots) {
      closure.insert({root, true});
      collectClosure(root, 0, true, closure);
    }
    for (auto [op, isIdentity] : closure)
      if (reads(cast<linalg::GenericOp>(op), argument) && (isWritten || !isIdentity))
        return false;
    isWritten |= llvm::is_contained(group.roots, writer);
  }
  return true;
}

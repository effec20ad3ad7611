//===- EmitCpuAttention.cpp - Turn attention into launches of generated functions -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Lower/AttentionScratch.h"
#include "passes/Lower/AttentionTask.h"
#include "passes/Lower/EmitMath.h"
#include "passes/Lower/Passes.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

namespace ulsc {
#define GEN_PASS_DEF_EMITCPUATTENTIONPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

static constexpr float infinity = std::numeric_limits<float>::infinity();

int64_t ulsc::attentionScratchBytes(exec::AttentionOp op, int64_t threads) {
  return threads * AttentionShape(op).scratchBytes(/*isGradient=*/false);
}
int64_t ulsc::attentionScratchBytes(exec::AttentionGradOp op, int64_t threads) {
  return threads * AttentionShape(op).scratchBytes(/*isGradient=*/true);
}

static Value isLowest(CodeBuilder &code, Value x) {
  return code.cmpf(arith::CmpFPredicate::OEQ, x, code.f32(-infinity));
}

/// Runs `body` as a reduction over the keys that the block may see.
static Value reduceKeys(AttentionTask &task, float initial,
                        llvm::function_ref<Value(Value, Value)> body) {
  CodeBuilder &code = task.code;
  auto loop = code.independentLoop(
      code.i64(0), task.count, {code.f32(initial)},
      [&](Value key, ValueRange carried) { return SmallVector<Value>{body(key, carried[0])}; });
  return loop.getResult(0);
}

static Value addReassociated(CodeBuilder &code, Value x, Value y) {
  arith::FastMathFlags outer = code.flags;
  code.flags = outer | arith::FastMathFlags::reassoc;
  Value sum = code.addf(x, y);
  code.flags = outer;
  return sum;
}

/// Softmax of one row of scores in place, unnormalised but for dropout; writes lse and the row's
/// factor.
static void emitSoftmaxRow(AttentionTask &task, Value scores, Value row, Value lse, Value factors) {
  CodeBuilder &code = task.code;
  Type f32 = code.f32Type();
  Value line = code.address(scores, code.mul(row, code.i64(task.shape.t)), f32);
  Value position = task.positionOf(row), segment = task.segmentOf(row);
  Value largest = reduceKeys(task, -infinity, [&](Value key, Value carried) {
    Value x = code.load(line, key, f32);
    if (Value visible = task.isVisible(position, segment, key)) {
      x = code.select(visible, x, code.f32(-infinity));
      code.store(x, line, key, f32);
    }
    return Value(arith::MaximumFOp::create(code.b, code.loc, x, carried, code.flags));
  });
  // A row that sees no key subtracts nothing, and so gets zeros.
  largest = code.select(isLowest(code, largest), code.f32(0.0f), largest);
  Value sum = reduceKeys(task, 0.0f, [&](Value key, Value carried) {
    Value p = emitExp(code, code.subf(code.load(line, key, f32), largest));
    Value factor = task.dropoutFactor(row, key);
    code.store(factor ? code.mulf(p, factor) : p, line, key, f32);
    return addReassociated(code, p, carried);
  });
  code.store(code.addf(largest, emitLog(code, sum)), lse, task.statisticIndex(row), f32);
  Value isEmpty = code.cmpf(arith::CmpFPredicate::OEQ, sum, code.f32(0.0f));
  Value inverse = code.divf(code.f32(1.0f), sum);
  code.store(code.select(isEmpty, code.f32(0.0f), inverse), factors, row, f32);
}

/// Moves the scratch pointer to this thread's part.
static void selectThread(AttentionTask &task, bool isGradient) {
  CodeBuilder &code = task.code;
  Value offset =
      code.mul(task.function.getArgument(4), code.i64(task.shape.scratchBytes(isGradient)));
  task.scratch = code.address(task.scratch, offset, code.b.getI8Type());
}

/// Tasks are blocks of query rows of one head.
static void emitForward(AttentionTask &task) {
  CodeBuilder &code = task.code;
  const AttentionShape &shape = task.shape;
  task.loadArguments(3);
  selectThread(task, false);
  Value out = task.extra[0], lse = task.extra[1];
  Value scores = task.takeScratch(shape.block * shape.t), factors = task.takeScratch(shape.block);
  Value wideOut = shape.isWide() ? Value() : task.takeScratch(shape.block * shape.d);
  SmallVector<LoopDim> dims = {
      {0, 0, shape.b}, {1, 1, shape.k}, {2, 2, shape.g}, {3, 3, shape.blocks()}};
  code.loop(task.function.getArgument(2), task.function.getArgument(3), code.i64(1), {},
            [&](Value index, ValueRange) {
              SmallVector<Value> at(4);
              decompose(code, index, dims, at);
              task.setHead(at[0], at[1]);
              task.setBlock(at[2], at[3]);
              task.emitScores(scores);
              code.loop(code.i64(0), task.rows, code.i64(1), {}, [&](Value row, ValueRange) {
                emitSoftmaxRow(task, scores, row, lse, factors);
                return SmallVector<Value>();
              });
              Value stride = code.i64(shape.isWide() ? shape.k * shape.g * shape.d : shape.d);
              Value result = wideOut;
              if (shape.isWide())
                result =
                    code.address(out, code.mul(task.statisticIndex(code.i64(0)), code.i64(shape.d)),
                                 shape.element);
              task.gemm(false, false, task.rows, code.i64(shape.d), task.count, 1.0f, scores,
                        code.i64(shape.t), task.vMatrix, task.kStride, 0.0f, result, stride);
              task.narrowRows(result, stride, out, factors);
              return SmallVector<Value>();
            });
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

/// One row: scores become dropped probabilities, dP becomes dS.
static void emitGradientRow(AttentionTask &task, Value scores, Value gradients, Value row,
                            Value lse, Value delta) {
  CodeBuilder &code = task.code;
  Type f32 = code.f32Type();
  Value offset = code.mul(row, code.i64(task.shape.t));
  Value line = code.address(scores, offset, f32),
        gradientLine = code.address(gradients, offset, f32);
  Value position = task.positionOf(row), segment = task.segmentOf(row);
  Value statistic = code.load(lse, task.statisticIndex(row), f32);
  statistic = code.select(isLowest(code, statistic), code.f32(0.0f), statistic);
  code.independentLoop(code.i64(0), task.count, {}, [&](Value key, ValueRange) {
    Value p = emitExp(code, code.subf(code.load(line, key, f32), statistic));
    if (Value visible = task.isVisible(position, segment, key))
      p = code.select(visible, p, code.f32(0.0f));
    Value dp = code.load(gradientLine, key, f32), dropped = p;
    if (Value factor = task.dropoutFactor(row, key)) {
      dp = code.mulf(dp, factor);
      dropped = code.mulf(p, factor);
    }
    code.store(dropped, line, key, f32);
    code.store(code.mulf(p, code.subf(dp, delta)), gradientLine, key, f32);
    return SmallVector<Value>();
  });
}

/// The sum over d of dO * O of one row.
static Value emitDelta(AttentionTask &task, Value row, Value out, Value dout) {
  CodeBuilder &code = task.code;
  Value base = code.mul(task.statisticIndex(row), code.i64(task.shape.d));
  auto loop = code.independentLoop(
      code.i64(0), code.i64(task.shape.d), {code.f32(0.0f)}, [&](Value d, ValueRange carried) {
        Value index = code.add(base, d);
        Value x = code.load(out, index, task.shape.element),
              y = code.load(dout, index, task.shape.element);
        return SmallVector<Value>{addReassociated(code, carried[0], code.mulf(x, y))};
      });
  return loop.getResult(0);
}

namespace {
/// The buffers of the gradient's task.
struct GradientBuffers {
  Value out, lse, dout, dq, dk, dv;
  Value scores, gradients, wideDout, wideDq;
  Value dkMatrix, dvMatrix;
};
} // namespace

static void emitGradientBlock(AttentionTask &task, GradientBuffers &buffers) {
  CodeBuilder &code = task.code;
  const AttentionShape &shape = task.shape;
  Value d = code.i64(shape.d), t = code.i64(shape.t);
  auto [dout, doutStride] = task.widenRows(buffers.dout, buffers.wideDout);
  task.emitScores(buffers.scores);
  task.gemm(false, true, task.rows, task.count, d, 1.0f, dout, doutStride, task.vMatrix,
            task.kStride, 0.0f, buffers.gradients, t);
  code.loop(code.i64(0), task.rows, code.i64(1), {}, [&](Value row, ValueRange) {
    Value delta = emitDelta(task, row, buffers.out, buffers.dout);
    emitGradientRow(task, buffers.scores, buffers.gradients, row, buffers.lse, delta);
    return SmallVector<Value>();
  });
  task.gemm(true, false, task.count, d, task.rows, 1.0f, buffers.scores, t, dout, doutStride, 1.0f,
            buffers.dvMatrix, task.kStride);
  task.gemm(true, false, task.count, d, task.rows, shape.scale, buffers.gradients, t, task.qMatrix,
            task.qStride, 1.0f, buffers.dkMatrix, task.kStride);
  Value dq = buffers.wideDq, dqStride = d;
  if (shape.isWide()) {
    dq = code.address(buffers.dq, code.mul(task.statisticIndex(code.i64(0)), d), shape.element);
    dqStride = code.i64(shape.k * shape.g * shape.d);
  }
  task.gemm(false, false, task.rows, d, task.count, shape.scale, buffers.gradients, t, task.kMatrix,
            task.kStride, 0.0f, dq, dqStride);
  if (!shape.isWide())
    task.narrowRows(dq, dqStride, buffers.dq, {});
}

/// Tasks are key heads, each with all of its query heads and row blocks in order.
static void emitGradient(AttentionTask &task) {
  CodeBuilder &code = task.code;
  const AttentionShape &shape = task.shape;
  task.loadArguments(7);
  selectThread(task, true);
  GradientBuffers buffers;
  Value *members[] = {&buffers.out, &buffers.lse, &buffers.dout,
                      &buffers.dq,  &buffers.dk,  &buffers.dv};
  for (auto [i, member] : llvm::enumerate(members))
    *member = task.extra[i];
  buffers.scores = task.takeScratch(shape.block * shape.t);
  buffers.gradients = task.takeScratch(shape.block * shape.t);
  if (!shape.isWide()) {
    buffers.wideDout = task.takeScratch(shape.block * shape.d);
    buffers.wideDq = task.takeScratch(shape.block * shape.d);
    buffers.dkMatrix = task.takeScratch(shape.t * shape.d);
    buffers.dvMatrix = task.takeScratch(shape.t * shape.d);
  }
  SmallVector<LoopDim> dims = {{0, 0, shape.b}, {1, 1, shape.k}};
  code.loop(
      task.function.getArgument(2), task.function.getArgument(3), code.i64(1), {},
      [&](Value index, ValueRange) {
        SmallVector<Value> at(2);
        decompose(code, index, dims, at);
        task.setHead(at[0], at[1]);
        GradientBuffers local = buffers;
        if (shape.isWide())
          local.dkMatrix = task.keyBase(buffers.dk), local.dvMatrix = task.keyBase(buffers.dv);
        task.zeroKeys(local.dkMatrix, task.kStride);
        task.zeroKeys(local.dvMatrix, task.kStride);
        int64_t blocks = shape.g * shape.blocks();
        code.loop(code.i64(0), code.i64(blocks), code.i64(1), {}, [&](Value block, ValueRange) {
          task.setBlock(code.divide(block, shape.blocks()), code.remainder(block, shape.blocks()));
          emitGradientBlock(task, local);
          return SmallVector<Value>();
        });
        if (!shape.isWide()) {
          task.narrowKeys(local.dkMatrix, buffers.dk);
          task.narrowKeys(local.dvMatrix, buffers.dv);
        }
        return SmallVector<Value>();
      });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct EmitCpuAttention : public ulsc::impl::EmitCpuAttentionPassBase<EmitCpuAttention> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<exec::AttentionOp, exec::AttentionGradOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      LogicalResult result = success();
      if (auto forward = dyn_cast<exec::AttentionOp>(op))
        result = replace(forward, {forward.getOut(), forward.getLse()}, false);
      else if (auto grad = dyn_cast<exec::AttentionGradOp>(op))
        result = replace(grad,
                         {grad.getOut(), grad.getLse(), grad.getDout(), grad.getDq(), grad.getDk(),
                          grad.getDv()},
                         true);
      if (failed(result))
        return signalPassFailure();
    }
  }

  /// Replaces `op` by a launch on its operands, `buffers` and the scratch.
  template <typename Op>
  LogicalResult replace(Op op, SmallVector<Value> buffers, bool isGradient) {
    AttentionShape shape(op);
    int64_t needed = shape.scratchBytes(isGradient);
    int64_t given =
        op.getScratch() ? exec::getBytes(cast<MemRefType>(op.getScratch().getType())) : 0;
    if (given < needed)
      return op.emitOpError("has ") << given << " bytes of scratch; one thread takes " << needed;
    FlatSymbolRefAttr kernel = emitOnce(op, shape, isGradient);
    SmallVector<Value> inputs = {op.getQ(), op.getK(), op.getV(), op.getQPositions(),
                                 op.getKvPositions()};
    if (shape.hasSegments)
      inputs.append({op.getQSegments(), op.getKvSegments()});
    SmallVector<Value> scalars;
    if (shape.dropoutRate)
      scalars.append(op.getScalars().begin(), op.getScalars().end());
    // The gradient's first three buffers are read.
    unsigned reads = isGradient ? 3 : 0;
    inputs.append(buffers.begin(), buffers.begin() + reads);
    SmallVector<Value> outputs(buffers.begin() + reads, buffers.end());
    outputs.push_back(op.getScratch());
    OpBuilder builder(op);
    int64_t extent = shape.b * shape.k * (isGradient ? 1 : shape.g * shape.blocks());
    exec::LaunchOp::create(builder, op.getLoc(), kernel, inputs, outputs, scalars,
                           builder.getI64IntegerAttr(extent), builder.getI64IntegerAttr(1));
    op.erase();
    return success();
  }

  /// The function of attentions like `op`, made when it is the first.
  template <typename Op>
  FlatSymbolRefAttr emitOnce(Op op, const AttentionShape &shape, bool isGradient) {
    std::string key;
    llvm::raw_string_ostream stream(key);
    stream << isGradient << op->getAttrDictionary() << op.getQ().getType() << op.getK().getType()
           << shape.hasSegments;
    FlatSymbolRefAttr &symbol = functions[key];
    if (symbol)
      return symbol;
    std::string name = (isGradient ? "ulsc.attention_grad." : "ulsc.attention.") +
                       std::to_string(functions.size());
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    LLVM::LLVMFuncOp function = createKernelFunction(builder, op.getLoc(), name);
    CodeBuilder code(builder, op.getLoc());
    AttentionTask task(code, shape, function);
    if (isGradient)
      emitGradient(task);
    else
      emitForward(task);
    LLVM::ReturnOp::create(builder, op.getLoc(), ValueRange());
    return symbol = FlatSymbolRefAttr::get(&getContext(), name);
  }

  llvm::StringMap<FlatSymbolRefAttr> functions;
};

} // namespace

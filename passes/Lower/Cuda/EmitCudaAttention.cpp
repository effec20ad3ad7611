//===- EmitCudaAttention.cpp - Turn attention into launches of generated kernels --------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/DeviceFunctions.h"
#include "passes/Lower/Cuda/GridAttention.h"
#include "passes/Lower/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/raw_ostream.h"

namespace ulsc {
#define GEN_PASS_DEF_EMITCUDAATTENTIONPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

namespace {

/// A kernel that an attention, or its gradient, becomes.
struct Part {
  StringRef name;
  int64_t tiles;
  Geometry (*emit)(GridAttention &);
  unsigned outputs;
};
constexpr Part kForward = {"ulsc.attention", kAttentionTiles, emitAttention, 2};
constexpr Part kQueryGradient = {"ulsc.attention_query_grad", kQueryGradientTiles,
                                 emitQueryGradient, 1};
constexpr Part kKeyGradient = {"ulsc.attention_key_grad", kKeyGradientTiles, emitKeyGradient, 2};

class Emitter {
public:
  explicit Emitter(ModuleOp module) : functions(module) {}

  LogicalResult replace(exec::AttentionOp op) {
    return launch(op, kForward, {}, {op.getOut(), op.getLse()});
  }

  LogicalResult replace(exec::AttentionGradOp op) {
    SmallVector<Value> reads = {op.getOut(), op.getLse(), op.getDout()};
    if (failed(launch(op, kQueryGradient, reads, {op.getDq()})))
      return failure();
    return launch(op, kKeyGradient, reads, {op.getDk(), op.getDv()});
  }

private:
  struct Emitted {
    FlatSymbolRefAttr symbol;
    Geometry geometry;
  };

  template <typename Op>
  LogicalResult launch(Op op, const Part &part, ArrayRef<Value> reads, ArrayRef<Value> writes) {
    AttentionShape shape(op);
    if (GridAttention::chooseRows(shape, part.tiles) < 2)
      return op.emitOpError("has heads of ")
             << shape.d << " elements, of which no tile fits in the shared memory of a block";
    SmallVector<Value> inputs = {op.getQ(), op.getK(), op.getV(), op.getQPositions(),
                                 op.getKvPositions()};
    if (shape.hasSegments)
      inputs.append({op.getQSegments(), op.getKvSegments()});
    inputs.append(reads.begin(), reads.end());
    SmallVector<Value> scalars;
    if (shape.dropoutRate)
      scalars.append(op.getScalars().begin(), op.getScalars().end());
    const Emitted &emitted = emitOnce(op, part, shape, inputs, writes, scalars.size());
    OpBuilder builder(op);
    exec::LaunchOp::create(builder, op.getLoc(), emitted.symbol, inputs, writes, scalars,
                           builder.getI64IntegerAttr(emitted.geometry.blocks),
                           builder.getI64IntegerAttr(emitted.geometry.threads));
    return success();
  }

  /// The kernel of attentions like `op`, made when it is the first.
  template <typename Op>
  const Emitted &emitOnce(Op op, const Part &part, const AttentionShape &shape,
                          ArrayRef<Value> reads, ArrayRef<Value> writes, size_t scalars) {
    std::string key;
    llvm::raw_string_ostream stream(key);
    stream << part.name << op->getAttrDictionary() << op.getQ().getType() << op.getK().getType()
           << shape.hasSegments;
    Emitted &emitted = kernels[key];
    if (emitted.symbol)
      return emitted;
    std::string name = (part.name + "." + Twine(kernels.size())).str();
    SmallVector<Type> buffers(ValueRange(reads).getTypes());
    llvm::append_range(buffers, ValueRange(writes).getTypes());
    size_t pointers = buffers.size();
    LLVM::LLVMFuncOp function = functions.create(op.getLoc(), name, pointers, scalars);
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    CodeBuilder code(builder, op.getLoc());
    GridBuilder grid(code, functions.getModule());
    int64_t rows = GridAttention::chooseRows(shape, part.tiles);
    GridAttention task(grid, shape, rows, rows);
    SmallVector<Value> arguments = llvm::to_vector_of<Value>(function.getArguments());
    task.bind(ArrayRef(arguments).slice(1, pointers), ArrayRef(arguments).drop_front(1 + pointers),
              arguments.front());
    emitted.geometry = part.emit(task);
    LLVM::ReturnOp::create(builder, op.getLoc(), ValueRange());
    StringAttr symbol = builder.getStringAttr(name);
    functions.describe(function, symbol, buffers, writes.size(), scalars, emitted.geometry);
    emitted.symbol = FlatSymbolRefAttr::get(symbol);
    return emitted;
  }

  DeviceFunctions functions;
  llvm::StringMap<Emitted> kernels;
};

struct EmitCudaAttention : ulsc::impl::EmitCudaAttentionPassBase<EmitCudaAttention> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      auto forward = dyn_cast<exec::AttentionOp>(op);
      auto gradient = dyn_cast<exec::AttentionGradOp>(op);
      if ((forward && !forward.getLibrary()) || (gradient && !gradient.getLibrary()))
        ops.push_back(op);
    });
    if (ops.empty())
      return;
    Emitter emitter(getOperation());
    for (Operation *op : ops) {
      auto forward = dyn_cast<exec::AttentionOp>(op);
      LogicalResult result =
          forward ? emitter.replace(forward) : emitter.replace(cast<exec::AttentionGradOp>(op));
      if (failed(result))
        return signalPassFailure();
      op->erase();
    }
  }
};

} // namespace

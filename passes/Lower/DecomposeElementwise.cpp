//===- DecomposeElementwise.cpp - Elementwise ops to generics ---------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/DecomposePatterns.h"
#include "passes/Lower/GenericOps.h"
#include "passes/Lower/ScalarForms.h"
#include "ulsc/Random.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

namespace {

/// Operands of an elementwise op as the generic sees them: tensors that it reads, and scalar
/// expressions (splat constants, control fields, arithmetic on them) that its body computes. Update
/// rules need this, and it saves kernels that would compute one number.
class ElementReader {
public:
  explicit ElementReader(const ScalarForms &forms) : forms(forms) {}

  /// Notes the tensors that reading `value` needs.
  void visit(Value value) {
    if (isInline(value)) {
      for (Value operand : value.getDefiningOp()->getOperands())
        visit(operand);
    } else {
      leaves.insert({value, leaves.size()});
    }
  }

  SmallVector<Operand> getOperands(unsigned loops) {
    SmallVector<Operand> operands;
    for (auto [value, index] : leaves) {
      MLIRContext *context = value.getContext();
      bool isScalar = cast<RankedTensorType>(value.getType()).getRank() == 0;
      operands.push_back({value, isScalar ? noDims(context, loops) : allDims(context, loops)});
    }
    return operands;
  }

  /// The element of `value`, given those of the noted tensors.
  Value read(OpBuilder &builder, Location location, Value value, ValueRange elements) {
    if (auto it = leaves.find(value); it != leaves.end())
      return elements[it->second];
    Operation *op = value.getDefiningOp();
    if (auto constant = dyn_cast<uls::ConstantOp>(op))
      return buildConstant(builder, location, constant);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(read(builder, location, operand, elements));
    return (*forms.lookup(op))(builder, location, op, operands);
  }

private:
  static Value buildConstant(OpBuilder &builder, Location location, uls::ConstantOp constant) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    if (auto number = dyn_cast<FloatAttr>(splat.getSplatValue<Attribute>()))
      return f32Constant(builder, location, number.getValueAsDouble());
    return arith::ConstantOp::create(builder, location, splat.getSplatValue<TypedAttr>());
  }

  /// Splat constants of any shape, and rank-0 arithmetic.
  bool isInline(Value value) const {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (auto constant = dyn_cast<uls::ConstantOp>(op))
      return isa<SplatElementsAttr>(constant.getValue());
    return cast<RankedTensorType>(value.getType()).getRank() == 0 && forms.lookup(op) &&
           readsNoTensor(op);
  }

  /// Whether a scalar expression ends in constants and control fields, or lies within a kernel,
  /// where every rank-0 op has to be inlined: generics of a kernel all have its rows.
  bool readsNoTensor(Operation *op) const {
    if (op->getParentOfType<exec::KernelOp>())
      return true;
    return llvm::all_of(op->getOperands(), [&](Value operand) { return isInline(operand); });
  }

  const ScalarForms &forms;
  llvm::MapVector<Value, size_t> leaves;
};

/// Any op with a scalar form.
struct DecomposeElementwise : RewritePattern {
  DecomposeElementwise(MLIRContext *context, const ScalarForms &forms)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context), forms(forms) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    const ScalarForm *form = forms.lookup(op);
    // A field of the control block is read where it is used, or into a buffer.
    if (!form || isa<uls::ControlOp>(op) || op->use_empty())
      return failure();
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    if (!result.hasStaticShape() ||
        (result.getRank() == 0 && op->getParentOfType<exec::KernelOp>()))
      return failure();
    ElementReader reader(forms);
    for (Value operand : op->getOperands())
      reader.visit(operand);
    StringRef name = op->getName().stripDialect();
    Value value =
        buildElementwise(rewriter, op->getLoc(), result, reader.getOperands(result.getRank()), name,
                         [&](OpBuilder &builder, Location location, ValueRange elements) {
                           SmallVector<Value> operands;
                           for (Value operand : op->getOperands())
                             operands.push_back(reader.read(builder, location, operand, elements));
                           return (*form)(builder, location, op, operands);
                         });
    rewriter.replaceOp(op, value);
    return success();
  }

  const ScalarForms &forms;
};

struct DecomposeDropout : OpRewritePattern<uls::DropoutOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(uls::DropoutOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    auto [layer, row] = getContextParts(op.getCallContext());
    if (!layer)
      return rewriter.notifyMatchFailure(op, "context is not expanded");
    Location location = op.getLoc();
    // Offsets of the block and strides of the global tensor; the first dimension starts at the
    // call's first row.
    SmallVector<int64_t> strides(type.getRank(), 1);
    ArrayRef<int64_t> global = op.getShard() ? op.getShard()->getGlobalShape() : type.getShape();
    for (int64_t i = type.getRank() - 2; i >= 0; --i)
      strides[i] = strides[i + 1] * global[i + 1];
    SmallVector<Value> offsets;
    for (int64_t i = 0; i < type.getRank(); ++i)
      offsets.push_back(
          buildShardOffset(rewriter, location, op.getShardAttr(), i, type.getDimSize(i)));
    offsets[0] =
        offsets[0] ? Value(arith::AddIOp::create(rewriter, location, offsets[0], row)) : row;
    int64_t key = static_cast<int64_t>(ulsc_random_hash_name(op.getKey().str().c_str()));
    double rate = op.getRate().convertToDouble();
    Value layerIndex = layer;
    Value value = buildElementwise(
        rewriter, location, type, {{op.getInput(), allDims(getContext(), type.getRank())}},
        "dropout", [&](OpBuilder &b, Location l, ValueRange v) {
          Value index = buildGlobalIndex(b, l, offsets, strides);
          Value word = exec::RandomOp::create(b, l, b.getI32Type(), index, layerIndex,
                                              b.getI64IntegerAttr(key));
          return buildDrop(b, l, v[0], word, rate);
        });
    rewriter.replaceOp(op, value);
    return success();
  }

  /// Row-major index of the element in the global tensor.
  static Value buildGlobalIndex(OpBuilder &b, Location l, ArrayRef<Value> offsets,
                                ArrayRef<int64_t> strides) {
    Value index;
    for (size_t i = 0; i < offsets.size(); ++i) {
      Value at = arith::IndexCastOp::create(b, l, b.getI64Type(), linalg::IndexOp::create(b, l, i));
      if (offsets[i])
        at = arith::AddIOp::create(b, l, at, offsets[i]);
      at = arith::MulIOp::create(b, l, at, i64Constant(b, l, strides[i]));
      index = index ? Value(arith::AddIOp::create(b, l, index, at)) : at;
    }
    return index;
  }

  /// `x / (1 - rate)` where the word reaches the threshold of ulsc_random_drop_threshold, else 0.
  /// Everything about the rate is the same for all elements and leaves the loops.
  static Value buildDrop(OpBuilder &b, Location l, Value x, Value word, double compiledRate) {
    Value zero = f32Constant(b, l, 0.0), one = f32Constant(b, l, 1.0);
    Value control = exec::ControlOp::create(b, l, b.getF32Type(), "dropout_rate");
    Value unset = arith::CmpFOp::create(b, l, arith::CmpFPredicate::OLT, control, zero);
    Value rate = arith::SelectOp::create(b, l, unset, f32Constant(b, l, compiledRate), control);
    Value wide = arith::ExtFOp::create(b, l, b.getF64Type(), rate);
    auto f64 = [&](double v) -> Value {
      return arith::ConstantOp::create(b, l, b.getF64FloatAttr(v));
    };
    Value scaled = arith::MulFOp::create(b, l, wide, f64(4294967296.0));
    scaled = arith::MinimumFOp::create(b, l, scaled, f64(4294967295.0));
    Value integer = arith::FPToSIOp::create(b, l, b.getI64Type(), scaled);
    Value threshold = arith::TruncIOp::create(b, l, b.getI32Type(), integer);
    Value keep = arith::CmpIOp::create(b, l, arith::CmpIPredicate::uge, word, threshold);
    Value scale = arith::DivFOp::create(b, l, one, arith::SubFOp::create(b, l, one, rate));
    Value kept = arith::MulFOp::create(b, l, x, scale);
    return arith::SelectOp::create(b, l, keep, kept, zero);
  }
};

} // namespace

void lower::populateElementwisePatterns(RewritePatternSet &patterns, const ScalarForms &forms) {
  patterns.add<DecomposeElementwise>(patterns.getContext(), forms);
  patterns.add<DecomposeDropout>(patterns.getContext());
}

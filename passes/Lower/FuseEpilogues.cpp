//===- FuseEpilogues.cpp - Matrix products that do what follows them --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// What is fused is what NVIDIA documents for cuBLASLt: one product of f32, or of bf16 or f16 into
// their own type or f32; vectors and matrices of an epilogue in the result's type; where there is a
// matrix beside the result, one type of all and rows of a multiple of 8 elements.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "passes/Lower/ContractionShape.h"
#include "passes/Lower/DecomposePatterns.h"
#include "passes/Lower/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace ulsc {
#define GEN_PASS_DEF_FUSEEPILOGUESPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
static Type elementOf(Value value) { return typeOf(value).getElementType(); }

//===---------------------------------------------------------------------------------------===//
// Products
//===---------------------------------------------------------------------------------------===//

namespace {
/// A product that the library can do more with.
struct Product {
  uls::EinsumOp op;
  ContractionForm form;
  /// Letters that the product sums over, and those that a row of c runs over.
  std::string k, n;

  int64_t getRowLength() const { return form.sizes[2]; }
  /// Whether there may be a matrix beside c.
  bool canHaveMatrix() const {
    return getRowLength() % 8 == 0 && elementOf(op->getResult(0)) == elementOf(form.a);
  }
};
} // namespace

/// Without letters of size 1.
static std::string dropUnits(StringRef letters, uls::EinsumOp op) {
  std::string kept;
  llvm::copy_if(letters, std::back_inserter(kept),
                [&](char letter) { return op.getSize(letter) != 1; });
  return kept;
}

static std::optional<Product> detectProduct(uls::EinsumOp op) {
  Type operands = elementOf(op.getLhs()), result = elementOf(op.getOutput());
  bool hasTypes = (operands.isF32() || operands.isBF16() || operands.isF16()) &&
                  operands == elementOf(op.getRhs()) && (result == operands || result.isF32());
  ContractionShape shape(op);
  if (!hasTypes || !shape.hasStrides())
    return std::nullopt;
  ContractionForm form = shape.getForm();
  const ContractionLetters &letters = shape.letters;
  bool isByRows =
      form.cStrides[2] == 1 && (form.sizes[1] == 1 || form.cStrides[1] == form.sizes[2]);
  if (form.sizes[0] != 1 || !isByRows)
    return std::nullopt;
  return Product{op, form, dropUnits(letters.k, op),
                 dropUnits(form.isSwapped ? letters.m : letters.n, op)};
}

/// Builds the product in the einsum's place; `locations` are those of what it does beside.
static exec::ContractOp buildContract(const Product &product, exec::Epilogue epilogue,
                                      ArrayRef<Location> locations, Type result, Value input,
                                      Type output) {
  uls::EinsumOp op = product.op;
  const ContractionForm &form = product.form;
  OpBuilder builder(op);
  SmallVector<Location> all{op.getLoc()};
  llvm::append_range(all, locations);
  return exec::ContractOp::create(builder, builder.getFusedLoc(all), result, output,
                                  getContractionName(op), form.a, form.b, Value(), form.sizes,
                                  form.aStrides, form.bStrides, form.cStrides,
                                  exec::EpilogueAttr::get(builder.getContext(), epilogue), input);
}

//===---------------------------------------------------------------------------------------===//
// What surrounds them
//===---------------------------------------------------------------------------------------===//

/// The last of the reshapes that each are all that uses the value before.
static Value followReshapes(Value value) {
  while (value.hasOneUse()) {
    auto reshape = dyn_cast<uls::ReshapeOp>(*value.user_begin());
    if (!reshape)
      break;
    value = reshape.getOutput();
  }
  return value;
}

/// Has `value` be there before `op`, if need be by moving the conversion and reshapes that make it.
/// Whether it could be.
static bool makeAvailable(Value value, Operation *op) {
  if (isDefinedBefore(value, op))
    return true;
  Operation *producer = value.getDefiningOp();
  if (!isa<uls::ConvertOp, uls::ReshapeOp>(producer) || !makeAvailable(producer->getOperand(0), op))
    return false;
  producer->moveBefore(op);
  return true;
}

/// Whether `user` is computed where its operand is: an addition before it takes no kernel of its
/// own.
static bool joinsKernelBefore(Operation *user) {
  return isa<uls::AddOp, uls::SubOp, uls::MulOp, uls::DivOp, uls::MaximumOp, uls::MinimumOp,
             uls::MaskOp, uls::SelectOp, uls::NegOp, uls::ExpOp, uls::LogOp, uls::SqrtOp,
             uls::RsqrtOp, uls::TanhOp, uls::SiluOp, uls::SiluGradOp, uls::GeluOp, uls::GeluGradOp,
             uls::ConvertOp, uls::DropoutOp, uls::RmsNormOp, uls::LayerNormOp, uls::SoftmaxOp,
             uls::ReduceOp, uls::AccumulateOp>(user);
}

/// Whether someone reads `value` from memory.
static bool isNeededInMemory(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    auto reshape = dyn_cast<uls::ReshapeOp>(user);
    return reshape ? isNeededInMemory(reshape.getOutput()) : !joinsKernelBefore(user);
  });
}

namespace {
struct BiasAddition {
  uls::AddOp add;
  Value bias;
};
} // namespace

/// The addition of a row to each row of `product`, all that uses its result.
static std::optional<BiasAddition> detectBias(const Product &product) {
  uls::EinsumOp op = product.op;
  Value value = followReshapes(op.getOutput());
  auto add = value.hasOneUse() ? dyn_cast<uls::AddOp>(*value.user_begin()) : uls::AddOp();
  if (!add || add->getBlock() != op->getBlock())
    return std::nullopt;
  Value other = add.getLhs() == value ? add.getRhs() : add.getLhs();
  auto broadcast = other.getDefiningOp<uls::BroadcastOp>();
  if (!broadcast || other.getType() != value.getType())
    return std::nullopt;
  RankedTensorType bias = typeOf(broadcast.getInput());
  ArrayRef<int64_t> dims = broadcast.getDims();
  bool isTrailing = llvm::equal(
      dims, llvm::seq(typeOf(value).getRank() - bias.getRank(), typeOf(value).getRank()));
  if (!isTrailing || bias.getNumElements() != product.getRowLength())
    return std::nullopt;
  return BiasAddition{add, broadcast.getInput()};
}

static bool isTanh(uls::Approximation approximation) {
  return approximation == uls::Approximation::Tanh;
}

/// The sum of the rows of `value` in its own element type, if someone asks for it.
static uls::ReduceOp findSumOfRows(Value value, int64_t rowLength) {
  for (Operation *user : value.getUsers()) {
    auto reduce = dyn_cast<uls::ReduceOp>(user);
    if (reduce && reduce.getKind() == uls::ReduceKind::Sum &&
        llvm::equal(reduce.getDims(), llvm::seq<int64_t>(0, reduce.getDims().size())) &&
        typeOf(reduce.getOutput()).getNumElements() == rowLength &&
        elementOf(reduce.getOutput()) == elementOf(value))
      return reduce;
  }
  return {};
}

//===---------------------------------------------------------------------------------------===//
// Epilogues
//===---------------------------------------------------------------------------------------===//

/// Erases `op`, and whatever made its operands alone.
static void eraseUnused(Operation *op) {
  llvm::SmallSetVector<Operation *, 8> candidates;
  candidates.insert(op);
  while (!candidates.empty()) {
    Operation *candidate = candidates.pop_back_val();
    if (!isa<uls::UlsDialect>(candidate->getDialect()) || !isOpTriviallyDead(candidate))
      continue;
    for (Value operand : candidate->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        candidates.insert(producer);
    candidate->erase();
  }
}

/// A bias and gelu. Where nobody else uses the values before gelu, they are still cheaper written
/// by the product and left than gelu is as a kernel, which reads and writes as much.
static bool fuseForward(const Product &product) {
  auto addition = detectBias(product);
  if (!addition)
    return false;
  uls::AddOp add = addition->add;
  uls::GeluOp gelu;
  for (Operation *user : add.getOutput().getUsers())
    if (auto found = dyn_cast<uls::GeluOp>(user); found && isTanh(found.getApproximation()))
      gelu = found;
  bool hasGelu = gelu && product.canHaveMatrix();
  // Else the addition joins a kernel that reads the product anyway.
  if (!hasGelu && !isNeededInMemory(add.getOutput()))
    return false;
  if (!makeAvailable(addition->bias, product.op))
    return false;
  if (!hasGelu) {
    auto contract = buildContract(product, exec::Epilogue::Bias, {add.getLoc()}, add.getType(),
                                  addition->bias, Type());
    add.getOutput().replaceAllUsesWith(contract.getResult());
    eraseUnused(add);
    return true;
  }
  auto contract = buildContract(product, exec::Epilogue::Gelu, {add.getLoc(), gelu.getLoc()},
                                gelu.getType(), addition->bias, add.getType());
  gelu.getOutput().replaceAllUsesWith(contract.getResult());
  add.getOutput().replaceAllUsesWith(contract.getEpilogueOutput());
  eraseUnused(gelu);
  eraseUnused(add);
  return true;
}

/// gelu's gradient of the product, and the sum of its rows.
static bool fuseGeluGradient(const Product &product) {
  uls::EinsumOp op = product.op;
  Value value = followReshapes(op.getOutput());
  auto gradient =
      value.hasOneUse() ? dyn_cast<uls::GeluGradOp>(*value.user_begin()) : uls::GeluGradOp();
  if (!gradient || gradient.getCotangent() != value || !isTanh(gradient.getApproximation()) ||
      !product.canHaveMatrix() || !makeAvailable(gradient.getInput(), op))
    return false;
  uls::ReduceOp sum = findSumOfRows(gradient.getOutput(), product.getRowLength());
  SmallVector<Location> locations{gradient.getLoc()};
  if (sum)
    locations.push_back(sum.getLoc());
  auto contract = buildContract(
      product, sum ? exec::Epilogue::GeluBiasGrad : exec::Epilogue::GeluGrad, locations,
      gradient.getType(), gradient.getInput(), sum ? sum.getType() : Type());
  if (sum)
    sum.getOutput().replaceAllUsesWith(contract.getEpilogueOutput());
  gradient.getOutput().replaceAllUsesWith(contract.getResult());
  if (sum)
    eraseUnused(sum);
  eraseUnused(gradient);
  return true;
}

/// Whether `sum` adds up what the product does of its second operand b: b's rows over k.
static bool sumsOverK(uls::ReduceOp sum, const Product &product) {
  uls::EinsumOp op = product.op;
  StringRef letters = product.form.isSwapped ? op.getLhsLetters() : op.getRhsLetters();
  std::string summed, left;
  for (auto [dim, letter] : llvm::enumerate(letters)) {
    bool isSummed = llvm::is_contained(sum.getDims(), static_cast<int64_t>(dim));
    (isSummed ? summed : left) += letter;
  }
  summed = dropUnits(summed, op), left = dropUnits(left, op);
  std::string k = product.k;
  llvm::sort(summed), llvm::sort(k);
  return sum.getKind() == uls::ReduceKind::Sum && summed == k && left == product.n;
}

/// The sum of the second operand's rows: of a cotangent that makes a weight's gradient, the bias'.
static bool fuseBiasGradient(const Product &product) {
  uls::EinsumOp op = product.op;
  if (getAccumulation(op))
    return false;
  for (Operation *user : product.form.b.getUsers()) {
    auto sum = dyn_cast<uls::ReduceOp>(user);
    if (!sum || sum->getBlock() != op->getBlock() || !sumsOverK(sum, product) ||
        elementOf(sum.getOutput()) != elementOf(op.getOutput()))
      continue;
    // The sum is there when the product is.
    bool isInTime = llvm::all_of(sum.getOutput().getUsers(), [&](Operation *reader) {
      Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*reader);
      return ancestor && op->isBeforeInBlock(ancestor);
    });
    if (!isInTime)
      continue;
    auto contract = buildContract(product, exec::Epilogue::BiasGrad, {sum.getLoc()}, op.getType(),
                                  Value(), sum.getType());
    sum.getOutput().replaceAllUsesWith(contract.getEpilogueOutput());
    op.getOutput().replaceAllUsesWith(contract.getResult());
    eraseUnused(sum);
    eraseUnused(op);
    return true;
  }
  return false;
}

namespace {
struct FuseEpilogues : ulsc::impl::FuseEpiloguesPassBase<FuseEpilogues> {
  void runOnOperation() override {
    SmallVector<uls::EinsumOp> ops;
    getOperation().walk([&](uls::EinsumOp op) { ops.push_back(op); });
    for (uls::EinsumOp op : ops) {
      auto product = detectProduct(op);
      if (product && !fuseGeluGradient(*product) && !fuseForward(*product))
        fuseBiasGradient(*product);
    }
  }
};
} // namespace

//===- StepBuilder.cpp - What the steps of training and of evaluation share
//----------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Train/StepBuilder.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

StepBuilder::StepBuilder(ForwardOp forward)
    : builder(forward.getContext()), loc(forward.getLoc()), forward(forward) {}

LogicalResult StepBuilder::check() {
  auto module = forward->getParentOfType<ModuleOp>();
  auto batch = module->getAttrOfType<DictionaryAttr>(UlsDialect::kBatchAttrName);
  auto count = batch ? batch.getAs<IntegerAttr>("microbatches") : IntegerAttr();
  if (!count || count.getInt() < 1)
    return module.emitError() << "needs the attribute " << UlsDialect::kBatchAttrName
                              << " with microbatches of 1 or more";
  microbatches = count.getInt();
  for (BlockArgument argument : forward.getEntry().getArguments()) {
    auto type = llvm::dyn_cast<RankedTensorType>(argument.getType());
    if (type && type.getElementType().isInteger() && type.getRank() > 0 && inputs.size() < 2)
      inputs.push_back(argument);
    else if (!llvm::isa<ContextType>(argument.getType()))
      return forward.emitOpError()
             << "argument " << argument.getArgNumber() << " of type " << argument.getType()
             << " is neither tokens, targets (integers, in this order) nor the context";
  }
  if (inputs.size() != 2)
    return forward.emitOpError("takes no targets; its first two arguments are tokens and targets");
  return success();
}

Value StepBuilder::scalar(double value) {
  auto splat = DenseElementsAttr::get(getScalarType(), Attribute(builder.getF32FloatAttr(value)));
  return ConstantOp::create(builder, loc, splat.getType(), splat);
}

Value StepBuilder::control(StringRef field) {
  return ControlOp::create(builder, loc, getScalarType(), builder.getStringAttr(field));
}

void StepBuilder::report(StringRef field, Value value) {
  ReportOp::create(builder, loc, builder.getStringAttr(field), value);
}

/// The logical axes of an input of all microbatches: those of one microbatch after an axis that
/// nothing shards.
static DictionaryAttr getStackedAttrs(ForwardOp forward, BlockArgument input) {
  Builder builder(forward.getContext());
  auto axes = forward.getArgAttrOfType<ArrayAttr>(input.getArgNumber(), UlsDialect::kAxesAttrName);
  if (!axes)
    return builder.getDictionaryAttr({});
  SmallVector<Attribute> stacked{builder.getStringAttr("microbatch")};
  llvm::append_range(stacked, axes);
  return builder.getDictionaryAttr(
      builder.getNamedAttr(UlsDialect::kAxesAttrName, builder.getArrayAttr(stacked)));
}

void StepBuilder::openStep() {
  auto module = forward->getParentOfType<ModuleOp>();
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types;
  SmallVector<Attribute> attrs;
  for (BlockArgument input : inputs) {
    auto type = llvm::cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> shape{microbatches};
    llvm::append_range(shape, type.getShape());
    types.push_back(type.clone(shape));
    attrs.push_back(getStackedAttrs(forward, input));
  }
  step = StepOp::create(builder, loc, builder.getStringAttr("step"),
                        TypeAttr::get(builder.getFunctionType(types, {})),
                        builder.getArrayAttr(attrs), ArrayAttr());
  builder.createBlock(&step.getBody(), {}, types, {inputs[0].getLoc(), inputs[1].getLoc()});
}

void StepBuilder::countTargets() {
  Value count = CountValidOp::create(builder, loc, getScalarType(), step.getEntry().getArgument(1));
  report("valid_count", count);
  Value one = scalar(1.0);
  scale = DivOp::create(builder, loc, one, MaximumOp::create(builder, loc, count, one));
}

void StepBuilder::open() {
  openStep();
  for (auto materialize : forward.getEntry().getOps<MaterializeOp>())
    builder.clone(*materialize, mapping);
  zero = scalar(0.0);
}

MicrobatchesOp StepBuilder::openLoop(ValueRange inits) {
  loop = MicrobatchesOp::create(builder, loc, inits.getTypes(),
                                builder.getI64IntegerAttr(microbatches), inits);
  SmallVector<Type> types{builder.getI64Type()};
  llvm::append_range(types, inits.getTypes());
  SmallVector<Location> locations{loc};
  for (Value init : inits)
    locations.push_back(init.getLoc());
  Block *body = builder.createBlock(&loop.getBody(), {}, types, locations);
  Value index = body->getArgument(0);
  for (auto [i, input] : llvm::enumerate(inputs))
    mapping.map(input, MicrobatchOp::create(builder, loc, input.getType(),
                                            step.getEntry().getArgument(i), index)
                           .getOutput());
  int64_t rows = llvm::cast<RankedTensorType>(inputs[0].getType()).getDimSize(0);
  for (BlockArgument argument : forward.getEntry().getArguments())
    if (llvm::isa<ContextType>(argument.getType()))
      mapping.map(argument, MakeContextOp::create(builder, loc, index, rows).getOutput());
  return loop;
}

Value StepBuilder::addLoss(Value sum) {
  Value loss = lookup(forward.getEntry().back().getOperand(0));
  if (loss.getType() != getScalarType())
    loss = ConvertOp::create(builder, loc, getScalarType(), loss);
  return AddOp::create(builder, loc, sum, loss);
}

void StepBuilder::closeLoop(ValueRange next) {
  YieldOp::create(builder, loc, next);
  builder.setInsertionPointAfter(loop);
}

void StepBuilder::reportLoss(Value sum) {
  report("loss", MulOp::create(builder, loc, sum, scale));
  report("stop_count", SumRanksOp::create(builder, loc, control("stop_requested")));
}

void StepBuilder::close() { YieldOp::create(builder, loc, ValueRange()); }

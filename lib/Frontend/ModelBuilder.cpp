//===- ModelBuilder.cpp - Writes parameters, blocks and the forward function
//-------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "lib/Frontend/ModelBuilder.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::frontend;

static Location nameLocation(MLIRContext *context, StringRef name) {
  return NameLoc::get(StringAttr::get(context, name));
}

/// `model.layers.*.mlp.up_proj` of `model.layers.*.mlp.up_proj.weight`.
static StringRef getModulePath(StringRef parameter) { return parameter.rsplit('.').first; }

static std::string replaceLayer(StringRef name, std::optional<int64_t> layer) {
  if (!layer)
    return name.str();
  auto [before, after] = name.split('*');
  return (before + Twine(*layer) + after).str();
}

//===---------------------------------------------------------------------------------------===//
// BlockBuilder
//===---------------------------------------------------------------------------------------===//

BlockBuilder::BlockBuilder(ModelBuilder &model, StringRef name)
    : model(model), builder(model.context), location(builder.getUnknownLoc()) {
  op = uls::BlockOp::create(model.blockBuilder, nameLocation(model.context, name),
                            builder.getStringAttr(name),
                            TypeAttr::get(builder.getFunctionType({}, {})),
                            /*arg_attrs=*/ArrayAttr(), /*res_attrs=*/ArrayAttr(), IntegerAttr(),
                            IntegerAttr(), DenseI64ArrayAttr(), DenseI64ArrayAttr());
  if (!model.firstBlock) {
    model.firstBlock = op;
    model.parameterBuilder.setInsertionPoint(op);
  }
  builder.setInsertionPointToStart(&op.getBody().emplaceBlock());
}

Value BlockBuilder::addArgument(Type type, ArrayRef<StringRef> axes, bool isParameter,
                                StringRef name) {
  NamedAttrList attributes;
  if (!axes.empty())
    attributes.set(uls::UlsDialect::kAxesAttrName, builder.getStrArrayAttr(axes));
  if (isParameter)
    attributes.set("uls.parameter", builder.getUnitAttr());
  argumentAttributes.push_back(attributes.getDictionary(model.context));
  return op.getEntry().addArgument(type, nameLocation(model.context, name));
}

Value BlockBuilder::addInput(RankedTensorType type, ArrayRef<StringRef> axes, StringRef name) {
  return addArgument(type, axes, /*isParameter=*/false, name);
}

void BlockBuilder::addContext() {
  contextArgument =
      addArgument(uls::ContextType::get(model.context), {}, /*isParameter=*/false, "context");
}

Value BlockBuilder::addParameter(const Parameter &parameter) {
  SmallVector<int64_t> shape(parameter.shape);
  for (auto [size, axis] : llvm::zip_equal(shape, parameter.axes))
    if (axis == "vocab")
      size = model.padVocabulary(size);
  parameters.push_back(parameter);
  return addArgument(parameter.isMatrix ? model.getComputeType(shape) : model.getFloatType(shape),
                     parameter.axes, /*isParameter=*/true, parameter.name);
}

void BlockBuilder::setModule(StringRef path) { location = nameLocation(model.context, path); }

static RankedTensorType typeOf(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}

Value BlockBuilder::einsum(StringRef equation, Value lhs, Value rhs) {
  auto [operands, result] = equation.split("->");
  auto [lhsLetters, rhsLetters] = operands.split(',');
  SmallVector<int64_t> shape;
  for (char letter : result) {
    size_t inLhs = lhsLetters.find(letter);
    shape.push_back(inLhs != StringRef::npos ? typeOf(lhs).getDimSize(inLhs)
                                             : typeOf(rhs).getDimSize(rhsLetters.find(letter)));
  }
  auto type = RankedTensorType::get(shape, typeOf(lhs).getElementType());
  return create<uls::EinsumOp>(type, builder.getStringAttr(equation), lhs, rhs).getOutput();
}

Value BlockBuilder::addBias(Value value, Value bias) {
  RankedTensorType type = typeOf(value);
  if (typeOf(bias).getElementType() != type.getElementType())
    bias = create<uls::ConvertOp>(
        RankedTensorType::get(typeOf(bias).getShape(), type.getElementType()), bias);
  SmallVector<int64_t> dims;
  for (int64_t dim = type.getRank() - typeOf(bias).getRank(); dim < type.getRank(); ++dim)
    dims.push_back(dim);
  Value wide = create<uls::BroadcastOp>(type, bias, builder.getDenseI64ArrayAttr(dims));
  return create<uls::AddOp>(value, wide);
}

Value BlockBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  return create<uls::ReshapeOp>(RankedTensorType::get(shape, typeOf(value).getElementType()),
                                value);
}

Value BlockBuilder::dropout(Value value, StringRef key, double rate) {
  if (!model.hasDropout || !contextArgument)
    return value;
  return create<uls::DropoutOp>(value.getType(), value, contextArgument, builder.getStringAttr(key),
                                builder.getF64FloatAttr(rate), dist::ShardAttr());
}

void BlockBuilder::finish(ValueRange results) {
  setModule(op.getName());
  create<uls::YieldOp>(results);
  op.setFunctionType(builder.getFunctionType(op.getEntry().getArgumentTypes(), results.getTypes()));
  SmallVector<Attribute> attributes(argumentAttributes.begin(), argumentAttributes.end());
  op.setArgAttrsAttr(builder.getArrayAttr(attributes));
}

//===---------------------------------------------------------------------------------------===//
// ModelBuilder
//===---------------------------------------------------------------------------------------===//

ModelBuilder::ModelBuilder(MLIRContext *context, const ImportOptions &options)
    : context(context), options(options), module(ModuleOp::create(UnknownLoc::get(context))),
      parameterBuilder(context), blockBuilder(context), forwardBuilder(context) {
  blockBuilder.setInsertionPointToStart(module->getBody());
}

RankedTensorType ModelBuilder::getComputeType(ArrayRef<int64_t> shape) {
  Type element = Float32Type::get(context);
  if (options.computeDtype == "bf16")
    element = BFloat16Type::get(context);
  else if (options.computeDtype == "f16")
    element = Float16Type::get(context);
  return RankedTensorType::get(shape, element);
}
RankedTensorType ModelBuilder::getStoredType(const Parameter &parameter, ArrayRef<int64_t> shape) {
  return parameter.isMatrix ? getComputeType(shape) : getFloatType(shape);
}
RankedTensorType ModelBuilder::getIntegerType(ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, IntegerType::get(context, 32));
}
RankedTensorType ModelBuilder::getFloatType(ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, Float32Type::get(context));
}

uls::InitAttr ModelBuilder::normal(double std) {
  return uls::InitAttr::get(context, uls::InitKind::Normal, std);
}
uls::InitAttr ModelBuilder::zeros() { return uls::InitAttr::get(context, uls::InitKind::Zeros); }
uls::InitAttr ModelBuilder::ones() { return uls::InitAttr::get(context, uls::InitKind::Ones); }

int64_t ModelBuilder::padVocabulary(int64_t size) const {
  int64_t multiple = std::max<int64_t>(options.vocabularyMultiple, 1);
  return (size + multiple - 1) / multiple * multiple;
}

void ModelBuilder::beginForward() {
  auto tokens = getIntegerType({getRows(), getSeq()});
  Type contextType = uls::ContextType::get(context);
  Location location = nameLocation(context, "forward");
  auto type = blockBuilder.getFunctionType({tokens, tokens, contextType}, {getFloatType({})});
  NamedAttrList rows;
  rows.set(uls::UlsDialect::kAxesAttrName, blockBuilder.getStrArrayAttr({"batch", "seq"}));
  DictionaryAttr axes = rows.getDictionary(context), none = DictionaryAttr::get(context);
  forward =
      uls::ForwardOp::create(blockBuilder, location, blockBuilder.getStringAttr("forward"),
                             TypeAttr::get(type), blockBuilder.getArrayAttr({axes, axes, none}),
                             /*res_attrs=*/ArrayAttr());
  Block &body = forward.getBody().emplaceBlock();
  body.addArguments({tokens, tokens, contextType},
                    {nameLocation(context, "tokens"), nameLocation(context, "targets"),
                     nameLocation(context, "context")});
  forwardBuilder.setInsertionPointToStart(&body);
}

Value ModelBuilder::getTokens() { return forward.getEntry().getArgument(0); }
Value ModelBuilder::getTargets() { return forward.getEntry().getArgument(1); }

Value ModelBuilder::getPositions() {
  if (!positions)
    positions = uls::IotaOp::create(forwardBuilder, nameLocation(context, "positions"),
                                    getIntegerType({getRows(), getSeq()}),
                                    forwardBuilder.getI64IntegerAttr(1), dist::ShardAttr());
  return positions;
}

void ModelBuilder::declare(const Parameter &parameter, StringRef name) {
  SmallVector<int64_t> padded(parameter.shape);
  for (auto [size, axis] : llvm::zip_equal(padded, parameter.axes))
    if (axis == "vocab")
      size = padVocabulary(size);
  SmallVector<Attribute> groups;
  for (ArrayRef<int64_t> group : parameter.external)
    groups.push_back(parameterBuilder.getI64ArrayAttr(group));
  bool isPadded = ArrayRef<int64_t>(padded) != ArrayRef<int64_t>(parameter.shape);
  RankedTensorType type = getStoredType(parameter, padded);
  uls::ParamOp::create(
      parameterBuilder, nameLocation(context, getModulePath(name)),
      parameterBuilder.getStringAttr(name), TypeAttr::get(type),
      parameterBuilder.getStrArrayAttr(parameter.axes), parameter.init,
      groups.empty() ? ArrayAttr() : parameterBuilder.getArrayAttr(groups),
      isPadded ? parameterBuilder.getDenseI64ArrayAttr(parameter.shape) : DenseI64ArrayAttr(),
      dist::ShardingAttr(), /*frozen=*/UnitAttr(), parameterBuilder.getI64IntegerAttr(0));
}

Value ModelBuilder::materialize(const Parameter &parameter, std::optional<int64_t> layer) {
  std::string name = replaceLayer(parameter.name, layer);
  Value &value = materialized[name];
  if (value)
    return value;
  declare(parameter, name);
  SmallVector<int64_t> shape(parameter.shape);
  for (auto [size, axis] : llvm::zip_equal(shape, parameter.axes))
    if (axis == "vocab")
      size = padVocabulary(size);
  Type type = getStoredType(parameter, shape);
  return value =
             uls::MaterializeOp::create(forwardBuilder, nameLocation(context, getModulePath(name)),
                                        type, FlatSymbolRefAttr::get(context, name));
}

ValueRange ModelBuilder::call(BlockBuilder &block, ValueRange inputs,
                              std::optional<int64_t> layer) {
  SmallVector<Value> arguments(inputs);
  if (block.contextArgument)
    arguments.push_back(forward.getEntry().getArgument(2));
  for (const Parameter &parameter : block.parameters)
    arguments.push_back(materialize(parameter, layer));
  StringRef name = block.op.getName();
  Location location =
      nameLocation(context, layer ? (name + "." + Twine(*layer)).str() : name.str());
  auto call = uls::CallOp::create(forwardBuilder, location, block.op.getResultTypes(),
                                  FlatSymbolRefAttr::get(context, name), arguments,
                                  layer ? forwardBuilder.getI64IntegerAttr(*layer) : IntegerAttr());
  return call.getResults();
}

void ModelBuilder::finishForward(Value loss) {
  uls::YieldOp::create(forwardBuilder, nameLocation(context, "forward"), loss);
}

Value ModelBuilder::writeLoss(BlockBuilder &block, Value logits, Value targets,
                              int64_t vocabulary) {
  Builder attributes(context);
  RankedTensorType rows = getFloatType({getRows(), getSeq()});
  auto loss = block.create<uls::CrossEntropyOp>(rows, rows, logits, targets,
                                                attributes.getI64IntegerAttr(vocabulary));
  auto sum = uls::ReduceKindAttr::get(context, uls::ReduceKind::Sum);
  return block.create<uls::ReduceOp>(getFloatType({}), sum, loss.getLoss(),
                                     attributes.getDenseI64ArrayAttr({0, 1}));
}

//===- UpdateKernels.cpp - Kernels of an update rule ------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/UpdateKernels.h"

#include "passes/Lower/GenericOps.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

UpdateKernels::UpdateKernels(SymbolTable &symbols, int64_t stage) : symbols(symbols) {
  int64_t index = 0;
  for (auto param : cast<ModuleOp>(symbols.getOp()).getOps<uls::ParamOp>())
    if (!param.getFrozen() && dist::isOnStage(param, stage))
      indices[param.getSymNameAttr()] = index++;
}

/// `type` of a rule, `?` standing for `count`.
static RankedTensorType instantiate(Type type, int64_t count) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.hasStaticShape() ? tensor : RankedTensorType::get({count}, tensor.getElementType());
}

int64_t UpdateVariant::getCount() const {
  return cast<RankedTensorType>(inputs.front()).getNumElements();
}

std::string UpdateVariant::getFamily() const {
  std::string key;
  llvm::raw_string_ostream stream(key);
  llvm::interleaveComma(inputs, stream, [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getRank(), ShapedType::kDynamic);
    stream << tensor.clone(shape);
  });
  if (storedElement)
    stream << " stored " << storedElement;
  if (isConditional)
    stream << " conditional";
  // The number of an element says nothing of the first dimension's size.
  if (places) {
    stream << " places ?";
    for (int64_t size : ArrayRef(places->block).drop_front(!places->block.empty()))
      stream << "x" << size;
    llvm::interleave(places->strides, stream << " strides ", "x");
  }
  return key;
}

namespace {
/// The body of one kernel.
class UpdateBody {
public:
  UpdateBody(uls::UpdateRuleOp rule, const UpdateVariant &variant, OpBuilder &builder, Block &body,
             Location location)
      : rule(rule), variant(variant), builder(builder), body(body), location(location),
        count(variant.getCount()),
        roles(llvm::to_vector(rule.getRoles().getAsValueRange<StringAttr>())) {}

  /// The results: each in the type of the argument that it is the new value of, and the stored
  /// value last.
  SmallVector<Value> build() {
    for (auto [argument, value] : llvm::zip(rule.getArguments(), body.getArguments()))
      mapping.map(argument, convert(value, instantiate(argument.getType(), count)));
    for (Operation &op : rule.getEntry().without_terminator()) {
      Operation *clone = builder.clone(op, mapping);
      for (Value result : clone->getResults())
        result.setType(instantiate(result.getType(), count));
    }
    SmallVector<Value> results;
    Value master;
    for (auto [role, value] : llvm::zip_equal(rule.getUpdates().getAsValueRange<StringAttr>(),
                                              rule.getEntry().getTerminator()->getOperands())) {
      size_t index = llvm::find(roles, role) - roles.begin();
      Value next = select(mapping.lookup(value), mapping.lookup(rule.getArgument(index)));
      results.push_back(round(next, variant.inputs[index], role));
      if (role == "parameter")
        master = next;
    }
    if (variant.storedElement)
      results.push_back(convert(master, RankedTensorType::get({count}, variant.storedElement)));
    return results;
  }

private:
  Value convert(Value value, Type type) {
    return value.getType() == type
               ? value
               : uls::ConvertOp::create(builder, location, type, value).getResult();
  }

  Value select(Value next, Value old) {
    if (!variant.isConditional)
      return next;
    Value condition = body.getArgument(variant.inputs.size() - 1);
    return uls::SelectOp::create(builder, location, condition, next, old);
  }

  Value round(Value value, Type type, StringRef role) {
    bool isStochastic = variant.places && getElementTypeOrSelf(type).isBF16() &&
                        getElementTypeOrSelf(value.getType()).isF32();
    if (!isStochastic)
      return convert(value, type);
    auto scalars = body.getArguments().drop_front(variant.inputs.size());
    return buildStochasticRounding(builder, location, value, role, scalars.front(), *variant.places,
                                   ValueRange(scalars.drop_front().drop_back()));
  }

  uls::UpdateRuleOp rule;
  const UpdateVariant &variant;
  OpBuilder &builder;
  Block &body;
  Location location;
  int64_t count;
  SmallVector<StringRef> roles;
  IRMapping mapping;
};
} // namespace

exec::KernelOp UpdateKernels::buildKernel(uls::UpdateRuleOp rule, const UpdateVariant &variant,
                                          Location location) {
  OpBuilder builder(rule);
  SmallVector<Type> types(variant.inputs);
  size_t scalars = variant.places ? variant.places->getNumOffsets() + 2 : 1;
  types.append(scalars, builder.getI64Type());
  auto kernel = exec::KernelOp::create(
      builder, location, builder.getStringAttr(rule.getSymName() + "_" + Twine(variant.getCount())),
      TypeAttr::get(builder.getFunctionType(types, {})), builder.getStringAttr("private"),
      ArrayAttr(), ArrayAttr(), exec::KernelKindAttr(), builder.getI64IntegerAttr(1),
      builder.getStringAttr(rule.getSymName() + " " + variant.getFamily()));
  Block *body = builder.createBlock(&kernel.getBody(), {}, types,
                                    SmallVector<Location>(types.size(), location));
  SmallVector<Value> results = UpdateBody(rule, variant, builder, *body, location).build();
  exec::YieldOp::create(builder, location, results);
  kernel.setFunctionType(builder.getFunctionType(types, ValueRange(results).getTypes()));
  symbols.insert(kernel);
  return kernel;
}

exec::KernelOp UpdateKernels::getKernel(uls::UpdateRuleOp rule, const UpdateVariant &variant,
                                        Location location) {
  exec::KernelOp &kernel = kernels[{rule, variant.getCount(), variant.getFamily()}];
  if (!kernel)
    kernel = buildKernel(rule, variant, location);
  return kernel;
}

namespace {
/// One parameter's update.
class Application {
public:
  Application(OpBuilder &builder, SymbolTable &symbols, uls::UpdateRuleOp rule,
              uls::UpdateOp update, unsigned index)
      : builder(builder), symbols(symbols), rule(rule), update(update), index(index),
        parameter(cast<StringAttr>(update.getParameters()[index]).getValue()),
        location(NameLoc::get(builder.getStringAttr("optimizer of " + parameter))),
        param(symbols.lookup<uls::ParamOp>(parameter)),
        master(symbols.lookup<uls::StateOp>(nameOf("master"))),
        gradientType(cast<RankedTensorType>(update.getGradients()[index].getType())),
        sharding(master ? master.getShardingAttr() : param.getShardingAttr()) {}

  LogicalResult readRoles();
  UpdateVariant getVariant() const;
  /// What stochastic rounding needs.
  SmallVector<Value> buildScalars(const UpdateVariant &variant);
  void storeResults(exec::ApplyOp apply);

  ArrayRef<Value> getInputs() const { return inputs; }
  uls::ParamOp getParam() const { return param; }
  Location getLocation() const { return location; }

private:
  std::string nameOf(StringRef role) const { return (parameter + "." + role).str(); }
  Type getStoredElement() const {
    return cast<RankedTensorType>(uls::ParamOp(param).getTensorType()).getElementType();
  }
  void put(Value value, StringRef name);
  void store(Value value);

  OpBuilder &builder;
  SymbolTable &symbols;
  uls::UpdateRuleOp rule;
  uls::UpdateOp update;
  unsigned index;
  StringRef parameter;
  Location location;
  uls::ParamOp param;
  uls::StateOp master;
  RankedTensorType gradientType;
  /// How states lie; null where they are whole.
  dist::ShardingAttr sharding;
  /// Where each role lives, and the kernel's tensors.
  SmallVector<std::string> names;
  SmallVector<Value> inputs;
};
} // namespace

LogicalResult Application::readRoles() {
  Value gradient = update.getGradients()[index];
  exec::PutOp::create(builder, location, gradient, nameOf("gradient"));
  for (StringRef role : rule.getRoles().getAsValueRange<StringAttr>()) {
    bool isParameter = role == "parameter";
    names.push_back(isParameter && !master ? parameter.str()
                                           : nameOf(isParameter ? "master" : role));
    Value value = gradient;
    if (isParameter && !update.getValues().empty()) {
      value = update.getValues()[index];
    } else if (role != "gradient") {
      auto state = symbols.lookup<uls::StateOp>(names.back());
      if (!state && !(isParameter && !master))
        return update->emitOpError("needs state '")
               << names.back() << "', which the module does not have";
      if (state && state.getShardingAttr())
        sharding = state.getShardingAttr();
      Type element =
          state ? cast<RankedTensorType>(state.getType()).getElementType() : getStoredElement();
      value = exec::GetOp::create(builder, location, gradientType.clone(element), names.back());
    }
    inputs.push_back(buildReshape(builder, location, value, {gradientType.getNumElements()}));
  }
  llvm::append_range(inputs, update.getScalars());
  if (Value condition = update.getCondition())
    inputs.push_back(condition);
  return success();
}

UpdateVariant Application::getVariant() const {
  UpdateVariant variant;
  llvm::append_range(variant.inputs, ValueRange(inputs).getTypes());
  if (master)
    variant.storedElement = getStoredElement();
  uls::UpdateOp op = update;
  variant.isConditional = bool(op.getCondition());
  if (op.getStochastic())
    variant.places = ElementPlaces::get(param, sharding);
  return variant;
}

SmallVector<Value> Application::buildScalars(const UpdateVariant &variant) {
  if (!variant.places)
    return {};
  SmallVector<Value> scalars{i64Constant(builder, location, getRoundingName(parameter))};
  llvm::append_range(scalars, variant.places->buildOffsets(builder, location, param, sharding,
                                                           gradientType.getNumElements()));
  return scalars;
}

void Application::put(Value value, StringRef name) {
  exec::PutOp::create(builder, location,
                      buildReshape(builder, location, value, gradientType.getShape()), name);
}

/// A new stored value that lies otherwise than the parameter is handed on.
void Application::store(Value value) {
  if (update.getResults().empty())
    return put(value, parameter);
  update.getResult(index).replaceAllUsesWith(
      buildReshape(builder, location, value, gradientType.getShape()));
}

void Application::storeResults(exec::ApplyOp apply) {
  auto roles = llvm::to_vector(rule.getRoles().getAsValueRange<StringAttr>());
  for (auto [i, role] : llvm::enumerate(rule.getUpdates().getAsValueRange<StringAttr>())) {
    if (role == "parameter" && !master)
      store(apply.getResult(i));
    else
      put(apply.getResult(i), names[llvm::find(roles, role) - roles.begin()]);
  }
  if (master)
    store(apply.getResults().back());
}

LogicalResult UpdateKernels::apply(OpBuilder &builder, uls::UpdateRuleOp rule, uls::UpdateOp update,
                                   unsigned index) {
  Application application(builder, symbols, rule, update, index);
  Location location = application.getLocation();
  if (failed(application.readRoles()))
    return failure();
  UpdateVariant variant = application.getVariant();
  exec::KernelOp kernel = getKernel(rule, variant, update->getLoc());
  SmallVector<Value> scalars = application.buildScalars(variant);
  uls::ParamOp param = application.getParam();
  scalars.push_back(i64Constant(builder, location, 2 * indices.lookup(param.getSymNameAttr())));
  auto apply = exec::ApplyOp::create(builder, location, kernel.getResultTypes(),
                                     kernel.getSymName(), application.getInputs(), scalars);
  application.storeResults(apply);
  return success();
}

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

UpdateKernels::UpdateKernels(SymbolTable &symbols) : symbols(symbols) {
  int64_t index = 0;
  for (auto param : cast<ModuleOp>(symbols.getOp()).getOps<uls::ParamOp>())
    if (!param.getFrozen())
      indices[param.getSymNameAttr()] = index++;
}

/// `type` of a rule, `?` standing for `count`.
static RankedTensorType instantiate(Type type, int64_t count) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.hasStaticShape() ? tensor : RankedTensorType::get({count}, tensor.getElementType());
}

exec::KernelOp UpdateKernels::buildKernel(uls::UpdateRuleOp rule, ArrayRef<Type> inputs,
                                          Type storedElement, Location location) {
  int64_t count = cast<RankedTensorType>(inputs.front()).getNumElements();
  OpBuilder builder(rule);
  auto types = llvm::to_vector(inputs);
  types.push_back(builder.getI64Type());
  auto kernel = exec::KernelOp::create(
      builder, location, builder.getStringAttr(rule.getSymName() + "_" + Twine(count)),
      TypeAttr::get(builder.getFunctionType(types, {})), builder.getStringAttr("private"),
      ArrayAttr(), ArrayAttr(), exec::KernelKindAttr(), builder.getI64IntegerAttr(1));
  Block *body = builder.createBlock(&kernel.getBody(), {}, types,
                                    SmallVector<Location>(types.size(), location));
  IRMapping mapping;
  auto convert = [&](Value value, Type type) -> Value {
    return value.getType() == type
               ? value
               : uls::ConvertOp::create(builder, location, type, value).getResult();
  };
  for (auto [argument, value] : llvm::zip(rule.getArguments(), body->getArguments()))
    mapping.map(argument, convert(value, instantiate(argument.getType(), count)));
  for (Operation &op : rule.getEntry().without_terminator()) {
    Operation *clone = builder.clone(op, mapping);
    for (Value result : clone->getResults())
      result.setType(instantiate(result.getType(), count));
  }
  // Each result in the type of the argument that it is the new value of, and the stored value last.
  SmallVector<Value> results;
  auto roles = llvm::to_vector(rule.getRoles().getAsValueRange<StringAttr>());
  Value master;
  for (auto [role, value] : llvm::zip_equal(rule.getUpdates().getAsValueRange<StringAttr>(),
                                            rule.getEntry().getTerminator()->getOperands())) {
    size_t index = llvm::find(roles, role) - roles.begin();
    results.push_back(convert(mapping.lookup(value), inputs[index]));
    if (role == "parameter")
      master = mapping.lookup(value);
  }
  if (storedElement)
    results.push_back(convert(master, RankedTensorType::get({count}, storedElement)));
  exec::YieldOp::create(builder, location, results);
  kernel.setFunctionType(builder.getFunctionType(types, ValueRange(results).getTypes()));
  symbols.insert(kernel);
  return kernel;
}

exec::KernelOp UpdateKernels::getKernel(uls::UpdateRuleOp rule, ArrayRef<Type> inputs,
                                        Type storedElement, Location location) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  llvm::interleaveComma(inputs, stream);
  if (storedElement)
    stream << " stored " << storedElement;
  exec::KernelOp &kernel = kernels[{rule, key}];
  if (!kernel)
    kernel = buildKernel(rule, inputs, storedElement, location);
  return kernel;
}

LogicalResult UpdateKernels::apply(OpBuilder &builder, uls::UpdateRuleOp rule, uls::UpdateOp update,
                                   unsigned index) {
  Location location = update->getLoc();
  StringRef parameter = cast<StringAttr>(update.getParameters()[index]).getValue();
  Value gradient = update.getGradients()[index];
  ValueRange scalars = update.getScalars();
  auto param = symbols.lookup<uls::ParamOp>(parameter);
  auto gradientType = cast<RankedTensorType>(gradient.getType());
  int64_t count = gradientType.getNumElements();
  auto nameOf = [&](StringRef role) { return (parameter + "." + role).str(); };
  exec::PutOp::create(builder, location, gradient, nameOf("gradient"));
  auto masterState = symbols.lookup<uls::StateOp>(nameOf("master"));
  Type stored = param.getTensorType().getElementType();

  // Where each role lives, and its type on this rank.
  SmallVector<std::string> names;
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  for (StringRef role : rule.getRoles().getAsValueRange<StringAttr>()) {
    bool isParameter = role == "parameter";
    names.push_back(isParameter && !masterState ? parameter.str()
                                                : nameOf(isParameter ? "master" : role));
    Value value = gradient;
    if (isParameter && !update.getValues().empty()) {
      value = update.getValues()[index];
    } else if (role != "gradient") {
      auto state = symbols.lookup<uls::StateOp>(names.back());
      if (!state && !(isParameter && !masterState))
        return update->emitOpError("needs state '")
               << names.back() << "', which the module does not have";
      Type element = state ? cast<RankedTensorType>(state.getType()).getElementType() : stored;
      value = exec::GetOp::create(builder, location, gradientType.clone(element), names.back());
    }
    inputs.push_back(buildReshape(builder, location, value, {count}));
    types.push_back(inputs.back().getType());
  }
  llvm::append_range(inputs, scalars);
  llvm::append_range(types, scalars.getTypes());

  exec::KernelOp kernel = getKernel(rule, types, masterState ? stored : Type(), location);
  Value entry = i64Constant(builder, location, 2 * indices.lookup(param.getSymNameAttr()));
  auto apply = exec::ApplyOp::create(builder, location, kernel.getResultTypes(),
                                     kernel.getSymName(), inputs, ValueRange{entry});
  auto roles = llvm::to_vector(rule.getRoles().getAsValueRange<StringAttr>());
  auto put = [&](Value value, StringRef name) {
    exec::PutOp::create(builder, location,
                        buildReshape(builder, location, value, gradientType.getShape()), name);
  };
  // A new stored value that lies otherwise than the parameter is handed on.
  auto store = [&](Value value) {
    if (update.getResults().empty())
      return put(value, parameter);
    update.getResult(index).replaceAllUsesWith(
        buildReshape(builder, location, value, gradientType.getShape()));
  };
  for (auto [i, role] : llvm::enumerate(rule.getUpdates().getAsValueRange<StringAttr>())) {
    if (role == "parameter" && !masterState)
      store(apply.getResult(i));
    else
      put(apply.getResult(i), names[llvm::find(roles, role) - roles.begin()]);
  }
  if (masterState)
    store(apply.getResults().back());
  return success();
}

//===- Manifest.cpp - The manifest of a compiled program --------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Target/Manifest.h"

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "ulsc/Memory.h"
#include "ulsc/PipelineSchedule.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace ulsc;
namespace json = llvm::json;

static std::string getTypeName(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

static json::Array toArray(ArrayRef<int64_t> values) { return json::Array(values); }

/// A builtin attribute as JSON.
static json::Value toJson(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.getValue();
  if (isa<UnitAttr>(attribute))
    return true;
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return flag.getValue();
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return number.getInt();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (auto list = dyn_cast<ArrayAttr>(attribute)) {
    json::Array array;
    for (Attribute element : list)
      array.push_back(toJson(element));
    return array;
  }
  json::Object object;
  if (auto dictionary = dyn_cast<DictionaryAttr>(attribute))
    for (NamedAttribute entry : dictionary)
      object[entry.getName().getValue()] = toJson(entry.getValue());
  return object;
}

namespace {

class ManifestBuilder {
public:
  ManifestBuilder(ModuleOp module, exec::FunctionOp entry) : module(module), entry(entry) {
    for (auto buffer : entry.getBody().front().getOps<exec::BufferOp>())
      if (auto name = buffer.getName())
        buffers[*name] = buffer;
    for (auto op : module.getOps<dist::MeshOp>())
      mesh = op.getMesh();
  }

  /// What all ranks share.
  void buildCommon(json::Object &document) {
    document["schema"] = "ulsc.manifest/1";
    auto target = module->getAttrOfType<StringAttr>("exec.target");
    document["target"] = target ? target.getValue() : "cpu";
    document["model"] = copy("uls.model");
    document["compile"] = buildCompile();
    document["mesh"] = buildMesh();
    document["batch"] = copy("uls.batch");
    document["groups_optimizer"] = buildOptimizerGroups();
    document["groups"] = buildGroups();
    document["collectives"] = copy("exec.collectives", /*isArray=*/true);
    if (module->hasAttr(pipeline::kPipelineAttr))
      document["pipeline"] = copy(pipeline::kPipelineAttr);
    document["hyperparameters"] = json::Object{{"lr", 3e-4},      {"betas", json::Array{0.9, 0.95}},
                                               {"eps", 1e-8},     {"weight_decay", 0.1},
                                               {"momentum", 0.9}, {"clip_grad", 1.0}};
  }

  /// What belongs to the entry's own arena.
  LogicalResult buildProgram(json::Object &document) {
    document["arena"] = buildArena();
    auto slots = entry->getAttrOfType<IntegerAttr>("exec.collective_slots");
    document["collective_slots"] = slots ? slots.getInt() : 0;
    if (exec::BufferOp staging = buffers.lookup(memory::kStagingName))
      document["staging"] = buildStaging(staging);
    if (failed(addInputs(document)))
      return failure();
    return addTensors(document);
  }

private:
  json::Value copy(StringRef name, bool isArray = false) {
    if (Attribute attribute = module->getAttr(name))
      return toJson(attribute);
    return isArray ? json::Value(json::Array()) : json::Value(json::Object());
  }

  json::Object buildCompile() {
    // What the products compute in.
    std::string dtype = "f32";
    module.walk([&](exec::GemmOp gemm) {
      Type element = cast<MemRefType>(gemm.getA().getType()).getElementType();
      if (element.isBF16() || element.isF16())
        dtype = getTypeName(element);
    });
    bool hasLossScaling = false;
    module.walk(
        [&](exec::WriteControlOp op) { hasLossScaling |= op.getField() == "next_loss_scale"; });
    bool hasSecondMoment = false, hasState = false;
    for (auto state : module.getOps<uls::StateOp>()) {
      hasSecondMoment |= state.getRole() == "moment2";
      hasState = true;
    }
    json::Value rates = copy("exec.dropout_rates");
    bool hasDropout = !rates.getAsObject()->empty();
    bool isAdam = hasSecondMoment || !hasState;
    json::Object compile{{"dtype", dtype},
                         {"optimizer", isAdam ? "adamw" : "sgd"},
                         {"dropout", hasDropout},
                         {"dropout_rates", std::move(rates)}};
    if (hasLossScaling)
      compile["loss_scaling"] = true;
    return compile;
  }

  json::Object buildMesh() {
    json::Array axes;
    if (mesh)
      for (dist::MeshAxisAttr axis : mesh.getAxes())
        axes.push_back(json::Object{{"name", axis.getName()}, {"size", axis.getSize()}});
    return json::Object{{"axes", std::move(axes)}};
  }

  json::Object buildArena() {
    auto threads = entry->getAttrOfType<IntegerAttr>("exec.threads");
    json::Object arena{{"bytes", static_cast<int64_t>(entry.getFrameBytes().value_or(0))},
                       {"threads", threads ? threads.getInt() : 1}};
    if (auto categories = entry.getCategories())
      arena["categories"] = toJson(*categories);
    return arena;
  }

  json::Object buildStaging(exec::BufferOp buffer) {
    return json::Object{{"offset", static_cast<int64_t>(buffer.getOffset().value_or(0))},
                        {"bytes", exec::getBytes(buffer.getResult().getType())}};
  }

  json::Value buildOptimizerGroups() {
    if (Attribute groups = module->getAttr("uls.groups"))
      return toJson(groups);
    return json::Array{
        json::Object{{"match", "*"}, {"weight_decay_scale", 1.0}, {"lr_scale", 1.0}}};
  }

  json::Array buildGroups() {
    json::Array groups;
    if (auto list = module->getAttrOfType<ArrayAttr>("exec.groups"))
      for (Attribute axes : list)
        groups.push_back(json::Object{{"axes", toJson(axes)}});
    return groups;
  }

  LogicalResult addInputs(json::Object &document) {
    json::Object inputs;
    for (StringRef name : {"tokens", "targets"}) {
      exec::BufferOp buffer = buffers.lookup(name);
      if (!buffer || !buffer.getOffset())
        return entry.emitError() << "the program has no input '" << name << "'";
      auto type = buffer.getResult().getType();
      inputs[name] = json::Object{{"offset", static_cast<int64_t>(*buffer.getOffset())},
                                  {"shape", toArray(type.getShape())},
                                  {"dtype", getTypeName(type.getElementType())}};
    }
    document["inputs"] = std::move(inputs);
    return success();
  }

  /// What all tensors of one parameter share.
  json::Object describe(uls::ParamOp param, StringRef name, StringRef role,
                        dist::ShardingAttr sharding) {
    json::Object object{{"name", name.str()},
                        {"role", role.str()},
                        {"parameter", param.getSymName()},
                        {"shape", toArray(param.getTensorType().getShape())},
                        {"logical_shape", toArray(param.getUnpaddedShape())},
                        {"external_shape", toArray(param.getExternalShape())},
                        {"trainable", !param.getFrozen()},
                        {"group", static_cast<int64_t>(param.getGroup())}};
    json::Array dims;
    llvm::SmallDenseSet<StringRef> used;
    for (int64_t i = 0; i < param.getTensorType().getRank(); ++i) {
      json::Array axes;
      if (sharding)
        for (StringAttr axis : sharding.getAxes(i)) {
          axes.push_back(axis.getValue());
          used.insert(axis.getValue());
        }
      dims.push_back(std::move(axes));
    }
    object["sharding"] = std::move(dims);
    json::Array flat;
    if (sharding)
      for (StringAttr axis : sharding.getFlat()) {
        flat.push_back(axis.getValue());
        used.insert(axis.getValue());
      }
    if (!flat.empty())
      object["flat"] = std::move(flat);
    json::Array replicated;
    if (mesh)
      for (dist::MeshAxisAttr axis : mesh.getAxes())
        if (!used.contains(axis.getName()))
          replicated.push_back(axis.getName());
    object["replicated_over"] = std::move(replicated);
    uls::InitAttr init = param.getInit();
    object["init"] = json::Object{{"kind", uls::stringifyInitKind(init.getKind())}};
    if (init.getStd())
      object["init"].getAsObject()->insert({"std", init.getStd().getValueAsDouble()});
    return object;
  }

  LogicalResult addTensor(json::Array &tensors, uls::ParamOp param, StringRef name, StringRef role,
                          dist::ShardingAttr sharding) {
    exec::BufferOp buffer = buffers.lookup(name);
    if (!buffer || !buffer.getOffset())
      return param.emitError() << "the program has no buffer for '" << name << "'";
    json::Object object = describe(param, name, role, sharding);
    object["dtype"] = getTypeName(buffer.getResult().getType().getElementType());
    object["offset"] = static_cast<int64_t>(*buffer.getOffset());
    tensors.push_back(std::move(object));
    return success();
  }

  LogicalResult addTensors(json::Object &document) {
    json::Array tensors;
    SymbolTable symbols(module);
    int64_t stage = dist::getStage(entry);
    // Gradients lie as the states that they update.
    llvm::DenseMap<uls::ParamOp, dist::ShardingAttr> updateShardings;
    for (auto param : module.getOps<uls::ParamOp>())
      updateShardings[param] = param.getShardingAttr();
    for (auto param : module.getOps<uls::ParamOp>())
      if (dist::isOnStage(param, stage) && failed(addTensor(tensors, param, param.getSymName(),
                                                            "parameter", param.getShardingAttr())))
        return failure();
    for (auto state : module.getOps<uls::StateOp>()) {
      auto param = symbols.lookup<uls::ParamOp>(state.getParameter());
      dist::ShardingAttr sharding =
          state.getShardingAttr() ? state.getShardingAttr() : param.getShardingAttr();
      updateShardings[param] = sharding;
      if (dist::isOnStage(param, stage) &&
          failed(addTensor(tensors, param, state.getSymName(), state.getRole(), sharding)))
        return failure();
    }
    for (auto param : module.getOps<uls::ParamOp>()) {
      std::string name = (param.getSymName() + ".gradient").str();
      if (!buffers.contains(name))
        continue;
      if (failed(addTensor(tensors, param, name, "gradient", updateShardings.lookup(param))))
        return failure();
    }
    document["tensors"] = std::move(tensors);
    return success();
  }

  ModuleOp module;
  exec::FunctionOp entry;
  dist::MeshAttr mesh;
  llvm::StringMap<exec::BufferOp> buffers;
};

} // namespace

FailureOr<std::string> ulsc::buildManifest(ModuleOp module) {
  json::Object document;
  json::Array stages;
  for (auto function : module.getOps<exec::FunctionOp>()) {
    if (!function.getEntry())
      continue;
    ManifestBuilder builder(module, function);
    if (document.empty())
      builder.buildCommon(document);
    bool isStage = dist::getStage(function) >= 0;
    json::Object stage;
    if (failed(builder.buildProgram(isStage ? stage : document)))
      return failure();
    if (isStage)
      stages.push_back(std::move(stage));
  }
  if (document.empty())
    return module.emitError()
           << "the module has no entry function: lower it to the exec stage first";
  if (!stages.empty())
    document["stages"] = std::move(stages);
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(document));
  return text;
}

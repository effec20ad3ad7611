#include "core/manifest.h"

#include "core/error.h"
#include "core/numeric.h"
#include "core/slice.h"

#include <map>
#include <set>

using nlohmann::json;

namespace ulsc::runtime {

const StateTensor *Stage::find(const std::string &parameter, const std::string &role) const {
  for (const StateTensor &tensor : tensors)
    if (tensor.parameter == parameter && tensor.role == role)
      return &tensor;
  return nullptr;
}

const Stage &Manifest::stageOf(const Shape &coordinates) const {
  return stages.size() == 1 ? stages[0] : stages[coordinates[mesh.axisIndex(stageAxis)]];
}

std::vector<const StateTensor *> Manifest::modelTensors() const {
  std::vector<const StateTensor *> result;
  for (size_t stage = 0; stage < stages.size(); ++stage)
    for (const StateTensor &tensor : stages[stage].tensors)
      if (tensor.owner == static_cast<int64_t>(stage))
        result.push_back(&tensor);
  return result;
}

namespace {

int32_t readDtype(const json &object) {
  std::string name = object.at("dtype");
  std::optional<ulsc_dtype> dtype = parseDtype(name);
  if (!dtype)
    raise("the manifest has a tensor of unknown dtype '", name, "'");
  return *dtype;
}

InputBuffer readInput(const json &object) {
  if (readDtype(object) != ULSC_I32)
    raise("the manifest has an input of dtype '", object.at("dtype"), "'; inputs are i32");
  return {object.at("offset"), object.at("shape")};
}

// An axis splits a tensor once.
void checkAxes(const StateTensor &tensor, const Mesh &mesh) {
  std::set<std::string> known, used;
  for (const MeshAxis &axis : mesh.axes)
    known.insert(axis.name);
  auto use = [&](const char *key, const std::vector<std::string> &names) {
    for (const std::string &name : names) {
      if (!known.count(name))
        raise("the manifest's tensor '", tensor.name, "' has the unknown mesh axis '", name,
              "' in \"", key, "\"; the mesh is ", mesh.text());
      if (!used.insert(name).second)
        raise("the manifest's tensor '", tensor.name, "' has mesh axis '", name, "' in \"", key,
              "\", but is split over it already");
    }
  };
  for (const std::vector<std::string> &names : tensor.sharding)
    use("sharding", names);
  use("flat", tensor.flat);
}

void checkTensor(const StateTensor &tensor, const Mesh &mesh, int64_t arenaBytes) {
  size_t rank = tensor.shape.size();
  if (tensor.logicalShape.size() != rank || tensor.sharding.size() != rank)
    raise("the manifest's tensor '", tensor.name, "' has shape ", shapeText(tensor.shape),
          ", but a logical shape or sharding of another rank");
  checkAxes(tensor, mesh);
  for (size_t i = 0; i < rank; ++i) {
    int64_t parts = mesh.sizeOver(tensor.sharding[i]);
    if (tensor.shape[i] % parts || tensor.logicalShape[i] > tensor.shape[i])
      raise("the manifest's tensor '", tensor.name, "' of shape ", shapeText(tensor.shape),
            " can't be cut into ", parts, " parts in dimension ", i);
  }
  if (elementCount(tensor.logicalShape) != elementCount(tensor.externalShape))
    raise("the manifest's tensor '", tensor.name, "' has logical shape ",
          shapeText(tensor.logicalShape), " but external shape ", shapeText(tensor.externalShape));
  int64_t bytes = localElements(tensor, mesh) * dtypeSize(tensor.dtype);
  if (tensor.offset < 0 || tensor.offset + bytes > arenaBytes)
    raise("the manifest's tensor '", tensor.name, "' lies outside the arena of ", arenaBytes,
          " bytes");
}

StateTensor readTensor(const json &object) {
  StateTensor tensor;
  tensor.name = object.at("name");
  tensor.role = object.at("role");
  tensor.parameter = object.value("parameter", tensor.name);
  tensor.dtype = readDtype(object);
  tensor.offset = object.at("offset");
  tensor.shape = object.at("shape").get<Shape>();
  tensor.logicalShape = object.value("logical_shape", tensor.shape);
  tensor.externalShape = object.value("external_shape", tensor.logicalShape);
  if (object.contains("sharding"))
    tensor.sharding = object.at("sharding").get<std::vector<std::vector<std::string>>>();
  else
    tensor.sharding.resize(tensor.shape.size());
  json flat = object.value("flat", json::array());
  if (!flat.is_array())
    raise("the manifest's tensor '", tensor.name, "' has ", flat.dump(),
          " in \"flat\", which is a list of mesh axes");
  tensor.flat = flat.get<std::vector<std::string>>();
  if (object.contains("init") && object.at("init").is_object()) {
    tensor.initKind = object.at("init").at("kind");
    tensor.initStd = object.at("init").value("std", 0.0);
  }
  tensor.trainable = object.value("trainable", true);
  tensor.group = object.value("group", 0);
  return tensor;
}

void readModel(const json &document, Manifest &manifest) {
  const json &model = document.at("model");
  manifest.modelName = model.value("name", "model");
  manifest.modelFamily = model.value("family", "");
  if (model.contains("config"))
    manifest.modelConfig = model.at("config").is_string() ? model.at("config").get<std::string>()
                                                          : model.at("config").dump(2);
  manifest.weightPrefix = model.value("weight_prefix", "");
  manifest.parameters = model.value("parameters", int64_t(0));
  manifest.vocabulary = model.at("vocabulary");
  json compile = document.value("compile", json::object());
  manifest.dtype = compile.value("dtype", "f32");
  manifest.optimizer = compile.value("optimizer", "adamw");
  manifest.hasDropout = compile.value("dropout", false);
  manifest.hasLossScaling = compile.value("loss_scaling", false);
}

void readMeshAndBatch(const json &document, Manifest &manifest) {
  for (const json &axis : document.at("mesh").at("axes"))
    manifest.mesh.axes.push_back({axis.at("name"), axis.at("size")});
  if (manifest.mesh.axes.size() > ULSC_MAX_AXES)
    raise("the manifest's mesh has ", manifest.mesh.axes.size(), " axes; at most ", ULSC_MAX_AXES,
          " are possible");
  const json &batch = document.at("batch");
  manifest.batch = {batch.at("global"), batch.at("micro"), batch.at("microbatches"),
                    batch.at("seq"), batch.value("data_axes", std::vector<std::string>())};
}

std::optional<double> readMicroseconds(const json &collective, const char *key, size_t number) {
  if (!collective.contains(key))
    return std::nullopt;
  const json &value = collective.at(key);
  if (!value.is_number() || !(value.get<double>() >= 0))
    raise("the manifest's collective ", number, " has ", value.dump(), " in \"", key,
          "\", which is a number of microseconds");
  return value.get<double>();
}

CollectiveInfo readCollective(const json &object, size_t number) {
  try {
    CollectiveInfo info;
    info.kind = object.value("kind", "");
    info.source = object.value("source", "");
    info.phase = object.value("phase", "");
    info.cause = object.value("cause", "");
    info.dtype = object.value("dtype", "");
    info.axes = object.value("axes", std::vector<std::string>());
    info.bytes = object.value("bytes", int64_t(0));
    info.peer = object.value("peer", int64_t(-1));
    std::vector<int64_t> counts = object.value("counts_per_step", std::vector<int64_t>());
    for (size_t stage = 0; stage < counts.size(); ++stage)
      if (counts[stage] > 0 && info.kind == "send")
        info.senders.push_back(static_cast<int64_t>(stage));
    info.predictedUs = readMicroseconds(object, "predicted_us", number);
    info.predictedExposedUs = readMicroseconds(object, "predicted_exposed_us", number);
    return info;
  } catch (const json::exception &error) {
    raise("the manifest's collective ", number, " can't be read: ", error.what());
  }
}

void readCommunication(const json &document, Manifest &manifest) {
  for (const json &group : document.value("groups", json::array())) {
    manifest.groups.push_back(group.at("axes").get<std::vector<std::string>>());
    for (const std::string &axis : manifest.groups.back())
      manifest.mesh.findPart(axis);
  }
  for (const json &collective : document.value("collectives", json::array()))
    manifest.collectives.push_back(readCollective(collective, manifest.collectives.size()));
  for (const json &group : document.value("groups_optimizer", json::array()))
    manifest.parameterGroups.push_back(
        {group.value("weight_decay_scale", 1.0), group.value("lr_scale", 1.0)});
}

void readArena(const json &object, Stage &stage) {
  const json &arena = object.at("arena");
  stage.arenaBytes = arena.at("bytes");
  stage.arenaThreads = arena.value("threads", int64_t(0));
  json categories = arena.value("categories", json::object());
  for (auto it = categories.begin(); it != categories.end(); ++it)
    stage.arenaCategories.push_back({it.key(), it.value()});
}

void readStaging(const json &object, Stage &stage) {
  stage.collectiveSlots = object.value("collective_slots", int64_t(0));
  json staging = object.value("staging", json::object());
  stage.stagingOffset = staging.value("offset", int64_t(0));
  stage.stagingBytes = staging.value("bytes", int64_t(0));
  if (stage.stagingOffset < 0 || stage.stagingBytes < 0 ||
      stage.stagingOffset + stage.stagingBytes > stage.arenaBytes)
    raise("the manifest's staging lies outside the arena");
}

// `object` is the document itself, or one of its "stages".
Stage readStage(const json &object, const Mesh &mesh) {
  Stage stage;
  readArena(object, stage);
  const json &inputs = object.at("inputs");
  if (!inputs.is_object())
    raise("the manifest's \"inputs\" are no object");
  if (inputs.contains("tokens"))
    stage.tokens = readInput(inputs.at("tokens"));
  if (inputs.contains("targets"))
    stage.targets = readInput(inputs.at("targets"));
  for (const json &tensor : object.at("tensors")) {
    stage.tensors.push_back(readTensor(tensor));
    checkTensor(stage.tensors.back(), mesh, stage.arenaBytes);
  }
  readStaging(object, stage);
  return stage;
}

// "stages" are one per coordinate of the stage axis, which divides nothing else.
void checkStages(const json &document, const Mesh &mesh) {
  const json &stages = document.at("stages");
  if (!stages.is_array() || stages.empty())
    raise("the manifest's \"stages\" are ", stages.is_array() ? "empty" : "no list",
          ", but have one object for each coordinate of mesh axis '", stageAxis, "'");
  if (mesh.axes.empty() || mesh.axes[0].name != stageAxis)
    raise("the manifest has ", stages.size(), " stages, but '", stageAxis,
          "' is not the first axis of its mesh, ", mesh.text());
  if (static_cast<int64_t>(stages.size()) != mesh.axes[0].size)
    raise("the manifest has ", stages.size(), " stages, but mesh axis ", stageAxis, "=",
          mesh.axes[0].size);
  for (const char *key : {"arena", "inputs", "tensors", "collective_slots", "staging"})
    if (document.contains(key))
      raise("the manifest has \"", key, "\" beside \"stages\", which have their own");
}

bool isSameTensor(const StateTensor &a, const StateTensor &b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.logicalShape == b.logicalShape &&
         a.externalShape == b.externalShape && a.sharding == b.sharding && a.flat == b.flat &&
         a.initKind == b.initKind && a.initStd == b.initStd && a.trainable == b.trainable &&
         a.group == b.group;
}

void checkStageAxis(const StateTensor &tensor) {
  auto check = [&](const std::vector<std::string> &names) {
    for (const std::string &name : names)
      if (name == stageAxis)
        raise("the manifest's tensor '", tensor.name, "' is split over mesh axis '", stageAxis,
              "', but belongs to a stage");
  };
  for (const std::vector<std::string> &names : tensor.sharding)
    check(names);
  check(tensor.flat);
}

// The lowest stage that has a tensor owns it; the others' are the same in all but their place.
void assignOwners(std::vector<Stage> &stages) {
  std::map<std::string, const StateTensor *> owned;
  for (size_t stage = 0; stage < stages.size(); ++stage)
    for (StateTensor &tensor : stages[stage].tensors) {
      tensor.owner = static_cast<int64_t>(stage);
      const StateTensor *first = owned.emplace(tensor.key(), &tensor).first->second;
      if (first == &tensor)
        continue;
      tensor.owner = first->owner;
      if (!isSameTensor(*first, tensor))
        raise("the manifest's tensor '", tensor.key(), "' of stage ", stage,
              " differs from that of stage ", first->owner,
              " in more than its offset; what stages share is equal");
    }
}

void readStages(const json &document, Manifest &manifest) {
  if (!document.contains("stages")) {
    manifest.stages.push_back(readStage(document, manifest.mesh));
    if (!manifest.stages[0].tokens || !manifest.stages[0].targets)
      raise("the manifest's \"inputs\" lack tokens or targets");
    return;
  }
  checkStages(document, manifest.mesh);
  for (const json &object : document.at("stages")) {
    try {
      Stage stage = readStage(object, manifest.mesh);
      for (const StateTensor &tensor : stage.tensors)
        checkStageAxis(tensor);
      manifest.stages.push_back(std::move(stage));
    } catch (const std::exception &error) {
      raise("in stage ", manifest.stages.size(), " of the program's manifest: ", error.what());
    }
  }
  assignOwners(manifest.stages);
}

// What a header tells; the blocks of each chunk are for people, with --describe.
void readPipeline(const json &document, Manifest &manifest) {
  json pipeline = document.value("pipeline", json::object());
  if (!pipeline.is_object() || (!pipeline.empty() && manifest.stages.size() == 1))
    raise("the manifest has ", pipeline.dump(),
          " in \"pipeline\", which is an object about "
          "\"stages\"");
  manifest.pipelineSchedule = pipeline.value("schedule", "");
  json chunks = pipeline.value("chunks", json::array());
  if (!chunks.is_array() || chunks.size() % manifest.stages.size())
    raise("the manifest has ", chunks.dump(),
          " in \"chunks\" of its \"pipeline\", which is a list "
          "of as many chunks for each of ",
          manifest.stages.size(), " stages");
  manifest.chunksPerStage = static_cast<int64_t>(chunks.size() / manifest.stages.size());
}

} // namespace

Manifest parseManifest(const char *text) {
  Manifest manifest;
  try {
    manifest.document = json::parse(text);
    const json &document = manifest.document;
    std::string schema = document.at("schema");
    if (schema != "ulsc.manifest/1")
      raise("the program's manifest has schema '", schema,
            "', but this runtime reads 'ulsc.manifest/1'; compile the program again");
    manifest.target = document.value("target", "cpu");
    if (manifest.target != "cpu" && manifest.target != "cuda")
      raise("the program's manifest has target '", manifest.target,
            "'; this runtime knows cpu and cuda");
    readModel(document, manifest);
    readMeshAndBatch(document, manifest);
    readCommunication(document, manifest);
    readStages(document, manifest);
    readPipeline(document, manifest);
    manifest.hyperparameters = document.value("hyperparameters", json::object());
  } catch (const json::exception &error) {
    raise("the program's manifest can't be read: ", error.what());
  }
  return manifest;
}

} // namespace ulsc::runtime

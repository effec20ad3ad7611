#include "core/manifest.h"

#include "core/error.h"
#include "core/numeric.h"
#include "core/slice.h"

#include <cstdio>
#include <set>

using nlohmann::json;

namespace ulsc::runtime {

int64_t elementCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string shapeText(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

int64_t Mesh::ranks() const {
  int64_t count = 1;
  for (const MeshAxis &axis : axes)
    count *= axis.size;
  return count;
}

Shape Mesh::coordinates(int64_t rank) const {
  Shape result(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    result[i] = rank % axes[i].size;
    rank /= axes[i].size;
  }
  return result;
}

size_t Mesh::axisIndex(const std::string &name) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return i;
  raise("the manifest uses mesh axis '", name, "', but the mesh is ", text());
}

AxisPart Mesh::findPart(const std::string &name) const {
  size_t colon = name.find(':');
  size_t axis = axisIndex(name.substr(0, colon));
  int64_t whole = axes[axis].size;
  if (colon == std::string::npos)
    return {axis, whole, 1};
  long long before = 0, size = 0;
  int length = 0;
  bool isRead = std::sscanf(name.c_str() + colon, ":(%lld)%lld%n", &before, &size, &length) == 2 &&
                colon + length == name.size();
  if (!isRead || before < 1 || size < 1 || whole / before < size || whole % (before * size) != 0)
    raise("the manifest names '", name, "', which is no part of mesh axis ", axes[axis].name, "=",
          whole);
  return {axis, size, whole / before / size};
}

int64_t Mesh::firstInGroup(const std::vector<std::string> &names, int64_t rank) const {
  Shape own = coordinates(rank);
  int64_t first = rank;
  for (const std::string &name : names) {
    AxisPart part = findPart(name);
    int64_t stride = part.minor;
    for (size_t i = part.axis + 1; i < axes.size(); ++i)
      stride *= axes[i].size;
    first -= part.coordinate(own[part.axis]) * stride;
  }
  return first;
}

int64_t Mesh::indexOver(const std::vector<std::string> &names, const Shape &coordinates) const {
  int64_t index = 0;
  for (const std::string &name : names) {
    AxisPart part = findPart(name);
    index = index * part.size + part.coordinate(coordinates[part.axis]);
  }
  return index;
}

int64_t Mesh::sizeOver(const std::vector<std::string> &names) const {
  int64_t size = 1;
  for (const std::string &name : names)
    size *= findPart(name).size;
  return size;
}

std::string Mesh::text() const {
  std::string result;
  for (const MeshAxis &axis : axes)
    result += (result.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
  return result.empty() ? "1 device" : result;
}

const StateTensor *Manifest::find(const std::string &parameter, const std::string &role) const {
  for (const StateTensor &tensor : tensors)
    if (tensor.parameter == parameter && tensor.role == role)
      return &tensor;
  return nullptr;
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

void checkTensor(const StateTensor &tensor, const Manifest &manifest) {
  size_t rank = tensor.shape.size();
  if (tensor.logicalShape.size() != rank || tensor.sharding.size() != rank)
    raise("the manifest's tensor '", tensor.name, "' has shape ", shapeText(tensor.shape),
          ", but a logical shape or sharding of another rank");
  checkAxes(tensor, manifest.mesh);
  for (size_t i = 0; i < rank; ++i) {
    int64_t parts = manifest.mesh.sizeOver(tensor.sharding[i]);
    if (tensor.shape[i] % parts || tensor.logicalShape[i] > tensor.shape[i])
      raise("the manifest's tensor '", tensor.name, "' of shape ", shapeText(tensor.shape),
            " can't be cut into ", parts, " parts in dimension ", i);
  }
  if (elementCount(tensor.logicalShape) != elementCount(tensor.externalShape))
    raise("the manifest's tensor '", tensor.name, "' has logical shape ",
          shapeText(tensor.logicalShape), " but external shape ", shapeText(tensor.externalShape));
  int64_t bytes = localElements(tensor, manifest.mesh) * dtypeSize(tensor.dtype);
  if (tensor.offset < 0 || tensor.offset + bytes > manifest.arenaBytes)
    raise("the manifest's tensor '", tensor.name, "' lies outside the arena of ",
          manifest.arenaBytes, " bytes");
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

void readArena(const json &document, Manifest &manifest) {
  const json &arena = document.at("arena");
  manifest.arenaBytes = arena.at("bytes");
  manifest.arenaThreads = arena.value("threads", int64_t(0));
  json categories = arena.value("categories", json::object());
  for (auto it = categories.begin(); it != categories.end(); ++it)
    manifest.arenaCategories.push_back({it.key(), it.value()});
  manifest.tokens = readInput(document.at("inputs").at("tokens"));
  manifest.targets = readInput(document.at("inputs").at("targets"));
}

void readTensors(const json &document, Manifest &manifest) {
  for (const json &object : document.at("tensors")) {
    manifest.tensors.push_back(readTensor(object));
    checkTensor(manifest.tensors.back(), manifest);
  }
  for (const json &group : document.value("groups_optimizer", json::array()))
    manifest.parameterGroups.push_back(
        {group.value("weight_decay_scale", 1.0), group.value("lr_scale", 1.0)});
}

void readCommunication(const json &document, Manifest &manifest) {
  for (const json &group : document.value("groups", json::array())) {
    manifest.groups.push_back(group.at("axes").get<std::vector<std::string>>());
    for (const std::string &axis : manifest.groups.back())
      manifest.mesh.findPart(axis);
  }
  for (const json &collective : document.value("collectives", json::array()))
    manifest.collectives.push_back({collective.value("kind", ""), collective.value("source", "")});
  manifest.collectiveSlots = document.value("collective_slots", int64_t(0));
  json staging = document.value("staging", json::object());
  manifest.stagingOffset = staging.value("offset", int64_t(0));
  manifest.stagingBytes = staging.value("bytes", int64_t(0));
  if (manifest.stagingOffset < 0 || manifest.stagingBytes < 0 ||
      manifest.stagingOffset + manifest.stagingBytes > manifest.arenaBytes)
    raise("the manifest's staging lies outside the arena");
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
    readModel(document, manifest);
    readMeshAndBatch(document, manifest);
    readArena(document, manifest);
    readTensors(document, manifest);
    readCommunication(document, manifest);
    manifest.hyperparameters = document.value("hyperparameters", json::object());
  } catch (const json::exception &error) {
    raise("the program's manifest can't be read: ", error.what());
  }
  return manifest;
}

} // namespace ulsc::runtime

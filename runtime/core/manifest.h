// The manifest of the compiled program (docs/manifest.md), checked and typed.
#ifndef ULSC_RUNTIME_CORE_MANIFEST_H
#define ULSC_RUNTIME_CORE_MANIFEST_H

#include "ulsc/RuntimeABI.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ulsc::runtime {

using Shape = std::vector<int64_t>;

/// The product of all sizes.
int64_t elementCount(const Shape &shape);
/// "[2, 3]".
std::string shapeText(const Shape &shape);

struct MeshAxis {
  std::string name;
  int64_t size;
};

/// A whole axis, or the part that "dp:(2)4" names: of 4 ranks behind a major part of 2.
struct AxisPart {
  size_t axis;
  int64_t size;
  int64_t minor; // ranks of the axis behind the part

  int64_t coordinate(int64_t onAxis) const { return onAxis / minor % size; }
};

/// Axes major to minor; ranks are row-major over them.
struct Mesh {
  std::vector<MeshAxis> axes;

  int64_t ranks() const;
  Shape coordinates(int64_t rank) const;
  /// The index of an axis; throws for a name that the mesh lacks.
  size_t axisIndex(const std::string &name) const;
  /// What `name` means; throws where the mesh has no such axis, or the axis no such part.
  AxisPart findPart(const std::string &name) const;
  /// The lowest of the ranks that differ from `rank` only along the named axes.
  int64_t firstInGroup(const std::vector<std::string> &names, int64_t rank) const;
  /// Row-major index of `coordinates` over the named axes, and the product of their sizes.
  int64_t indexOver(const std::vector<std::string> &names, const Shape &coordinates) const;
  int64_t sizeOver(const std::vector<std::string> &names) const;
  /// "dp=2,tp=2"; "1 device" without axes.
  std::string text() const;
};

struct InputBuffer {
  int64_t offset;
  Shape shape;
};

struct Batch {
  int64_t global, micro, microbatches, seq;
  std::vector<std::string> dataAxes;
};

struct ParameterGroup {
  double weightDecayScale, learningRateScale;
};

/// A persistent buffer with a meaning outside the step.
struct StateTensor {
  std::string name, role, parameter;
  int32_t dtype;
  int64_t offset;
  Shape shape, logicalShape, externalShape;
  std::vector<std::vector<std::string>> sharding; // per dimension of `shape`
  std::vector<std::string> flat; // axes whose ranks hold chunks of the flattened block
  std::string initKind;
  double initStd = 0;
  bool trainable = true;
  int64_t group = 0;

  /// What checkpoints call it.
  std::string key() const { return parameter + ":" + role; }
};

struct CollectiveInfo {
  std::string kind, source;
};

struct Manifest {
  nlohmann::json document;
  std::string modelName, modelFamily, modelConfig, weightPrefix;
  int64_t parameters = 0, vocabulary = 0;
  std::string dtype, optimizer;
  bool hasDropout = false, hasLossScaling = false;
  Mesh mesh;
  Batch batch;
  int64_t arenaBytes = 0, arenaThreads = 0;
  std::vector<std::pair<std::string, int64_t>> arenaCategories;
  InputBuffer tokens, targets;
  std::vector<StateTensor> tensors;
  std::vector<ParameterGroup> parameterGroups;
  std::vector<std::vector<std::string>> groups;
  std::vector<CollectiveInfo> collectives;
  int64_t collectiveSlots = 0;
  /// Where reductions are received: a part of the arena, divided among the slots.
  int64_t stagingOffset = 0, stagingBytes = 0;
  nlohmann::json hyperparameters;

  /// Null when the parameter has no tensor of that role.
  const StateTensor *find(const std::string &parameter, const std::string &role) const;
};

/// Throws an Error that names the offending key.
Manifest parseManifest(const char *text);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_MANIFEST_H

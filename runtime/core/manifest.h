// The manifest of the compiled program (docs/manifest.md), checked and typed.
#ifndef ULSC_RUNTIME_CORE_MANIFEST_H
#define ULSC_RUNTIME_CORE_MANIFEST_H

#include "core/mesh.h"
#include "ulsc/RuntimeABI.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace ulsc::runtime {

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
  /// The lowest stage that has the tensor. Others that have it hold the same values.
  int64_t owner = 0;

  /// What checkpoints call it.
  std::string key() const { return parameter + ":" + role; }
};

/// A collective of the program, by its number.
struct CollectiveInfo {
  std::string kind, source, phase, cause, dtype;
  std::vector<std::string> axes;
  int64_t bytes = 0;
  /// Of a send: the positions in the group of those who send, and of the one who receives.
  std::vector<int64_t> senders;
  int64_t peer = -1;
  /// Microseconds of one call, where the compiler tells them: of the transfer itself, and of what
  /// of it computing does not hide.
  std::optional<double> predictedUs, predictedExposedUs;
};

/// What the ranks at one coordinate of the axis "pp" hold, which run one program; all of a program
/// that is not pipelined.
struct Stage {
  int64_t arenaBytes = 0, arenaThreads = 0;
  std::vector<std::pair<std::string, int64_t>> arenaCategories;
  std::optional<InputBuffer> tokens, targets; // a stage may read neither
  std::vector<StateTensor> tensors;
  int64_t collectiveSlots = 0;
  /// Where reductions are received: a part of the arena, divided among the slots.
  int64_t stagingOffset = 0, stagingBytes = 0;

  /// Null when the parameter has no tensor of that role here.
  const StateTensor *find(const std::string &parameter, const std::string &role) const;
};

/// The mesh axis whose coordinate is the stage; the outermost one of a pipelined program.
inline constexpr const char *stageAxis = "pp";

struct Manifest {
  nlohmann::json document;
  std::string target = "cpu"; // or "cuda"
  std::string modelName, modelFamily, modelConfig, weightPrefix;
  int64_t parameters = 0, vocabulary = 0;
  std::string dtype, optimizer;
  bool hasDropout = false, hasLossScaling = false;
  Mesh mesh;
  Batch batch;
  std::vector<Stage> stages; // one unless the program is pipelined
  /// Of a pipelined program whose compiler tells them; else empty and 0.
  std::string pipelineSchedule;
  int64_t chunksPerStage = 0;
  std::vector<ParameterGroup> parameterGroups;
  std::vector<std::vector<std::string>> groups;
  std::vector<CollectiveInfo> collectives;
  nlohmann::json hyperparameters;

  /// Of the rank with these mesh coordinates.
  const Stage &stageOf(const Shape &coordinates) const;
  /// Every tensor of the model once, as its owner has it, stage by stage.
  std::vector<const StateTensor *> modelTensors() const;
};

/// Throws an Error that names the offending key.
Manifest parseManifest(const char *text);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_MANIFEST_H

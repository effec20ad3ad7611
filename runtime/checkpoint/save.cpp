#include "checkpoint/checkpoint.h"
#include "checkpoint/rank_file.h"
#include "checkpoint/save_directory.h"
#include "core/error.h"
#include "core/numeric.h"

#include <cstdio>

using nlohmann::json;
using nlohmann::ordered_json;

namespace ulsc::runtime {

std::string rankFileName(int rank) {
  char name[40];
  std::snprintf(name, sizeof(name), "rank-%05d.safetensors", rank);
  return name;
}

std::string hashText(uint64_t hash) {
  char text[20];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

bool isSaved(const StateTensor &tensor) { return tensor.role != "gradient"; }

namespace {

ordered_json describeTensors(const Manifest &manifest) {
  ordered_json tensors = ordered_json::array();
  for (const StateTensor *tensor : manifest.modelTensors())
    if (isSaved(*tensor))
      tensors.push_back({{"name", tensor->key()},
                         {"parameter", tensor->parameter},
                         {"role", tensor->role},
                         {"dtype", dtypeName(tensor->dtype)},
                         {"logical_shape", tensor->logicalShape},
                         {"padded_shape", tensor->shape},
                         {"external_shape", tensor->externalShape},
                         {"sharding", tensor->sharding},
                         {"flat", tensor->flat}});
  return tensors;
}

std::string describeState(const Manifest &manifest, const RunState &state,
                          const std::vector<uint64_t> &sizes, const std::vector<uint64_t> &hashes) {
  ordered_json document;
  document["schema"] = "ulsc.checkpoint/1";
  document["model"] = {{"name", manifest.modelName},
                       {"family", manifest.modelFamily},
                       {"parameters", manifest.parameters},
                       {"config", manifest.modelConfig}};
  document["compile"] = {{"dtype", manifest.dtype}};
  document["step"] = state.step;
  document["tokens_consumed"] = state.tokensConsumed;
  document["data_position"] = state.tokensConsumed;
  document["seed"] = state.seed;
  document["loss_scale"] = state.lossScale;
  if (manifest.hasLossScaling) {
    document["good_steps"] = state.goodSteps;
    document["skipped_steps"] = state.skippedSteps;
  }
  ordered_json axes = ordered_json::array();
  for (const MeshAxis &axis : manifest.mesh.axes)
    axes.push_back({{"name", axis.name}, {"size", axis.size}});
  document["mesh"] = {{"axes", axes}};
  document["optimizer"] = manifest.optimizer;
  document["hyperparameters"] = state.hyperparameters;
  ordered_json files = ordered_json::array();
  for (size_t rank = 0; rank < sizes.size(); ++rank)
    files.push_back({{"name", rankFileName(static_cast<int>(rank))},
                     {"bytes", sizes[rank]},
                     {"hash", hashText(hashes[rank])}});
  document["files"] = files;
  document["tensors"] = describeTensors(manifest);
  return document.dump(1) + "\n";
}

} // namespace

void saveCheckpoint(Communicator &communicator, const Manifest &manifest, const Shape &coordinates,
                    ArenaView &arena, const RunState &state, const std::string &directory) {
  std::string final = directory + "/" + saveName(state.step), partial = final + ".partial";
  bool isFirst = communicator.rank() == 0;
  try {
    onAllRanks(communicator, [&] {
      if (!isFirst)
        return;
      makeDirectories(directory);
      clearPlace(final);
      removeDirectory(partial);
      makeDirectories(partial);
    });
    uint64_t size = 0, hash = 0;
    onAllRanks(communicator, [&] {
      FileWriter writer(partial + "/" + rankFileName(communicator.rank()));
      writeRankFile(writer, manifest, coordinates, arena, isSaved);
      writer.finish();
      size = static_cast<uint64_t>(writer.bytes());
      hash = writer.hash();
    });
    std::vector<uint64_t> sizes = communicator.gather(size), hashes = communicator.gather(hash);
    onAllRanks(communicator, [&] {
      if (!isFirst)
        return;
      writeFile(partial + "/state.json", describeState(manifest, state, sizes, hashes));
      syncDirectory(partial);
      publishDirectory(partial, final);
      pruneSaves(directory, keptSaves);
    });
  } catch (const Error &) {
    if (isFirst)
      removeDirectory(partial);
    throw;
  }
}

} // namespace ulsc::runtime

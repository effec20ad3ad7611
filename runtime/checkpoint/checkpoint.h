// Checkpoints: a directory "step-<N>" with state.json and one safetensors file per rank.
//
// A save is written beside, as "step-<N>.partial", synced, and published by one rename; what has
// its final name is complete. The format names no mesh but the one it was written on: slices carry
// their place in the logical tensor, so a program for another mesh resumes from the same files.
#ifndef ULSC_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define ULSC_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "comm/communicator.h"
#include "core/manifest.h"
#include "device/arena_view.h"

#include <string>

namespace ulsc::runtime {

/// What a checkpoint holds besides tensors.
struct RunState {
  int64_t step = 0, tokensConsumed = 0;
  uint64_t seed = 0;
  /// Loss scaling: the scale, good steps since it changed, and steps that changed nothing.
  double lossScale = 1, goodSteps = 0;
  int64_t skippedSteps = 0;
  nlohmann::json hyperparameters; // for the record; a resumed run takes its own flags
};

/// Saves of which a directory keeps the newest.
constexpr int keptSaves = 2;

/// Runs on all ranks; throws on all. Removes its half-written files when it fails.
void saveCheckpoint(Communicator &communicator, const Manifest &manifest, const Shape &coordinates,
                    ArenaView &arena, const RunState &state, const std::string &directory);

/// Prepares a directory for saves after `firstStep`: refuses one that holds newer saves, removes
/// what a killed run left half-written. For rank 0.
void prepareSaveDirectory(const std::string &directory, int64_t firstStep);

/// The checkpoint that `path` means: a checkpoint itself, or the newest in a directory of them.
/// Empty if there is none.
std::string findCheckpoint(const std::string &path);

/// The names in `directory` of saves newer than `found`, or of all if that is empty, that lack
/// their state.json.
std::vector<std::string> incompleteSaves(const std::string &directory, const std::string &found);

/// Fills the rank's state tensors and returns the rest. Throws for one of another model or a
/// damaged one.
RunState loadCheckpoint(const std::string &directory, const Manifest &manifest,
                        const Shape &coordinates, ArenaView &arena, int rank, int ranks);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CHECKPOINT_CHECKPOINT_H

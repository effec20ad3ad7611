// Weights in the files of Hugging Face: reading into and writing from the state of all ranks.
#ifndef ULSC_RUNTIME_CHECKPOINT_WEIGHTS_H
#define ULSC_RUNTIME_CHECKPOINT_WEIGHTS_H

#include "comm/communicator.h"
#include "core/manifest.h"
#include "device/arena_view.h"

#include <string>
#include <vector>

namespace ulsc::runtime {

/// Fills this rank's parameters (stored and master values) from a safetensors file, or a directory
/// with model.safetensors or model.safetensors.index.json. Reads only the rank's own ranges. Names
/// may have or lack the manifest's weight prefix. Throws one Error with all that is missing,
/// unknown or of another shape.
void loadWeights(const std::string &path, const Manifest &manifest, const Shape &coordinates,
                 ArenaView &arena);

/// Writes config.json and the stored values to a directory that from_pretrained loads: padding cut,
/// each tensor gathered on rank 0 in turn. Runs on all ranks.
void exportWeights(Communicator &communicator, const Manifest &manifest, const Shape &coordinates,
                   ArenaView &arena, const std::string &directory);

/// The largest file of an export; larger models get several and an index.
constexpr int64_t largestExportFile = 5'000'000'000;

/// Cuts tensors of these sizes, in order, into files of at most `limit` bytes (a larger tensor gets
/// a file of its own). Returns the number of tensors in each file.
std::vector<size_t> planFiles(const std::vector<int64_t> &sizes, int64_t limit);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CHECKPOINT_WEIGHTS_H

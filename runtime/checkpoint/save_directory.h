// Names in a directory of checkpoints.
#ifndef ULSC_RUNTIME_CHECKPOINT_SAVE_DIRECTORY_H
#define ULSC_RUNTIME_CHECKPOINT_SAVE_DIRECTORY_H

#include "core/manifest.h"

#include <string>
#include <vector>

namespace ulsc::runtime {

/// "step-12".
std::string saveName(int64_t step);
/// "rank-00003.safetensors".
std::string rankFileName(int rank);
/// 16 hexadecimal digits.
std::string hashText(uint64_t hash);
/// Whether checkpoints hold the tensor.
bool isSaved(const StateTensor &tensor);

/// The steps of the complete saves in a directory, ascending.
std::vector<int64_t> completeSaves(const std::string &directory);

/// Removes all but the newest `kept` complete saves, and remains of older removals.
void pruneSaves(const std::string &directory, int kept);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CHECKPOINT_SAVE_DIRECTORY_H

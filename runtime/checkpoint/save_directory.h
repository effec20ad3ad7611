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

/// Makes sure that a save of that path can be published: what this program saved there is replaced,
/// a save without its state.json gets another name, and anything else is an error.
void clearPlace(const std::string &save);

/// Removes all but the newest `kept` of the saves that this program made.
void pruneSaves(const std::string &directory, int kept);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CHECKPOINT_SAVE_DIRECTORY_H

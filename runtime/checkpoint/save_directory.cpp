#include "checkpoint/save_directory.h"

#include "checkpoint/checkpoint.h"
#include "checkpoint/files.h"
#include "core/error.h"

#include <algorithm>

namespace ulsc::runtime {

namespace {

const std::string prefix = "step-", partialSuffix = ".partial";

// The step in "step-<N>", or -1.
int64_t stepOf(const std::string &name) {
  std::string digits = name.substr(std::min(name.size(), prefix.size()));
  if (name.compare(0, prefix.size(), prefix) != 0 || digits.empty() || digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return -1;
  return std::stoll(digits);
}

bool endsWith(const std::string &text, const std::string &suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

bool isComplete(const std::string &directory) { return fileExists(directory + "/state.json"); }

} // namespace

std::string saveName(int64_t step) { return prefix + std::to_string(step); }

std::vector<int64_t> completeSaves(const std::string &directory) {
  std::vector<int64_t> steps;
  for (const std::string &name : directoryEntries(directory))
    if (stepOf(name) >= 0 && isComplete(directory + "/" + name))
      steps.push_back(stepOf(name));
  std::sort(steps.begin(), steps.end());
  return steps;
}

void pruneSaves(const std::string &directory, int kept) {
  std::vector<int64_t> steps = completeSaves(directory);
  size_t removed = steps.size() > static_cast<size_t>(kept) ? steps.size() - kept : 0;
  // Without state.json a save no longer counts, so it goes first.
  for (size_t i = 0; i < removed; ++i)
    removeDirectory(directory + "/" + saveName(steps[i]), "state.json");
  for (const std::string &name : directoryEntries(directory))
    if (stepOf(name) >= 0 && !isComplete(directory + "/" + name))
      removeDirectory(directory + "/" + name);
}

void prepareSaveDirectory(const std::string &directory, int64_t firstStep) {
  std::vector<int64_t> steps = completeSaves(directory);
  if (!steps.empty() && steps.back() > firstStep)
    raise("directory '", directory, "' already holds a checkpoint of step ", steps.back(),
          ", but this run begins after step ", firstStep,
          "; go on from it with '--resume auto', or give '--save' another directory");
  makeDirectories(directory);
  for (const std::string &name : directoryEntries(directory))
    if (endsWith(name, partialSuffix) &&
        stepOf(name.substr(0, name.size() - partialSuffix.size())) >= 0)
      removeDirectory(directory + "/" + name);
}

std::string findCheckpoint(const std::string &path) {
  if (isComplete(path))
    return path;
  std::vector<int64_t> steps = completeSaves(path);
  return steps.empty() ? std::string() : path + "/" + saveName(steps.back());
}

} // namespace ulsc::runtime

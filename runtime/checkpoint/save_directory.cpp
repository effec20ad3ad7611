#include "checkpoint/save_directory.h"

#include "checkpoint/checkpoint.h"
#include "checkpoint/files.h"
#include "core/error.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

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

// Whether this program made the directory: its state.json begins with the schema. Others are never
// removed, whatever their name.
bool isOwn(const std::string &directory) {
  std::ifstream input(directory + "/state.json");
  std::string begin(256, '\0');
  input.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin.find("\"schema\": \"ulsc.checkpoint/") != std::string::npos;
}

// A save that lost its state.json: nothing but ranks' files.
bool isRest(const std::string &directory) {
  std::vector<std::string> names = directoryEntries(directory);
  return !names.empty() && std::all_of(names.begin(), names.end(), [](const std::string &name) {
    return name.rfind("rank-", 0) == 0 && endsWith(name, ".safetensors");
  });
}

// A name beside `path` that is free.
std::string freeName(const std::string &path) {
  std::string name = path + ".incomplete";
  for (int i = 2; fileExists(name); ++i)
    name = concat(path, ".incomplete-", i);
  return name;
}

[[noreturn]] void refuseForeign(const std::string &path) {
  raise(
      "'", path,
      "' has the name of a save, but is not one of this program's: it has no state.json of schema "
      "\"ulsc.checkpoint/1\"; move it away, or give '--save' another directory");
}

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
  std::vector<std::string> saves;
  for (int64_t step : completeSaves(directory))
    if (isOwn(directory + "/" + saveName(step)))
      saves.push_back(directory + "/" + saveName(step));
  // Renamed first, a save that is half removed is known as such and goes when the next run begins.
  for (size_t i = 0; i + kept < saves.size(); ++i) {
    publishDirectory(saves[i], saves[i] + partialSuffix);
    removeDirectory(saves[i] + partialSuffix);
  }
}

void clearPlace(const std::string &save) {
  if (!fileExists(save) || isOwn(save))
    return;
  if (!isRest(save))
    refuseForeign(save);
  std::string aside = freeName(save);
  std::fprintf(stderr, "note: '%s' is incomplete, it has no state.json; it is now '%s'\n",
               save.c_str(), aside.c_str());
  publishDirectory(save, aside);
}

std::vector<std::string> incompleteSaves(const std::string &directory, const std::string &found) {
  std::string base = found.substr(found.rfind('/') + 1);
  std::vector<std::string> names;
  for (const std::string &name : directoryEntries(directory))
    if (stepOf(name) > stepOf(base) && !isComplete(directory + "/" + name))
      names.push_back(name);
  return names;
}

void prepareSaveDirectory(const std::string &directory, int64_t firstStep) {
  std::vector<int64_t> steps = completeSaves(directory);
  if (!steps.empty() && steps.back() > firstStep)
    raise("directory '", directory, "' already holds a checkpoint of step ", steps.back(),
          ", but this run begins after step ", firstStep,
          "; go on from it with '--resume auto', or give '--save' another directory");
  makeDirectories(directory);
  for (const std::string &name : directoryEntries(directory)) {
    std::string path = directory + "/" + name;
    // In the way of a save to come: better to say so now than after the steps.
    if (stepOf(name) > firstStep && !isOwn(path) && !isRest(path))
      refuseForeign(path);
    bool isPartial = endsWith(name, partialSuffix) &&
                     stepOf(name.substr(0, name.size() - partialSuffix.size())) >= 0;
    if (isPartial && !isDirectory(path))
      refuseForeign(path);
    if (isPartial)
      removeDirectory(path);
  }
}

std::string findCheckpoint(const std::string &path) {
  if (isComplete(path))
    return path;
  std::vector<int64_t> steps = completeSaves(path);
  return steps.empty() ? std::string() : path + "/" + saveName(steps.back());
}

} // namespace ulsc::runtime

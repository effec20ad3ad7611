#include "checkpoint/checkpoint.h"
#include "checkpoint/rank_file.h"
#include "checkpoint/save_directory.h"
#include "core/error.h"
#include "core/numeric.h"

#include <set>

#include <sys/stat.h>

using nlohmann::json;

namespace ulsc::runtime {

namespace {

constexpr int64_t largestState = int64_t(256) << 20;

struct SavedTensor {
  std::string dtype;
  Shape logicalShape;
};

struct SavedFile {
  std::string path, hash;
  int64_t bytes;
};

struct SavedState {
  RunState run;
  std::map<std::string, SavedTensor> tensors;
  std::vector<SavedFile> files;
  std::string config, dtype; // empty in checkpoints that don't tell
};

SavedState parseState(const std::string &directory) {
  std::string path = directory + "/state.json";
  std::string text = readFile(path, largestState);
  SavedState state;
  try {
    json document = json::parse(text);
    if (document.at("schema") != "ulsc.checkpoint/1")
      raise("'", path, "' has schema ", document.at("schema").dump(),
            ", but this program reads \"ulsc.checkpoint/1\"; save with the same version");
    state.run.step = document.at("step");
    state.run.tokensConsumed = document.at("tokens_consumed");
    state.run.seed = document.at("seed");
    state.run.lossScale = document.at("loss_scale");
    state.run.goodSteps = document.value("good_steps", 0.0);
    state.run.skippedSteps = document.value("skipped_steps", int64_t(0));
    if (state.run.step < 0 || state.run.tokensConsumed < 0)
      raise("'", path, "' has a negative step or token count; it is damaged");
    state.config = document.value("/model/config"_json_pointer, "");
    state.dtype = document.value("/compile/dtype"_json_pointer, "");
    for (const json &tensor : document.at("tensors"))
      state.tensors[tensor.at("name")] = {tensor.at("dtype"), tensor.at("logical_shape")};
    for (const json &file : document.at("files")) {
      std::string name = file.at("name");
      if (name.empty() || name.find('/') != std::string::npos)
        raise("'", path, "' names a file outside its directory");
      state.files.push_back({directory + "/" + name, file.at("hash"), file.at("bytes")});
    }
  } catch (const json::exception &error) {
    raise("'", path, "' can't be read: ", error.what(),
          "; the checkpoint is damaged, resume from another with --resume DIR/step-N");
  }
  return state;
}

// Keys of a config.json that say nothing of what the model computes: how it was stored, how text is
// generated from it, and rates of dropout, which a run may choose.
bool isIncidental(const std::string &key) {
  static const std::set<std::string> keys = {
      "_name_or_path",        "architectures",     "torch_dtype",    "dtype",
      "transformers_version", "use_cache",         "bos_token_id",   "eos_token_id",
      "pad_token_id",         "initializer_range", "pretraining_tp", "task_specific_params",
      "_attn_implementation"};
  return keys.count(key) || key.find("drop") != std::string::npos || key.rfind("summary_", 0) == 0;
}

// One line per key of the model, and the dtype, that the checkpoint has otherwise.
std::string compareModels(const SavedState &state, const Manifest &manifest) {
  std::string problems;
  if (!state.dtype.empty() && state.dtype != manifest.dtype)
    problems += concat("\n  it was trained with --dtype ", state.dtype,
                       ", the program was compiled with --dtype ", manifest.dtype);
  json saved = json::parse(state.config, nullptr, /*allow_exceptions=*/false);
  json own = json::parse(manifest.modelConfig, nullptr, /*allow_exceptions=*/false);
  if (!saved.is_object() || !own.is_object())
    return problems;
  std::set<std::string> keys;
  for (const json &config : {saved, own})
    for (auto entry = config.begin(); entry != config.end(); ++entry)
      keys.insert(entry.key());
  auto textOf = [](const json &config, const std::string &key) {
    return config.contains(key) ? config[key].dump() : std::string("absent");
  };
  for (const std::string &key : keys)
    if (!isIncidental(key) &&
        (!saved.contains(key) || !own.contains(key) || saved[key] != own[key]))
      problems += concat("\n  its model's \"", key, "\" is ", textOf(saved, key),
                         ", the program's is ", textOf(own, key));
  return problems;
}

// What a checkpoint and a program differ in, of which an error shows the first few.
class Differences {
public:
  template <typename... Parts>
  void add(const Parts &...parts) {
    if (++count <= most)
      text += concat("\n  ", parts...);
  }
  std::string all() const {
    return count > most ? concat(text, "\n  and ", count - most, " more tensors that differ")
                        : text;
  }

private:
  static constexpr int64_t most = 5;
  int64_t count = 0;
  std::string text;
};

// What the checkpoint has otherwise than the program needs it, in one error: all of the model, and
// the first tensors, since one dtype makes each of them another.
void compareTensors(const std::string &directory, const SavedState &state,
                    const Manifest &manifest) {
  Differences tensors;
  std::map<std::string, SavedTensor> unknown = state.tensors;
  for (const StateTensor *tensor : manifest.modelTensors()) {
    if (!isSaved(*tensor))
      continue;
    std::string key = tensor->key();
    auto saved = state.tensors.find(key);
    unknown.erase(key);
    if (saved == state.tensors.end())
      tensors.add("it lacks ", key);
    else if (saved->second.logicalShape != tensor->logicalShape ||
             saved->second.dtype != dtypeName(tensor->dtype))
      tensors.add("it has ", key, " as ", saved->second.dtype, " ",
                  shapeText(saved->second.logicalShape), ", the program as ",
                  dtypeName(tensor->dtype), " ", shapeText(tensor->logicalShape));
  }
  for (const auto &[name, tensor] : unknown)
    tensors.add("it has ", name, ", which the program does not know");
  std::string problems = compareModels(state, manifest) + tensors.all();
  if (!problems.empty())
    raise("checkpoint '", directory,
          "' belongs to another program; compile the same model with "
          "the same dtypes and optimizer:",
          problems);
}

void checkFile(const SavedFile &file, bool readsAll) {
  struct stat status;
  if (stat(file.path.c_str(), &status) != 0 || status.st_size != file.bytes)
    raise("checkpoint file '", file.path, "' is missing or does not have its ", file.bytes,
          " bytes; the checkpoint is damaged, resume from another with --resume DIR/step-N");
  if (!readsAll)
    return;
  SafetensorsFile opened(file.path);
  StreamHash hash;
  std::vector<char> piece(1 << 20);
  for (int64_t offset = 0; offset < file.bytes;) {
    int64_t size = std::min<int64_t>(file.bytes - offset, static_cast<int64_t>(piece.size()));
    opened.read(offset, piece.data(), size);
    hash.update(piece.data(), size);
    offset += size;
  }
  if (hashText(hash.value()) != file.hash)
    raise("checkpoint file '", file.path,
          "' has other content than was saved; the checkpoint is "
          "damaged, resume from another with --resume DIR/step-N");
}

// Copies what one file has of the rank's parts; `missing` counts the elements that each tensor
// still lacks.
void readRankFile(const std::string &path, const std::map<std::string, Shape> &logicalShapes,
                  const Stage &stage, const Mesh &mesh, const std::vector<Part> &parts,
                  ArenaView &arena, std::vector<int64_t> &missing) {
  SafetensorsFile file(path);
  std::map<std::string, std::vector<SavedSlice>> slices = readSlices(file, logicalShapes);
  for (size_t i = 0; i < parts.size(); ++i) {
    const StateTensor &tensor = stage.tensors[i];
    auto entry = slices.find(tensor.key());
    if (entry == slices.end())
      continue;
    int64_t size = dtypeSize(tensor.dtype);
    char *memory = arena.edit(tensor.offset, localElements(tensor, mesh) * size);
    for (const SavedSlice &saved : entry->second) {
      if (saved.tensor.dtype != safetensorsName(tensor.dtype))
        raise("checkpoint file '", path, "' has ", tensor.key(), " as ", saved.tensor.dtype,
              ", not as ", safetensorsName(tensor.dtype), "; the checkpoint is damaged");
      missing[i] -= copySlice(saved, parts[i], memory, size);
    }
  }
  arena.flush();
}

} // namespace

RunState loadCheckpoint(const std::string &directory, const Manifest &manifest,
                        const Shape &coordinates, ArenaView &arena, int rank, int ranks) {
  SavedState state = parseState(directory);
  compareTensors(directory, state, manifest);
  // Each file's content is checked by one rank, its size by all.
  for (size_t i = 0; i < state.files.size(); ++i)
    checkFile(state.files[i], static_cast<int>(i % ranks) == rank);
  std::map<std::string, Shape> logicalShapes;
  for (const auto &[name, tensor] : state.tensors)
    logicalShapes[name] = tensor.logicalShape;
  const Stage &stage = manifest.stageOf(coordinates);
  std::vector<Part> parts;
  std::vector<int64_t> missing;
  for (const StateTensor &tensor : stage.tensors) {
    parts.push_back(partOf(tensor, manifest.mesh, coordinates));
    missing.push_back(isSaved(tensor) ? parts.back().elements() : 0);
  }
  for (const SavedFile &saved : state.files)
    readRankFile(saved.path, logicalShapes, stage, manifest.mesh, parts, arena, missing);
  for (size_t i = 0; i < parts.size(); ++i)
    if (isSaved(stage.tensors[i]) && missing[i] != 0)
      raise("checkpoint '", directory, "' lacks a part of ", stage.tensors[i].key(),
            "; it is damaged, resume from another with --resume DIR/step-N");
  return state.run;
}

} // namespace ulsc::runtime

#include "checkpoint/files.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/weights.h"
#include "core/error.h"
#include "core/numeric.h"
#include "core/options.h"
#include "core/slice.h"

#include <cmath>
#include <deque>
#include <set>

using nlohmann::json;

namespace ulsc::runtime {

namespace {

constexpr int64_t largestIndex = int64_t(256) << 20;
constexpr int64_t piece = 16384;

// All files of a model and where each tensor is.
struct WeightFiles {
  std::deque<SafetensorsFile> files;
  std::map<std::string, const SafetensorsFile *> tensors;

  void add(const std::string &path) {
    files.emplace_back(path);
    for (const auto &entry : files.back().tensors())
      tensors[entry.first] = &files.back();
  }
  const FileTensor &entry(const std::string &name) const {
    return tensors.at(name)->tensors().at(name);
  }
};

// One line per tensor that an index has in another place than the files, or not at all.
std::string compareIndex(const std::string &directory, const json &map,
                         const WeightFiles &weights) {
  std::string problems;
  for (const SafetensorsFile &file : weights.files)
    for (const auto &[name, tensor] : file.tensors()) {
      if (!map.contains(name))
        problems += concat("\n  it omits ", name, ", which is in '", file.path(), "'");
      else if (directory + "/" + map[name].get<std::string>() != file.path())
        problems += concat("\n  it has ", name, " in ", map[name].dump(), ", but it is in '",
                           file.path(), "'");
    }
  for (auto entry = map.begin(); entry != map.end(); ++entry)
    if (!weights.tensors.count(entry.key()))
      problems += concat("\n  it has ", entry.key(), " in ", entry->dump(), ", which lacks it");
  return problems;
}

void openIndex(const std::string &directory, const std::string &index, WeightFiles &weights) {
  json document = json::parse(readFile(index, largestIndex), nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("weight_map") ||
      !document["weight_map"].is_object())
    raise("'", index, "' is not an index: it has no \"weight_map\"; download it again");
  std::set<std::string> names;
  for (const auto &file : document["weight_map"]) {
    if (!file.is_string() || file.get<std::string>().find('/') != std::string::npos)
      raise("'", index, "' names a file that is not in its directory: ", file.dump());
    names.insert(file.get<std::string>());
  }
  for (const std::string &name : names)
    weights.add(directory + "/" + name);
  std::string problems = compareIndex(directory, document["weight_map"], weights);
  if (!problems.empty())
    raise("'", index, "' does not fit its files; download them again:", problems);
}

void openWeights(const std::string &path, WeightFiles &weights) {
  if (!isDirectory(path)) {
    weights.add(path);
    return;
  }
  std::string single = path + "/model.safetensors", index = single + ".index.json";
  if (fileExists(index)) {
    openIndex(path, index, weights);
  } else if (fileExists(single)) {
    weights.add(single);
  } else {
    std::string others;
    for (const std::string &name : directoryEntries(path))
      if (name.find(".safetensors") != std::string::npos || name.find(".bin") != std::string::npos)
        others += (others.empty() ? " (it has " : ", ") + name;
    raise("directory '", path, "' has neither model.safetensors nor model.safetensors.index.json",
          others, others.empty() ? "" : ")",
          "; give a safetensors file, or save the model with "
          "save_pretrained(safe_serialization=True)");
  }
}

bool endsWith(const std::string &text, const std::string &suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// Buffers that some versions of transformers stored, and the second name of a tied table.
bool isIgnorable(const std::string &name, const Manifest &manifest) {
  for (const char *suffix :
       {"attn.bias", "attn.masked_bias", "rotary_emb.inv_freq", "embeddings.position_ids"})
    if (endsWith(name, suffix))
      return true;
  for (const StateTensor *tensor : manifest.modelTensors())
    if (tensor->parameter == "lm_head.weight")
      return false;
  return endsWith(name, "lm_head.weight");
}

// The file's name of a parameter, or "".
std::string findName(const std::string &parameter, const std::string &prefix,
                     const WeightFiles &weights) {
  std::vector<std::string> candidates = {parameter, prefix + parameter};
  if (!prefix.empty() && parameter.compare(0, prefix.size(), prefix) == 0)
    candidates.push_back(parameter.substr(prefix.size()));
  for (const std::string &candidate : candidates)
    if (weights.tensors.count(candidate))
      return candidate;
  return "";
}

// One line per problem; `names` gets the file's name of each parameter.
std::string matchNames(const Manifest &manifest, const WeightFiles &weights,
                       std::map<std::string, std::string> &names) {
  std::string problems;
  std::set<std::string> used;
  std::vector<std::string> present;
  for (const auto &entry : weights.tensors)
    present.push_back(entry.first);
  for (const StateTensor *tensor : manifest.modelTensors()) {
    if (tensor->role != "parameter")
      continue;
    std::string name = findName(tensor->parameter, manifest.weightPrefix, weights);
    if (name.empty()) {
      problems +=
          concat("\n  missing ", tensor->parameter, " ", shapeText(tensor->externalShape),
                 present.empty() ? "" : "; the nearest is " + nearest(tensor->parameter, present));
      continue;
    }
    used.insert(name);
    names[tensor->parameter] = name;
    const FileTensor &entry = weights.entry(name);
    if (entry.shape != tensor->externalShape)
      problems += concat("\n  ", name, " is ", shapeText(entry.shape), ", but the model has ",
                         shapeText(tensor->externalShape));
    else if (entry.dtype != "F32" && entry.dtype != "BF16" && entry.dtype != "F16")
      problems += concat("\n  ", name, " is ", entry.dtype, ", but F32, BF16 or F16 is read");
  }
  for (const auto &entry : weights.tensors)
    if (!used.count(entry.first) && !isIgnorable(entry.first, manifest))
      problems +=
          concat("\n  unknown ", entry.first, " ", shapeText(weights.entry(entry.first).shape));
  return problems;
}

// Training on from a value that is not finite ends in the first step, with a message that can't
// tell where it came from.
void requireFinite(const float *values, int64_t count, const SafetensorsFile &file,
                   const std::string &name, int64_t index) {
  for (int64_t i = 0; i < count; ++i)
    if (!std::isfinite(values[i]))
      raise("weight file '", file.path(), "' holds ", values[i], " in tensor '", name,
            "' at element ", index + i,
            ", but weights have to be finite; give those of a run that did not diverge");
}

// Reads the rank's part of a tensor, rounding to the master's dtype before the stored one's.
void readTensor(const SafetensorsFile &file, const std::string &name, const StateTensor &tensor,
                const Part &part, int32_t masterDtype, char *block) {
  const FileTensor &entry = file.tensors().at(name);
  int32_t fileDtype = *parseSafetensorsDtype(entry.dtype);
  int64_t fileSize = dtypeSize(fileDtype), size = dtypeSize(tensor.dtype);
  std::vector<char> raw(piece * 4);
  std::vector<float> values(piece);
  RangeReader reader(file, entry.begin + entry.bytes);
  forEachRun(part, [&](int64_t index, int64_t local, int64_t count) {
    if (fileDtype == tensor.dtype) {
      reader.read(entry.begin + index * fileSize, block + local * size, count * size);
      for (int64_t begin = 0; begin < count; begin += piece) {
        int64_t length = std::min(piece, count - begin);
        toFloat(block + (local + begin) * size, fileDtype, values.data(), length);
        requireFinite(values.data(), length, file, name, index + begin);
      }
      return;
    }
    for (int64_t begin = 0; begin < count; begin += piece) {
      int64_t length = std::min(piece, count - begin);
      reader.read(entry.begin + (index + begin) * fileSize, raw.data(), length * fileSize);
      toFloat(raw.data(), fileDtype, values.data(), length);
      requireFinite(values.data(), length, file, name, index + begin);
      if (masterDtype != ULSC_F32) {
        fromFloat(values.data(), raw.data(), masterDtype, length);
        toFloat(raw.data(), masterDtype, values.data(), length);
      }
      fromFloat(values.data(), block + (local + begin) * size, tensor.dtype, length);
    }
  });
}

} // namespace

void loadWeights(const std::string &path, const Manifest &manifest, const Shape &coordinates,
                 ArenaView &arena) {
  WeightFiles weights;
  openWeights(path, weights);
  std::map<std::string, std::string> names;
  std::string problems = matchNames(manifest, weights, names);
  if (!problems.empty())
    raise("the weights in '", path, "' do not fit model ", manifest.modelName, ":", problems);
  const Stage &stage = manifest.stageOf(coordinates);
  for (const StateTensor &tensor : stage.tensors) {
    if (tensor.role != "parameter" && tensor.role != "master")
      continue;
    const StateTensor *master = stage.find(tensor.parameter, "master");
    const std::string &name = names.at(tensor.parameter);
    readTensor(
        *weights.tensors.at(name), name, tensor, partOf(tensor, manifest.mesh, coordinates),
        master ? master->dtype : ULSC_F32,
        arena.edit(tensor.offset, localElements(tensor, manifest.mesh) * dtypeSize(tensor.dtype)));
  }
  arena.flush();
}

} // namespace ulsc::runtime

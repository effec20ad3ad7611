#include "checkpoint/rank_file.h"

#include "core/error.h"
#include "core/numeric.h"

using nlohmann::json;

namespace ulsc::runtime {

namespace {

std::string sliceName(const StateTensor &tensor, size_t box) {
  return tensor.key() + (box == 0 ? "" : "#" + std::to_string(box));
}

// Where a slice begins in its logical tensor, by its note in the metadata; false if that is no
// sound place.
bool readOffset(const json &note, const Shape &size, const Shape &logicalShape, Shape &offset) {
  if (!note.contains("offset") || !note["offset"].is_array() ||
      note["offset"].size() != logicalShape.size() || size.size() != logicalShape.size())
    return false;
  for (size_t i = 0; i < size.size(); ++i) {
    const json &begin = note["offset"][i];
    if (!begin.is_number_unsigned() || begin.get<uint64_t>() >= (UINT64_C(1) << 60) ||
        begin.get<int64_t>() + size[i] > logicalShape[i])
      return false;
    offset.push_back(begin.get<int64_t>());
  }
  return true;
}

} // namespace

void writeRankFile(FileWriter &writer, const Manifest &manifest, const Shape &coordinates,
                   ArenaView &arena, const TensorFilter &filter) {
  std::vector<TensorHeader> headers;
  std::map<std::string, std::string> metadata;
  std::vector<std::pair<const StateTensor *, Part>> parts;
  for (const StateTensor &tensor : manifest.stageOf(coordinates).tensors) {
    if (!filter(tensor) || !isFirstReplica(tensor, manifest.mesh, coordinates))
      continue;
    Part part = partOf(tensor, manifest.mesh, coordinates);
    for (size_t i = 0; i < part.boxes.size(); ++i) {
      std::string name = sliceName(tensor, i);
      headers.push_back({name, tensor.dtype, part.boxes[i].size});
      json note = {{"tensor", tensor.key()},
                   {"offset", part.boxes[i].begin},
                   {"logical_shape", tensor.logicalShape},
                   {"external_shape", tensor.externalShape}};
      metadata[name] = note.dump();
    }
    parts.emplace_back(&tensor, std::move(part));
  }
  std::string header = safetensorsHeader(headers, metadata);
  writer.write(header.data(), static_cast<int64_t>(header.size()));
  for (const auto &[tensor, part] : parts) {
    int64_t size = dtypeSize(tensor->dtype);
    const char *memory = arena.read(tensor->offset, localElements(*tensor, manifest.mesh) * size);
    forEachRun(part, [&, memory](int64_t, int64_t local, int64_t count) {
      writer.write(memory + local * size, count * size);
    });
  }
}

std::map<std::string, std::vector<SavedSlice>>
readSlices(const SafetensorsFile &file, const std::map<std::string, Shape> &logicalShapes) {
  std::map<std::string, std::vector<SavedSlice>> slices;
  for (const auto &[name, tensor] : file.tensors()) {
    auto text = file.metadata().find(name);
    json note = text == file.metadata().end()
                    ? json()
                    : json::parse(text->second, nullptr, /*allow_exceptions=*/false);
    std::string key = name;
    if (note.is_object() && note.contains("tensor") && note["tensor"].is_string())
      key = note["tensor"].get<std::string>();
    auto logical = logicalShapes.find(key);
    Shape offset;
    if (!note.is_object() || logical == logicalShapes.end() ||
        !readOffset(note, tensor.shape, logical->second, offset))
      raise("'", file.path(), "' has a slice '", name,
            "' that does not fit the checkpoint's state.json; it is damaged, resume from another");
    slices[key].push_back({&file, tensor, offset});
  }
  return slices;
}

int64_t copySlice(const SavedSlice &saved, const Part &part, char *memory, int64_t elementSize) {
  RangeReader reader(*saved.file, saved.tensor.begin + saved.tensor.bytes);
  int64_t copied = 0;
  for (const Box &box : part.boxes) {
    Box common = intersect(box, saved.offset, saved.tensor.shape);
    Shape inFile = common.begin;
    for (size_t i = 0; i < inFile.size(); ++i)
      inFile[i] -= saved.offset[i];
    forEachRun(common.size, layoutAt(saved.tensor.shape, inFile), common.local,
               [&](int64_t from, int64_t to, int64_t count) {
                 reader.read(saved.tensor.begin + from * elementSize, memory + to * elementSize,
                             count * elementSize);
               });
    copied += common.elements();
  }
  return copied;
}

} // namespace ulsc::runtime

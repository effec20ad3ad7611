#include "checkpoint/rank_file.h"

#include "core/error.h"
#include "core/numeric.h"

using nlohmann::json;

namespace ulsc::runtime {

void writeRankFile(FileWriter &writer, const Manifest &manifest, const Shape &coordinates,
                   const char *arena, const TensorFilter &filter) {
  std::vector<TensorHeader> headers;
  std::map<std::string, std::string> metadata;
  std::vector<std::pair<const StateTensor *, Slice>> slices;
  for (const StateTensor &tensor : manifest.tensors) {
    Slice slice = sliceOf(tensor, manifest.mesh, coordinates);
    if (!filter(tensor) || slice.elements() == 0 ||
        !isFirstReplica(tensor, manifest.mesh, coordinates))
      continue;
    headers.push_back({tensor.key(), tensor.dtype, slice.size});
    json note = {{"offset", slice.begin},
                 {"logical_shape", tensor.logicalShape},
                 {"external_shape", tensor.externalShape}};
    metadata[tensor.key()] = note.dump();
    slices.emplace_back(&tensor, slice);
  }
  std::string header = safetensorsHeader(headers, metadata);
  writer.write(header.data(), static_cast<int64_t>(header.size()));
  for (const auto &[tensor, slice] : slices) {
    const char *block = arena + tensor->offset;
    int64_t size = dtypeSize(tensor->dtype);
    forEachRun(slice, [&, block](int64_t, int64_t local, int64_t count) {
      writer.write(block + local * size, count * size);
    });
  }
}

std::map<std::string, SavedSlice> readSlices(const SafetensorsFile &file,
                                             const std::map<std::string, Shape> &logicalShapes) {
  std::map<std::string, SavedSlice> slices;
  for (const auto &[name, tensor] : file.tensors()) {
    auto logical = logicalShapes.find(name);
    auto note = file.metadata().find(name);
    json object = note == file.metadata().end()
                      ? json()
                      : json::parse(note->second, nullptr, /*allow_exceptions=*/false);
    bool isSound = logical != logicalShapes.end() && object.is_object() &&
                   object.contains("offset") && object["offset"].is_array() &&
                   object["offset"].size() == logical->second.size() &&
                   tensor.shape.size() == logical->second.size();
    Shape offset;
    for (size_t i = 0; isSound && i < tensor.shape.size(); ++i) {
      const json &begin = object["offset"][i];
      isSound = begin.is_number_unsigned() && begin.get<uint64_t>() < (UINT64_C(1) << 60) &&
                begin.get<int64_t>() + tensor.shape[i] <= logical->second[i];
      if (isSound)
        offset.push_back(begin.get<int64_t>());
    }
    if (!isSound)
      raise("'", file.path(), "' has a slice of '", name,
            "' that does not fit the checkpoint's state.json; it is damaged, resume from another");
    slices[name] = {&file, tensor, offset};
  }
  return slices;
}

int64_t copySlice(const SavedSlice &saved, const Slice &slice, char *block, int64_t elementSize) {
  Slice common = intersect(slice, saved.offset, saved.tensor.shape);
  if (common.elements() == 0)
    return 0;
  Shape inFile = common.begin, inBlock = common.begin;
  for (size_t i = 0; i < inFile.size(); ++i) {
    inFile[i] -= saved.offset[i];
    inBlock[i] -= slice.begin[i];
  }
  RangeReader reader(*saved.file, saved.tensor.begin + saved.tensor.bytes);
  forEachRun(common.size, layoutAt(saved.tensor.shape, inFile), layoutAt(slice.localShape, inBlock),
             [&](int64_t from, int64_t to, int64_t count) {
               reader.read(saved.tensor.begin + from * elementSize, block + to * elementSize,
                           count * elementSize);
             });
  return common.elements();
}

} // namespace ulsc::runtime

#include "checkpoint/files.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/weights.h"
#include "core/error.h"
#include "core/numeric.h"
#include "core/slice.h"

#include <cstdio>
#include <cstring>

namespace ulsc::runtime {

namespace {

constexpr int64_t messageBytes = int64_t(4) << 20;

// A rank's part as a stream of messages to rank 0, and back into the whole tensor.
void sendPart(Communicator &communicator, const Part &part, const char *block, int64_t size) {
  std::vector<char> message;
  forEachRun(part, [&](int64_t, int64_t local, int64_t count) {
    const char *next = block + local * size;
    for (int64_t left = count * size; left > 0;) {
      int64_t length = std::min(left, messageBytes - static_cast<int64_t>(message.size()));
      message.insert(message.end(), next, next + length);
      next += length;
      left -= length;
      if (static_cast<int64_t>(message.size()) == messageBytes) {
        communicator.send(message.data(), messageBytes, 0);
        message.clear();
      }
    }
  });
  if (!message.empty())
    communicator.send(message.data(), static_cast<int64_t>(message.size()), 0);
}

void receivePart(Communicator &communicator, const Part &part, int source, char *whole,
                 int64_t size) {
  int64_t left = part.elements() * size, used = 0;
  std::vector<char> message;
  forEachRun(part, [&](int64_t index, int64_t, int64_t count) {
    char *target = whole + index * size;
    for (int64_t wanted = count * size; wanted > 0;) {
      if (used == static_cast<int64_t>(message.size())) {
        message.resize(static_cast<size_t>(std::min(left, messageBytes)));
        communicator.receive(message.data(), static_cast<int64_t>(message.size()), source);
        left -= static_cast<int64_t>(message.size());
        used = 0;
      }
      int64_t length = std::min(wanted, static_cast<int64_t>(message.size()) - used);
      std::memcpy(target, message.data() + used, static_cast<size_t>(length));
      target += length;
      used += length;
      wanted -= length;
    }
  });
}

// The whole logical tensor on rank 0; nothing elsewhere. `tensor` is its owner's, so that those who
// send it, which are ranks of that stage, find it in their arenas; rank 0 need not be one.
void gatherTensor(Communicator &communicator, const Manifest &manifest, const StateTensor &tensor,
                  const Shape &coordinates, ArenaView &arena, std::vector<char> &whole) {
  int64_t size = dtypeSize(tensor.dtype);
  bool speaks = isFirstReplica(tensor, manifest.mesh, coordinates);
  const char *block = nullptr;
  if (speaks)
    block = arena.read(tensor.offset, localElements(tensor, manifest.mesh) * size);
  Part own = partOf(tensor, manifest.mesh, coordinates);
  if (communicator.rank() != 0) {
    if (speaks)
      sendPart(communicator, own, block, size);
    return;
  }
  whole.resize(static_cast<size_t>(elementCount(tensor.logicalShape) * size));
  if (speaks)
    forEachRun(own, [&](int64_t index, int64_t local, int64_t count) {
      std::memcpy(whole.data() + index * size, block + local * size,
                  static_cast<size_t>(count * size));
    });
  for (int rank = 1; rank < communicator.ranks(); ++rank) {
    Shape other = manifest.mesh.coordinates(rank);
    if (isFirstReplica(tensor, manifest.mesh, other))
      receivePart(communicator, partOf(tensor, manifest.mesh, other), rank, whole.data(), size);
  }
}

std::string exportName(size_t file, size_t files) {
  char name[64] = "model.safetensors";
  if (files > 1)
    std::snprintf(name, sizeof(name), "model-%05zu-of-%05zu.safetensors", file + 1, files);
  return name;
}

// One file of the export, written on rank 0 while the others send.
void exportFile(Communicator &communicator, const Manifest &manifest, const Shape &coordinates,
                ArenaView &arena, const std::vector<const StateTensor *> &tensors,
                const std::string &path) {
  std::unique_ptr<FileWriter> writer;
  if (communicator.rank() == 0) {
    std::vector<TensorHeader> headers;
    for (const StateTensor *tensor : tensors)
      headers.push_back({tensor->name, tensor->dtype, tensor->externalShape});
    std::string header = safetensorsHeader(headers, {{"format", "pt"}});
    writer = std::make_unique<FileWriter>(path + ".partial");
    writer->write(header.data(), static_cast<int64_t>(header.size()));
  }
  for (const StateTensor *tensor : tensors) {
    std::vector<char> whole;
    gatherTensor(communicator, manifest, *tensor, coordinates, arena, whole);
    if (writer)
      writer->write(whole.data(), static_cast<int64_t>(whole.size()));
  }
  if (writer) {
    writer->finish();
    publishFile(path + ".partial", path);
  }
}

void writeIndex(const std::vector<const StateTensor *> &tensors, const std::vector<size_t> &plan,
                const std::string &directory) {
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  int64_t total = 0;
  size_t next = 0;
  for (size_t file = 0; file < plan.size(); ++file)
    for (size_t i = 0; i < plan[file]; ++i, ++next) {
      map[tensors[next]->name] = exportName(file, plan.size());
      total += elementCount(tensors[next]->externalShape) * dtypeSize(tensors[next]->dtype);
    }
  nlohmann::ordered_json index = {{"metadata", {{"total_size", total}}}, {"weight_map", map}};
  writeFile(directory + "/model.safetensors.index.json", index.dump(2) + "\n");
}

} // namespace

std::vector<size_t> planFiles(const std::vector<int64_t> &sizes, int64_t limit) {
  std::vector<size_t> plan;
  int64_t filled = 0;
  for (int64_t size : sizes) {
    if (plan.empty() || filled + size > limit) {
      plan.push_back(0);
      filled = 0;
    }
    ++plan.back();
    filled += size;
  }
  return plan;
}

void exportWeights(Communicator &communicator, const Manifest &manifest, const Shape &coordinates,
                   ArenaView &arena, const std::string &directory) {
  bool isFirst = communicator.rank() == 0;
  std::vector<const StateTensor *> tensors;
  std::vector<int64_t> sizes;
  for (const StateTensor *tensor : manifest.modelTensors())
    if (tensor->role == "parameter") {
      tensors.push_back(tensor);
      sizes.push_back(elementCount(tensor->externalShape) * dtypeSize(tensor->dtype));
    }
  std::vector<size_t> plan = planFiles(sizes, largestExportFile);
  onAllRanks(communicator, [&] {
    if (!isFirst)
      return;
    makeDirectories(directory);
    if (!manifest.modelConfig.empty())
      writeFile(directory + "/config.json", manifest.modelConfig);
  });
  try {
    size_t next = 0;
    for (size_t file = 0; file < plan.size(); next += plan[file++])
      exportFile(communicator, manifest, coordinates, arena,
                 {tensors.begin() + next, tensors.begin() + next + plan[file]},
                 directory + "/" + exportName(file, plan.size()));
  } catch (const Error &error) {
    endJob("export", error.what()); // the other ranks are sending and can't be told
  }
  // Last, as it promises that all files are there.
  onAllRanks(communicator, [&] {
    if (isFirst && plan.size() > 1)
      writeIndex(tensors, plan, directory);
  });
}

} // namespace ulsc::runtime

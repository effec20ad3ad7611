//===- MemoryMesh.cpp - Meshes as the state's formula knows them ------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "tools/ulsc/MemoryMesh.h"

#include "tools/ulsc/CommandLine.h"
#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace ulsc;
using namespace ulsc::tool;
using llvm::StringRef;
using llvm::Twine;

static constexpr StringRef kAxes[] = {"dp_replicate", "dp_shard", "dp", "tp"};

bool MemoryMesh::has(StringRef axis) const {
  return llvm::any_of(axes, [&](const auto &entry) { return entry.first == axis; });
}

int64_t MemoryMesh::getSize(StringRef axis) const {
  for (auto &[name, size] : axes)
    if (name == axis)
      return size;
  return 1;
}

int64_t MemoryMesh::getDevices() const {
  int64_t devices = 1;
  for (auto &axis : axes)
    devices *= axis.second;
  return devices;
}

int64_t MemoryMesh::getDataRanks() const {
  int64_t ranks = 1;
  for (const std::string &axis : dataAxes)
    ranks *= getSize(axis);
  return ranks;
}

int64_t MemoryMesh::getShards(const memory::StateStrategy &strategy) const {
  int64_t shards = 1;
  for (auto &axis : getStorageAxes(strategy))
    shards *= axis.second;
  return shards;
}

std::vector<std::pair<std::string, int64_t>>
MemoryMesh::getStorageAxes(const memory::StateStrategy &strategy) const {
  std::vector<std::pair<std::string, int64_t>> sizes;
  for (const std::string &axis : strategy.isHybrid ? AxisNames{"dp_shard"} : dataAxes)
    sizes.emplace_back(axis, getSize(axis));
  return sizes;
}

std::string MemoryMesh::describe() const {
  std::string text;
  for (auto &[name, size] : axes)
    text += (text.empty() ? "" : ",") + name + "=" + std::to_string(size);
  return text;
}

std::string MemoryMesh::describeFlat() const {
  return "dp=" + std::to_string(getDataRanks()) +
         (has("tp") ? ",tp=" + std::to_string(getSize("tp")) : "");
}

MemoryMesh ulsc::tool::makeMemoryMesh(const Recipe &recipe) {
  return {recipe.mesh, recipe.getDataAxes()};
}

static bool fail(StringRef text, const Twine &problem) {
  return !reportUsageError("--mesh is \"" + text + "\": " + problem);
}

/// Reads `AXIS=SIZE`; `*` is 0.
static bool addAxis(StringRef text, StringRef part, MemoryMesh &mesh) {
  auto [name, size] = part.trim().split('=');
  int64_t number = 0;
  if (name == "pp")
    return fail(text,
                "stages of a pipeline hold different parameters, which the plan tells: give a "
                "MODEL with --seq N and --batch N");
  if (!llvm::is_contained(kAxes, name))
    return fail(text, "axis \"" + name + "\" is unknown here; expected AXIS=SIZE,... of " +
                          llvm::join(llvm::ArrayRef(kAxes), ", ") + suggestNearest(name, kAxes));
  if (mesh.has(name))
    return fail(text, "axis " + name + " is given twice; keep it once");
  if (size != "*" && (size.getAsInteger(10, number) || number < 1 || number > kMostDevices))
    return fail(text, "axis " + name + " has size \"" + size +
                          "\", expected a whole number from 1 to " + Twine(kMostDevices) +
                          ", or * for the remaining devices");
  mesh.axes.emplace_back(name.str(), number);
  return true;
}

/// Gives the axis `*` its size and holds the product against `devices`.
static bool complete(StringRef text, int64_t devices, bool isOpen, MemoryMesh &mesh) {
  int64_t product = 1, *rest = nullptr;
  for (auto &[name, size] : mesh.axes) {
    bool isSought = isOpen && (name == "dp" || name == "dp_shard");
    if (isSought && size > 1)
      return fail(text, "--min-devices looks for the size of " + name + "; write " + name +
                            "=* or leave it out");
    if (size == 0 && rest)
      return fail(text, "two axes have size *; only one may");
    if (size == 0 && isOpen && !isSought)
      return fail(text, "axis " + name + " has size *, but --min-devices looks for that of dp; " +
                            "give " + name + " a size");
    if (size == 0)
      rest = &size;
    product = std::min(product * std::max<int64_t>(size, 1), kMostDevices + 1);
  }
  if (product > kMostDevices)
    return fail(text, "has more than " + Twine(kMostDevices) + " devices; make an axis smaller");
  if (rest && isOpen)
    *rest = 1;
  else if (rest && !devices)
    return fail(text, "size * needs --devices N");
  else if (rest && devices % product != 0)
    return fail(text, "--devices " + Twine(devices) + " is no multiple of the other axes' " +
                          Twine(product) + "; the nearest that is one is " +
                          Twine(std::max(product, devices / product * product)));
  else if (rest)
    *rest = devices / product;
  else if (devices && devices != product)
    return fail(text, "has " + Twine(product) + " devices, but --devices says " + Twine(devices) +
                          "; give one axis the size * or make them agree");
  return true;
}

std::optional<MemoryMesh> ulsc::tool::parseMemoryMesh(StringRef text, int64_t devices,
                                                      bool isOpen) {
  MemoryMesh mesh, ordered;
  llvm::SmallVector<StringRef> parts;
  if (!text.empty())
    text.split(parts, ',');
  else
    mesh.axes.emplace_back("dp", std::max<int64_t>(devices, 1));
  for (StringRef part : parts)
    if (!addAxis(text, part, mesh))
      return std::nullopt;
  if (!complete(text, devices, isOpen, mesh))
    return std::nullopt;
  for (StringRef name : kAxes)
    if (mesh.has(name)) {
      ordered.axes.emplace_back(name.str(), mesh.getSize(name));
      if (name != "tp")
        ordered.dataAxes.push_back(name.str());
    }
  return ordered;
}

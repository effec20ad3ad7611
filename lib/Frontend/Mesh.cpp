//===- Mesh.cpp - Meshes as users write them
//---------------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "lib/Frontend/RecipeParts.h"

#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"

#include <iterator>
#include <set>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::frontend;

namespace {
/// An axis with a meaning of its own.
struct KnownAxis {
  StringRef name;
  /// What it is for, where that is not supported yet.
  StringRef later;
};
} // namespace

/// Outermost to innermost, so that the ranks of a `tp` group are neighbours. Names of a user's own
/// go before `tp`.
static const KnownAxis kCanonical[] = {{"pp", ""}, {"dp_replicate", ""},          {"dp_shard", ""},
                                       {"dp", ""}, {"cp", "context parallelism"}, {"tp", ""}};
static constexpr unsigned kPlaceOfOthers = 5;
static constexpr int64_t kMaxDevices = int64_t(1) << 24;

static unsigned getPlace(StringRef axis) {
  for (auto [place, known] : llvm::enumerate(kCanonical))
    if (known.name == axis)
      return place < kPlaceOfOthers ? place : place + 1;
  return kPlaceOfOthers;
}

static bool isAxisName(StringRef name) {
  return !name.empty() && (llvm::isAlpha(name[0]) || name[0] == '_') &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

std::optional<int64_t> ulsc::frontend::parseAxisSize(Location location, StringRef axis,
                                                     StringRef text) {
  int64_t size = 0;
  if (text == "*")
    return 0;
  if (text.getAsInteger(10, size) || size < 1 || size > kMaxDevices) {
    emitError(location) << "mesh axis " << axis << " has size \"" << text
                        << "\", expected a whole number from 1 to " << kMaxDevices
                        << ", or * for the remaining devices";
    return std::nullopt;
  }
  return size;
}

std::optional<MeshText> ulsc::frontend::parseMesh(Location location, StringRef text) {
  MeshText mesh;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, size] = part.trim().split('=');
    if (size.empty()) {
      emitError(location) << "mesh \"" << text << "\" has the part \"" << part
                          << "\", expected AXIS=SIZE as in dp=2,tp=2";
      return std::nullopt;
    }
    std::optional<int64_t> number = parseAxisSize(location, name, size);
    if (!number)
      return std::nullopt;
    mesh.emplace_back(name.str(), *number);
  }
  return mesh;
}

static bool checkAxes(Location location, const MeshText &mesh) {
  bool isLegal = true;
  for (auto [i, axis] : llvm::enumerate(mesh)) {
    StringRef name = axis.first;
    if (!isAxisName(name)) {
      emitError(location) << "\"" << name
                          << "\" is no name of a mesh axis; expected letters, digits and _";
      isLegal = false;
    }
    if (name == "sp" || name == "ep") {
      emitError(location) << "mesh axis " << name << ": " << name
                          << " is never an axis of its own, "
                          << (name == "sp"
                                  ? "it shares tp; as mesh tp=2 with strategy tp+sp"
                                  : "experts share the axes dp and tp, and is not supported yet");
      isLegal = false;
    }
    for (const KnownAxis &known : kCanonical)
      if (known.name == name && !known.later.empty() && axis.second != 1) {
        emitError(location)
            << "mesh axis " << name << " (" << known.later
            << ") is not supported yet; supported are pp, dp, dp_replicate, dp_shard and tp";
        isLegal = false;
      }
    for (auto &other : ArrayRef(mesh).take_front(i))
      if (other.first == name) {
        emitError(location) << "mesh axis " << name << " is given twice";
        isLegal = false;
      }
  }
  return isLegal;
}

/// Gives the axis `*` the devices that the others leave.
static bool resolveRest(Location location, MeshText &mesh, int64_t devices) {
  int64_t product = 1;
  std::string rest;
  for (auto &[name, size] : mesh) {
    if (size == 0 && !rest.empty()) {
      emitError(location) << "mesh axes " << rest << " and " << name
                          << " both have size *; only one may";
      return false;
    }
    if (size == 0)
      rest = name;
    else
      product = std::min(product * size, kMaxDevices + 1);
  }
  if (product > kMaxDevices) {
    emitError(location) << "the mesh has more than " << kMaxDevices << " devices";
    return false;
  }
  if (rest.empty()) {
    if (!devices || devices == product)
      return true;
    emitError(location) << "the mesh has " << product << " devices, but --devices says " << devices
                        << "; give one axis the size * or make them agree";
    return false;
  }
  if (!devices) {
    emitError(location) << "mesh axis " << rest << " has size *, which needs --devices";
    return false;
  }
  if (devices % product != 0 || devices < product) {
    emitError(location) << "--devices " << devices << " is no multiple of the other axes' product "
                        << product << "; the nearest that is one is "
                        << std::max(product, devices / product * product);
    return false;
  }
  for (auto &[name, size] : mesh)
    if (size == 0)
      size = devices / product;
  return true;
}

static bool applyOrder(Location location, MeshText &mesh, StringRef order) {
  if (order.empty()) {
    MeshText sorted;
    for (unsigned place = 0; place <= std::size(kCanonical); ++place)
      llvm::copy_if(mesh, std::back_inserter(sorted),
                    [&](auto &axis) { return getPlace(axis.first) == place; });
    mesh = std::move(sorted);
    return true;
  }
  SmallVector<StringRef> names;
  order.split(names, ',');
  MeshText ordered;
  for (StringRef name : names)
    for (auto &axis : mesh)
      if (axis.first == name.trim())
        ordered.push_back(axis);
  std::set<std::string> distinct;
  for (auto &axis : ordered)
    distinct.insert(axis.first);
  if (ordered.size() != mesh.size() || names.size() != mesh.size() ||
      distinct.size() != mesh.size()) {
    std::string list;
    for (auto &axis : mesh)
      list += (list.empty() ? "" : ",") + axis.first;
    emitError(location) << "the mesh order \"" << order
                        << "\" must name each axis of the mesh once, as in " << list;
    return false;
  }
  for (auto &axis : llvm::drop_begin(ordered))
    if (axis.first == "pp") {
      emitError(location) << "the mesh order \"" << order
                          << "\" has pp behind another axis; it comes first, for its ranks run "
                             "different programs";
      return false;
    }
  mesh = std::move(ordered);
  return true;
}

std::optional<MeshText> ulsc::frontend::completeMesh(Location location, Location orderLocation,
                                                     MeshText mesh, int64_t devices,
                                                     StringRef order) {
  if (mesh.empty())
    mesh.emplace_back("dp", devices ? devices : 1);
  if (!checkAxes(location, mesh) || !resolveRest(location, mesh, devices) ||
      !applyOrder(orderLocation, mesh, order))
    return std::nullopt;
  return mesh;
}

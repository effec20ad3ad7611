//===- Divisibility.cpp - All sizes that a mesh does not divide, as one error
//------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "passes/Import/Divisibility.h"

#include <numeric>

using namespace mlir;
using namespace ulsc;

/// `kv_heads = 3`; heads that are stored in groups say so, since only whole groups can be cut.
static std::string describeSize(uls::ParamOp param, int64_t dim) {
  auto axes = llvm::to_vector(param.getAxes().getAsValueRange<StringAttr>());
  ArrayRef<int64_t> shape = param.getTensorType().getShape();
  std::string text = (axes[dim] + " = ").str();
  if (axes[dim] == "heads" && dim + 1 < int64_t(axes.size()) && axes[dim + 1] == "head_group")
    return text + std::to_string(shape[dim] * shape[dim + 1]) + " in " +
           std::to_string(shape[dim]) + " groups, one a key/value head,";
  return text + std::to_string(shape[dim]);
}

void Divisibility::add(uls::ParamOp param, int64_t dim, const AxisNames &axes, Origins origins) {
  add(describeSize(param, dim), param.getTensorType().getDimSize(dim), param.getSymName(), axes,
      origins);
}

void Divisibility::addSequence(int64_t length, const AxisRule &rule) {
  add("seq = " + std::to_string(length), length, "--seq", rule.meshAxes,
      {{rule.meshAxes.front(), rule.origin}});
}

void Divisibility::add(const std::string &what, int64_t size, StringRef where,
                       const AxisNames &axes, Origins origins) {
  int64_t ranks = 1;
  std::string mesh;
  for (const std::string &axis : axes) {
    ranks *= recipe.getAxisSize(axis);
    mesh += (mesh.empty() ? "" : "×") + axis + "=" + std::to_string(recipe.getAxisSize(axis));
  }
  bool divides = size % ranks == 0;
  for (const std::string &axis : axes) {
    auto &[divisor, isBad] = common[axis];
    divisor = std::gcd(divisor, size);
    isBad |= !divides;
  }
  if (divides)
    return;
  Offender &offender = offenders[what + " by " + mesh];
  if (offender.tensors++ == 0) {
    offender.first = where.str();
    for (auto &[axis, origin] : origins)
      if (axis == axes.front())
        offender.origin = origin;
  }
}

LogicalResult Divisibility::report(Operation *where) const {
  if (offenders.empty())
    return success();
  InFlightDiagnostic error = emitError(where->getLoc());
  error << offenders.size() << (offenders.size() == 1 ? " size is" : " sizes are")
        << " not divisible by the mesh: ";
  bool isFirst = true;
  for (auto &[what, offender] : offenders) {
    error << (isFirst ? "" : "; ") << what << " (" << offender.first;
    if (offender.tensors > 1)
      error << " and " << offender.tensors - 1 << " more";
    error << ", " << offender.origin << ")";
    isFirst = false;
  }
  for (auto &[axis, entry] : common) {
    if (!entry.second)
      continue;
    error << "; legal for " << axis << ":";
    int64_t listed = 0;
    for (int64_t size = 1; size <= entry.first && listed < 16; ++size)
      if (entry.first % size == 0)
        error << (listed++ ? ", " : " ") << size;
  }
  return error;
}

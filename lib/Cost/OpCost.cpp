//===- OpCost.cpp - What an op computes and how long it takes ---------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Cost/OpCost.h"

#include "dialects/Uls/Uls.h"

using namespace mlir;
using namespace ulsc;

/// A multiplication and an addition for each combination of the letters' positions.
static double countEinsum(uls::EinsumOp op) {
  double flops = 2;
  std::string letters = (op.getLhsLetters() + op.getRhsLetters()).str();
  for (size_t i = 0; i < letters.size(); ++i)
    if (letters.find(letters[i]) == i)
      flops *= double(op.getSize(letters[i]));
  return flops;
}

/// Two products, scores and values.
static double countAttention(uls::AttentionOp op) {
  auto query = llvm::cast<RankedTensorType>(op.getQuery().getType());
  auto key = llvm::cast<RankedTensorType>(op.getKey().getType());
  double products = double(query.getNumElements()) * double(key.getDimSize(1));
  return (op.getCausal() ? 2.0 : 4.0) * products;
}

double ulsc::cost::countFlops(Operation *op) {
  if (auto einsum = llvm::dyn_cast<uls::EinsumOp>(op))
    return countEinsum(einsum);
  if (auto attention = llvm::dyn_cast<uls::AttentionOp>(op))
    return countAttention(attention);
  return 0;
}

static double getBytes(TypeRange types) {
  double bytes = 0;
  for (Type type : types)
    if (auto tensor = llvm::dyn_cast<RankedTensorType>(type))
      bytes += double(tensor.getNumElements()) * tensor.getElementTypeBitWidth() / 8;
  return bytes;
}

/// The sizes of the mesh's axes, each cut where the parts that `names` has of it begin and end;
/// what is named is in `mask`.
static SmallVector<int64_t> cutAxes(dist::MeshAttr mesh, ArrayAttr names, cost::AxisMask &mask) {
  SmallVector<int64_t> sizes;
  for (auto [i, axis] : llvm::enumerate(mesh.getAxes())) {
    SmallVector<dist::AxisPart> parts;
    for (auto name : names.getAsRange<StringAttr>())
      if (auto part = mesh.findAxis(name.getValue()); part && part->position == i)
        parts.push_back(*part);
    llvm::sort(parts,
               [](const dist::AxisPart &a, const dist::AxisPart &b) { return a.minor > b.minor; });
    int64_t rest = axis.getSize();
    for (const dist::AxisPart &part : parts) {
      sizes.push_back(rest / (part.size * part.minor));
      mask |= cost::AxisMask(1) << sizes.size();
      sizes.push_back(part.size);
      rest = part.minor;
    }
    sizes.push_back(rest);
  }
  return sizes;
}

double ulsc::cost::predictUs(dist::CollectiveOpInterface op, dist::MeshAttr mesh,
                             const Cluster &cluster) {
  AxisMask mask = 0;
  SmallVector<int64_t> sizes = cutAxes(mesh, op.getAxes(), mask);
  CommunicationCost costs(cluster, sizes);
  StringRef kind = op.getKind();
  double in = getBytes(op.getInputs().getTypes()), out = getBytes(op.getOutputs().getTypes());
  if (kind == "all_reduce")
    return costs.allReduce(mask, in);
  if (kind == "all_gather")
    return costs.allGather(mask, out);
  if (kind == "reduce_scatter")
    return costs.reduceScatter(mask, in);
  if (kind == "all_to_all")
    return costs.allToAll(mask, in);
  // Of a message each side has one end.
  return costs.permute(mask, std::max(in, out));
}

double ulsc::cost::predictUs(Operation *op, const Cluster &cluster) {
  if (auto collective = llvm::dyn_cast<dist::CollectiveOpInterface>(op)) {
    auto mesh = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(op, collective.getMeshAttr());
    return mesh ? predictUs(collective, mesh.getMesh(), cluster) : 0;
  }
  if (llvm::isa<uls::ReshapeOp, uls::ConstantOp>(op))
    return 0;
  // 1 TFLOP/s is 1e6 operations a microsecond, 1 GB/s 1e3 bytes.
  double moved = getBytes(op->getOperandTypes()) + getBytes(op->getResultTypes());
  return std::max(countFlops(op) / (cluster.peakTflops * 1e6),
                  moved / (cluster.memoryBandwidthGBs * 1e3));
}

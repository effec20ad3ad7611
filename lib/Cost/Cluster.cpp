//===- Cluster.cpp - What communication costs on a cluster
//-------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Cost/Cluster.h"

#include "llvm/Support/MathExtras.h"

using namespace ulsc;
using namespace ulsc::cost;

Cluster Cluster::getDefault() {
  return {{{"node", 8, 3.0, 300.0}, {"network", 0, 12.0, 25.0}}, 2000.0, 300.0};
}

static llvm::SmallVector<int64_t> getSizes(dist::MeshAttr mesh) {
  llvm::SmallVector<int64_t> sizes;
  for (dist::MeshAxisAttr axis : mesh.getAxes())
    sizes.push_back(axis.getSize());
  return sizes;
}

CommunicationCost::CommunicationCost(Cluster cluster, dist::MeshAttr mesh)
    : CommunicationCost(std::move(cluster), getSizes(mesh)) {}

CommunicationCost::CommunicationCost(Cluster cluster, llvm::ArrayRef<int64_t> sizes)
    : cluster(std::move(cluster)), sizes(sizes) {
  strides.assign(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
}

int64_t CommunicationCost::getGroupSize(AxisMask axes) const {
  int64_t size = 1;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (axes & (AxisMask(1) << i))
      size *= sizes[i];
  return size;
}

/// The innermost level whose units hold the whole group: neighbours along an axis are `stride`
/// devices apart.
const ClusterLevel &CommunicationCost::levelOf(AxisMask axes) const {
  int64_t extent = 1;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (axes & (AxisMask(1) << i))
      extent = std::max(extent, strides[i] * sizes[i]);
  for (const ClusterLevel &level : llvm::ArrayRef(cluster.levels).drop_back())
    if (extent <= level.devices)
      return level;
  return cluster.levels.back();
}

/// Bytes over a link in microseconds: 1 GB/s is 1e3 bytes a microsecond.
static double transfer(double bytes, double bandwidthGBs) { return bytes / (bandwidthGBs * 1e3); }

/// What starting a collective costs beside its first byte's way: one of two axes beats two of one.
static constexpr double kLaunchUs = 1.0;

/// Rings move (n-1)/n of the data once; latency grows with the logarithm, as trees and pipelining
/// have it.
static double ring(const ClusterLevel &level, int64_t n, double bytes) {
  if (n <= 1)
    return 0.0;
  return kLaunchUs + level.latencyUs * llvm::Log2_64_Ceil(n) +
         transfer(bytes * double(n - 1) / double(n), level.bandwidthGBs);
}

double CommunicationCost::allReduce(AxisMask axes, double bytes) const {
  return 2.0 * ring(levelOf(axes), getGroupSize(axes), bytes);
}
double CommunicationCost::allGather(AxisMask axes, double bytes) const {
  return ring(levelOf(axes), getGroupSize(axes), bytes);
}
double CommunicationCost::reduceScatter(AxisMask axes, double bytes) const {
  return ring(levelOf(axes), getGroupSize(axes), bytes);
}
double CommunicationCost::allToAll(AxisMask axes, double bytes) const {
  return ring(levelOf(axes), getGroupSize(axes), bytes);
}
double CommunicationCost::permute(AxisMask axes, double bytes) const {
  const ClusterLevel &level = levelOf(axes);
  return kLaunchUs + level.latencyUs + transfer(bytes, level.bandwidthGBs);
}
double CommunicationCost::copy(double bytes) const {
  return 0.1 + transfer(bytes, cluster.memoryBandwidthGBs);
}
double CommunicationCost::compute(double flops) const { return flops / (cluster.peakTflops * 1e6); }

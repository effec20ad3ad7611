//===- Cluster.h - What communication costs on a cluster -------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// One description of a cluster and one way to price collectives on it, for every decision that
/// weighs communication.
///
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_COST_CLUSTER_H
#define ULSC_COST_CLUSTER_H

#include "dialects/Dist/Dist.h"

#include <string>

namespace ulsc::cost {

/// Devices that are joined by one kind of link.
struct ClusterLevel {
  std::string name;
  /// Devices inside one unit of this level; the outermost level holds any number.
  int64_t devices;
  double latencyUs;
  /// One direction, per device.
  double bandwidthGBs;
};

struct Cluster {
  /// Innermost first.
  llvm::SmallVector<ClusterLevel, 3> levels;
  /// For copies inside a device.
  double memoryBandwidthGBs;
  double peakTflops;

  /// Nodes of eight devices on a fast fabric, joined by a network.
  static Cluster getDefault();
};

/// Bit i stands for axis i of the mesh, major to minor.
using AxisMask = uint32_t;

/// Predicted time of collectives over axes of one mesh, in microseconds.
class CommunicationCost {
public:
  CommunicationCost(Cluster cluster, dist::MeshAttr mesh);
  /// Of axes of `sizes`, major to minor.
  CommunicationCost(Cluster cluster, llvm::ArrayRef<int64_t> sizes);

  int64_t getGroupSize(AxisMask axes) const;
  /// `bytes` is one rank's operand.
  double allReduce(AxisMask axes, double bytes) const;
  /// `bytes` is one rank's result.
  double allGather(AxisMask axes, double bytes) const;
  /// `bytes` is one rank's operand.
  double reduceScatter(AxisMask axes, double bytes) const;
  /// `bytes` is one rank's operand.
  double allToAll(AxisMask axes, double bytes) const;
  double permute(AxisMask axes, double bytes) const;
  /// A copy on the device.
  double copy(double bytes) const;
  /// Arithmetic at the peak rate.
  double compute(double flops) const;

private:
  const ClusterLevel &levelOf(AxisMask axes) const;

  Cluster cluster;
  llvm::SmallVector<int64_t> sizes, strides;
};

} // namespace ulsc::cost

#endif // ULSC_COST_CLUSTER_H

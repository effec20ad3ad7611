//===- MinCut.h - Minimum cut of a small directed network -------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_MINCUT_H
#define ULSC_MINCUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"

#include <cstdint>
#include <vector>

namespace ulsc {

/// A network with integer capacities whose minimum cut is found by Dinic's algorithm (Dinic 1970).
class MinCut {
public:
  static constexpr int64_t kInfinite = int64_t(1) << 60;

  /// Adds a node and returns its index.
  unsigned addNode();

  /// Adds an edge of `capacity` (at most kInfinite).
  void addEdge(unsigned from, unsigned to, int64_t capacity);

  /// Finds a minimum cut between `source` and `sink` and returns its value, kInfinite or more if
  /// none is finite. Of all minimum cuts it is the one nearest the sink.
  int64_t solve(unsigned source, unsigned sink);

  /// After `solve`: whether `node` lies on the source's side.
  bool isSourceSide(unsigned node) const { return !reachesSink.test(node); }

private:
  struct Edge {
    unsigned to;
    int64_t capacity;
  };
  bool buildLevels(unsigned source, unsigned sink);
  int64_t augment(unsigned node, unsigned sink, int64_t limit);

  /// Edge i and i ^ 1 are each other's reverse.
  std::vector<Edge> edges;
  std::vector<std::vector<unsigned>> outgoing;
  std::vector<int> level;
  std::vector<unsigned> next;
  llvm::BitVector reachesSink;
};

} // namespace ulsc

#endif // ULSC_MINCUT_H

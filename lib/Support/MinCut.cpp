//===- MinCut.cpp - Minimum cut of a small directed network -----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/MinCut.h"

#include <algorithm>
#include <queue>

using namespace ulsc;

unsigned MinCut::addNode() {
  outgoing.emplace_back();
  return outgoing.size() - 1;
}

void MinCut::addEdge(unsigned from, unsigned to, int64_t capacity) {
  outgoing[from].push_back(edges.size());
  edges.push_back({to, capacity});
  outgoing[to].push_back(edges.size());
  edges.push_back({from, 0});
}

bool MinCut::buildLevels(unsigned source, unsigned sink) {
  level.assign(outgoing.size(), -1);
  level[source] = 0;
  std::queue<unsigned> queue;
  queue.push(source);
  while (!queue.empty()) {
    unsigned node = queue.front();
    queue.pop();
    for (unsigned index : outgoing[node]) {
      const Edge &edge = edges[index];
      if (edge.capacity > 0 && level[edge.to] < 0) {
        level[edge.to] = level[node] + 1;
        queue.push(edge.to);
      }
    }
  }
  return level[sink] >= 0;
}

int64_t MinCut::augment(unsigned node, unsigned sink, int64_t limit) {
  if (node == sink)
    return limit;
  for (unsigned &i = next[node]; i < outgoing[node].size(); ++i) {
    unsigned index = outgoing[node][i];
    unsigned to = edges[index].to;
    if (edges[index].capacity <= 0 || level[to] != level[node] + 1)
      continue;
    if (int64_t flow = augment(to, sink, std::min(limit, edges[index].capacity))) {
      edges[index].capacity -= flow;
      edges[index ^ 1].capacity += flow;
      return flow;
    }
  }
  return 0;
}

int64_t MinCut::solve(unsigned source, unsigned sink) {
  int64_t total = 0;
  while (total < kInfinite && buildLevels(source, sink)) {
    next.assign(outgoing.size(), 0);
    while (int64_t flow = augment(source, sink, kInfinite)) {
      total += flow;
      if (total >= kInfinite)
        break;
    }
  }
  // Nodes that still reach the sink in the residual network.
  reachesSink = llvm::BitVector(outgoing.size());
  std::queue<unsigned> queue;
  reachesSink.set(sink);
  queue.push(sink);
  while (!queue.empty()) {
    unsigned node = queue.front();
    queue.pop();
    for (unsigned index : outgoing[node]) {
      unsigned from = edges[index].to;
      if (edges[index ^ 1].capacity > 0 && !reachesSink.test(from)) {
        reachesSink.set(from);
        queue.push(from);
      }
    }
  }
  return total;
}

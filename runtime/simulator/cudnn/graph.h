// What finished descriptors stand for: tensors, operations, graphs of them, and ways to execute
// one.
#ifndef ULSC_RUNTIME_SIMULATOR_CUDNN_GRAPH_H
#define ULSC_RUNTIME_SIMULATOR_CUDNN_GRAPH_H

#include "simulator/cudnn/refusal.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ulsc::simulator {

using Sizes = std::array<int64_t, 4>;

struct Tensor {
  int64_t id = 0;
  uint32_t type = cudnn::DataF32;
  Sizes sizes{}, strides{}; ///< elements
  int64_t alignment = 1;    ///< bytes
  bool isVirtual = false;   ///< between operations, without memory
  bool isByValue = false;   ///< one element on the host

  bool isInMemory() const { return !isVirtual && !isByValue; }
  int64_t elements() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
  int64_t elementBytes() const { return type == cudnn::DataF32 ? 4 : 2; }
  int64_t bytes() const { return elements() * elementBytes(); }
  /// "tensor 3 of bf16 2x4x32x64"
  std::string describe() const;
};

/// What a pointwise, matmul or reduction description says.
struct Computation {
  uint32_t mode = 0; ///< PointwiseMode or Reduction
  int64_t axis = -1;
};

struct Node {
  enum Kind { Matmul, Pointwise, Reduce, Reshape };
  Kind kind;
  Computation computation;
  std::vector<std::shared_ptr<const Tensor>> inputs; ///< A and B; X, B and T; X
  std::shared_ptr<const Tensor> output;

  /// Whether the operands' sizes go together.
  Outcome check() const;
  /// "pointwise 13 (tensor 1003 of …)"
  std::string describe() const;
};

class Graph {
public:
  /// Orders the nodes; refuses tensors that are made twice, or read and never made.
  static Outcome make(std::vector<Node> nodes, Graph &graph);

  std::vector<Node> nodes; ///< each after those that make its inputs
  /// In memory: those that nodes read and none makes, and those that nodes make.
  std::vector<std::shared_ptr<const Tensor>> reads, writes;
  std::vector<std::shared_ptr<const Tensor>> values; ///< by value

  int matmuls() const;
};

/// One way to execute a graph.
struct Config {
  std::shared_ptr<const Graph> graph;
  int64_t workspaceBytes = 0;
};

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUDNN_GRAPH_H

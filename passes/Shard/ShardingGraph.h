//===- ShardingGraph.h - Values that lie alike and ops that relate them -----------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SHARD_SHARDINGGRAPH_H
#define ULSC_PASSES_SHARD_SHARDINGGRAPH_H

#include "dialects/Uls/Uls.h"
#include "passes/Shard/FactorAssignment.h"

#include "mlir/IR/BuiltinOps.h"

#include <deque>

namespace ulsc::shard {

/// Where one axis of a class of values came from.
struct Origin {
  uint8_t axis;
  /// The user's annotation.
  std::string annotation;
  /// The op along which propagation brought it; empty at the annotation itself.
  std::string edge;
  /// User priority, 0 being the strongest.
  uint8_t priority = 0;
};

/// A class of values with one layout: a block argument or result with what call sites pass and
/// receive, what a loop carries, or just one value.
struct Node {
  mlir::RankedTensorType type;
  Layout layout;
  llvm::SmallVector<bool, 4> open;
  /// The round of user priorities from which a dimension's axes propagate.
  llvm::SmallVector<int64_t, 4> activeFrom;
  AxisMask replicated = 0;
  /// Logical axis names of dimensions, where known.
  llvm::SmallVector<std::string, 4> names;
  llvm::SmallVector<Origin, 2> origins;
  /// Locations of the annotation, for messages.
  std::optional<mlir::Location> seed;

  const Origin *getOrigin(unsigned axis) const;
};

/// An op's rule over classes. Tensors without a class (scalars of other types) have index −1.
struct Edge {
  mlir::Operation *op;
  dist::ShardingRule rule;
  llvm::SmallVector<int64_t, 4> operands, results;
  /// Every tensor has the same dimensions: such ops propagate first.
  bool isElementwise = false;
};

/// Mesh axes over which the batch is distributed (`data_axes` of the module's `uls.batch`), and
/// those over which the sequence is between blocks (`seq` of its `uls.rules`).
llvm::SmallVector<mlir::StringAttr> readDataAxes(mlir::ModuleOp module);
llvm::SmallVector<mlir::StringAttr> readSequenceAxes(mlir::ModuleOp module);

/// A splat of floating-point zeros: a summand of anything.
bool isZeroConstant(mlir::Operation *op);

class ShardingGraph {
public:
  ShardingGraph(mlir::ModuleOp module, const Mesh &mesh) : module(module), mesh(mesh) {}

  /// Makes classes and edges and applies annotations.
  mlir::LogicalResult build();

  /// The class of a value, or −1 when it is not a ranked tensor.
  int64_t find(mlir::Value value);
  /// The class of a function's result.
  int64_t findResult(mlir::Operation *function, unsigned index);
  Node &operator[](int64_t id) { return nodes[id]; }
  llvm::MutableArrayRef<Edge> getEdges() { return edges; }
  int64_t getNumRounds() const { return priorities.size(); }
  /// `isFinal`: propagation is over, tensors take no more axes.
  OpTensors getTensors(const Edge &edge, bool isFinal);
  /// The functions that are sharded, callees before callers.
  llvm::ArrayRef<mlir::FunctionOpInterface> getFunctions() const { return functions; }

private:
  int64_t root(int64_t id);
  int64_t create(mlir::Type type);
  void unite(int64_t a, int64_t b);
  void link(mlir::Operation *op);
  void linkCall(uls::CallOp op);
  void linkBackward(uls::BackwardOp op);
  void linkLoop(uls::MicrobatchesOp op);
  void linkJoint(uls::BlockOp block);
  void linkYield(mlir::Operation *op, unsigned firstResult);
  void addEdge(mlir::Operation *op, dist::ShardingRule rule, llvm::ArrayRef<int64_t> operands,
               llvm::ArrayRef<int64_t> results);
  mlir::LogicalResult collectPriorities();
  void forEachAnnotation(llvm::function_ref<void(int64_t, dist::ShardingAttr, mlir::DictionaryAttr,
                                                 mlir::Location, llvm::StringRef)>
                             callback);
  mlir::LogicalResult seed();
  void seedNode(int64_t id, dist::ShardingAttr sharding, mlir::DictionaryAttr origins,
                mlir::Location loc, llvm::StringRef annotation);
  void nameDimensions();

  mlir::ModuleOp module;
  const Mesh &mesh;
  mlir::SymbolTableCollection symbols;
  llvm::SmallVector<mlir::FunctionOpInterface> functions;
  /// Grows without moving what it holds.
  std::deque<Node> nodes;
  std::vector<int64_t> parents;
  llvm::DenseMap<mlir::Value, int64_t> values;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, int64_t> functionResults;
  std::vector<Edge> edges;
  /// Those of annotations, strongest first: a round of propagation each.
  llvm::SmallVector<int64_t> priorities{0};
};

} // namespace ulsc::shard

#endif // ULSC_PASSES_SHARD_SHARDINGGRAPH_H

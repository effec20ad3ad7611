//===- PropagateShardings.cpp - Gives every value a sharding
//-------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Shard/Passes.h"
#include "passes/Shard/PendingReductions.h"
#include "passes/Shard/Propagation.h"

#include "llvm/ADT/STLExtras.h"

namespace ulsc {
#define GEN_PASS_DEF_PROPAGATESHARDINGSPASS
#include "passes/Shard/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::shard;

namespace {
/// Writes the outcome as attributes.
class Writer {
public:
  Writer(ShardingGraph &graph, PendingReductions &pending, const Mesh &mesh)
      : graph(graph), pending(pending), mesh(mesh), builder(mesh.attr.getContext()) {}

  void write(FunctionOpInterface function) {
    for (BlockArgument argument : function.getArguments())
      if (graph.find(argument) >= 0) {
        unsigned i = argument.getArgNumber();
        function.setArgAttr(i, dist::DistDialect::kShardingAttrName,
                            getSharding(graph.find(argument), 0));
        function.removeArgAttr(i, "dist.origin");
        if (DictionaryAttr origins = getOrigins(graph.find(argument)); !origins.empty())
          function.setArgAttr(i, "dist.origins", origins);
      }
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (int64_t id = graph.findResult(function, i); id >= 0)
        function.setResultAttr(i, dist::DistDialect::kShardingAttrName,
                               getSharding(id, pending.getResultSum(function, i)));
    function.getFunctionBody().walk([&](Operation *op) { write(op); });
  }

private:
  void write(Operation *op) {
    if (op->getNumResults() == 0)
      return;
    SmallVector<Attribute> shardings, origins, causes;
    bool hasSharding = false, hasOrigin = false, hasCause = false;
    for (Value result : op->getResults()) {
      int64_t id = graph.find(result);
      shardings.push_back(id < 0 ? Attribute(builder.getUnitAttr())
                                 : getSharding(id, pending.getSum(result)));
      origins.push_back(id < 0 ? builder.getDictionaryAttr({}) : getOrigins(id));
      causes.push_back(getCauses(result));
      hasSharding |= id >= 0;
      hasOrigin |= !llvm::cast<DictionaryAttr>(origins.back()).empty();
      hasCause |= !llvm::cast<DictionaryAttr>(causes.back()).empty();
    }
    if (hasSharding)
      op->setAttr(dist::DistDialect::kShardingsAttrName, builder.getArrayAttr(shardings));
    if (hasOrigin)
      op->setAttr("dist.origins", builder.getArrayAttr(origins));
    if (hasCause)
      op->setAttr("dist.causes", builder.getArrayAttr(causes));
  }

  dist::ShardingAttr getSharding(int64_t id, AxisMask sum) {
    Layout layout = graph[id].layout.withoutAxes(sum);
    layout.sum = sum;
    return mesh.write(layout);
  }

  /// Of axes that the value really has: "rule mlp→tp, by uls.einsum at model.layers.*.mlp.up_proj".
  DictionaryAttr getOrigins(int64_t id) {
    SmallVector<NamedAttribute> entries;
    AxisMask used = graph[id].layout.getDimMask();
    for (const Origin &origin : graph[id].origins)
      if (used & maskOf({origin.axis})) {
        used &= ~maskOf({origin.axis});
        std::string text = origin.annotation + (origin.edge.empty() ? "" : ", " + origin.edge);
        entries.push_back({mesh.getAxisName(origin.axis), builder.getStringAttr(text)});
      }
    return builder.getDictionaryAttr(entries);
  }

  DictionaryAttr getCauses(Value value) {
    SmallVector<NamedAttribute> entries;
    for (const auto &[axis, text] : pending.getCauses(value))
      entries.push_back({mesh.getAxisName(axis), builder.getStringAttr(text)});
    return builder.getDictionaryAttr(entries);
  }

  ShardingGraph &graph;
  PendingReductions &pending;
  const Mesh &mesh;
  Builder builder;
};

struct PropagateShardings : ulsc::impl::PropagateShardingsPassBase<PropagateShardings> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Mesh mesh = Mesh::of(module);
    if (!mesh.attr) {
      // One device is a mesh, too: what follows has no special case.
      OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
      auto axis = dist::MeshAxisAttr::get(&getContext(), "dp", 1);
      dist::MeshOp::create(builder, module.getLoc(), "mesh",
                           dist::MeshAttr::get(&getContext(), {axis}));
      mesh = Mesh::of(module);
    }
    if (mesh.attr.getAxes().size() > 30) {
      module.emitError() << "the mesh has " << mesh.attr.getAxes().size()
                         << " axes; 30 are supported";
      return signalPassFailure();
    }
    cost::CommunicationCost cost(cost::Cluster::getDefault(), mesh.attr);
    ShardingGraph graph(module, mesh);
    if (failed(graph.build()))
      return signalPassFailure();
    Propagation(graph, mesh, cost).run();
    recordConflicts(graph, mesh, cost);
    PendingReductions pending(graph, mesh, cost, mesh.getMask(readDataAxes(module)),
                              mesh.getMask(readSequenceAxes(module)));
    pending.run();
    Writer writer(graph, pending, mesh);
    for (FunctionOpInterface function : graph.getFunctions())
      writer.write(function);
  }
};
} // namespace

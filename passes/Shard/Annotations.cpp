//===- Annotations.cpp - Where shardings start
//--------------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Shard/ShardingGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::shard;

static SmallVector<StringAttr> readAxes(ModuleOp module, StringRef attribute, StringRef key) {
  SmallVector<StringAttr> axes;
  if (auto entries = module->getAttrOfType<DictionaryAttr>(attribute))
    if (auto list = entries.getAs<ArrayAttr>(key))
      llvm::append_range(axes, list.getAsRange<StringAttr>());
  return axes;
}

SmallVector<StringAttr> shard::readDataAxes(ModuleOp module) {
  return readAxes(module, "uls.batch", "data_axes");
}

SmallVector<StringAttr> shard::readSequenceAxes(ModuleOp module) {
  return readAxes(module, "uls.rules", "seq");
}

/// Tokens and targets: dimension 0 of a microbatch, dimension 1 of the step's inputs, is the batch.
static dist::ShardingAttr getBatchSharding(FunctionOpInterface function, Type type,
                                           const Mesh &mesh, ArrayRef<StringAttr> dataAxes) {
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  int64_t batch = llvm::isa<uls::StepOp>(function) ? 1 : 0;
  if (!tensor || llvm::isa<uls::BlockOp>(function) || tensor.getRank() <= batch ||
      !tensor.getElementType().isInteger())
    return {};
  SmallVector<SmallVector<StringAttr>> dims(tensor.getRank());
  dims[batch].assign(dataAxes.begin(), dataAxes.end());
  return dist::ShardingAttr::getClosed(mesh.name, dims);
}

void ShardingGraph::forEachAnnotation(
    function_ref<void(int64_t, dist::ShardingAttr, DictionaryAttr, Location, StringRef)> callback) {
  SmallVector<StringAttr> dataAxes = readDataAxes(module);
  std::string batchRule =
      "rule batch→" +
      llvm::join(llvm::map_range(dataAxes, [](StringAttr a) { return a.getValue(); }), ",");
  for (FunctionOpInterface function : functions) {
    for (BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      auto pinned =
          function.getArgAttrOfType<dist::ShardingAttr>(i, dist::DistDialect::kShardingAttrName);
      std::string text = ("pin of argument " + Twine(i) + " of @" + function.getName()).str();
      if (pinned)
        callback(find(argument), pinned,
                 function.getArgAttrOfType<DictionaryAttr>(i, "dist.origin"), argument.getLoc(),
                 text);
      else if (auto batch = getBatchSharding(function, argument.getType(), mesh, dataAxes))
        callback(find(argument), batch, {}, argument.getLoc(), batchRule);
    }
    function.getFunctionBody().walk([&](Operation *op) {
      if (auto reshard = llvm::dyn_cast<dist::ReshardOp>(op))
        callback(find(reshard.getOutput()), reshard.getSharding(), {}, op->getLoc(),
                 "pin at " + dist::describeLocation(op->getLoc()));
      auto materialize = llvm::dyn_cast<uls::MaterializeOp>(op);
      if (!materialize)
        return;
      auto param =
          symbols.lookupNearestSymbolFrom<uls::ParamOp>(op, materialize.getParameterAttr());
      dist::ShardingAttr sharding = param.getSharding().value_or(
          dist::ShardingAttr::getReplicated(mesh.name, param.getTensorType().getRank()));
      callback(find(materialize.getOutput()), sharding,
               param->getAttrOfType<DictionaryAttr>("dist.origin"), param.getLoc(),
               "sharding of " + param.getSymName().str());
    });
  }
}

/// Checks every annotation; all that do not fit are one error.
LogicalResult ShardingGraph::collectPriorities() {
  SmallVector<std::pair<Location, std::string>> offenders;
  llvm::SmallDenseSet<int64_t> reported;
  auto check = [&](int64_t id, dist::ShardingAttr sharding, DictionaryAttr, Location loc,
                   StringRef annotation) {
    if (id < 0 || !reported.insert(id).second)
      return;
    ArrayRef<int64_t> shape = nodes[id].type.getShape();
    if (int64_t(shape.size()) != sharding.getRank()) {
      offenders.push_back({loc, (annotation + ": " + Twine(sharding.getRank()) +
                                 " dimensions for a value of rank " + Twine(shape.size()))
                                    .str()});
      return;
    }
    for (auto [d, dim] : llvm::enumerate(sharding.getDims())) {
      if (!llvm::is_contained(priorities, dim.getPriority()))
        priorities.push_back(dim.getPriority());
      for (StringAttr axis : dim.getAxes())
        if (!mesh.attr.getAxisPosition(axis))
          offenders.push_back(
              {loc, (annotation + ": axis \"" + axis.getValue() + "\" is not on the mesh").str()});
      int64_t parts = mesh.getSize(mesh.read(dim.getAxes()));
      if (shape[d] % parts != 0)
        offenders.push_back({loc, (annotation + ": dimension " + Twine(d) + " of size " +
                                   Twine(shape[d]) + " does not divide into " + Twine(parts) +
                                   " shards; legal sizes are multiples of " + Twine(parts))
                                      .str()});
    }
  };
  forEachAnnotation(check);
  llvm::sort(priorities);
  if (offenders.empty())
    return success();
  InFlightDiagnostic diag = emitError(offenders.front().first)
                            << offenders.size() << " annotation(s) do not fit the mesh "
                            << mesh.attr;
  for (const auto &[loc, text] : offenders)
    diag.attachNote(loc) << text;
  return diag;
}

void ShardingGraph::seedNode(int64_t id, dist::ShardingAttr sharding, DictionaryAttr origins,
                             Location loc, StringRef annotation) {
  if (id < 0)
    return;
  Node &node = nodes[id];
  Layout layout = mesh.read(sharding).withoutPartials();
  if (node.seed) {
    if (node.layout != layout) {
      InFlightDiagnostic diag = emitRemark(loc)
                                << annotation << " gives " << mesh.write(layout)
                                << ", but the value shares its layout with one that has "
                                << mesh.write(node.layout) << "; it is resharded";
      diag.attachNote(*node.seed) << "annotated here";
    }
    return;
  }
  node.seed = loc;
  node.layout = layout;
  node.replicated = mesh.getMask(sharding.getReplicated());
  for (auto [d, dim] : llvm::enumerate(sharding.getDims())) {
    node.open[d] = dim.getIsOpen();
    auto it = llvm::find(priorities, dim.getPriority());
    node.activeFrom[d] = it - priorities.begin();
    for (uint8_t axis : layout.dims[d]) {
      std::string text = annotation.str();
      if (origins)
        if (auto origin = origins.getAs<StringAttr>(mesh.getAxisName(axis)))
          text = origin.str();
      node.origins.push_back({axis, text, "", node.layout.getPriority(d)});
    }
  }
}

LogicalResult ShardingGraph::seed() {
  if (failed(collectPriorities()))
    return failure();
  forEachAnnotation(
      [&](int64_t id, dist::ShardingAttr sharding, DictionaryAttr origins, Location loc,
          StringRef annotation) { seedNode(id, sharding, origins, loc, annotation); });
  return success();
}

/// Carries logical axis names from parameters and annotated arguments along factors; causes use
/// them.
void ShardingGraph::nameDimensions() {
  auto assign = [&](int64_t id, ArrayAttr axes) {
    if (id < 0 || !axes || int64_t(axes.size()) != nodes[id].type.getRank())
      return;
    for (auto [name, axis] : llvm::zip_equal(nodes[id].names, axes.getAsRange<StringAttr>()))
      name = axis.str();
  };
  for (FunctionOpInterface function : functions)
    for (BlockArgument argument : function.getArguments())
      assign(find(argument), function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(),
                                                                  uls::UlsDialect::kAxesAttrName));
  module.walk([&](uls::MaterializeOp op) {
    auto param = symbols.lookupNearestSymbolFrom<uls::ParamOp>(op, op.getParameterAttr());
    assign(find(op.getOutput()), param.getAxes());
  });
  for (int pass = 0; pass < 2; ++pass)
    for (Edge &edge : edges) {
      SmallVector<std::string> names(edge.rule.factors.size());
      auto visit = [&](ArrayRef<int64_t> ids, ArrayRef<dist::TensorFactors> tensors, bool read) {
        for (auto [id, tensor] : llvm::zip_equal(ids, tensors))
          for (auto [d, factors] : llvm::enumerate(tensor))
            if (id >= 0 && factors.size() == 1) {
              std::string &from = read ? nodes[id].names[d] : names[factors[0]];
              std::string &to = read ? names[factors[0]] : nodes[id].names[d];
              if (to.empty())
                to = from;
            }
      };
      for (bool read : {true, false}) {
        visit(edge.operands, edge.rule.operands, read);
        visit(edge.results, edge.rule.results, read);
      }
    }
}

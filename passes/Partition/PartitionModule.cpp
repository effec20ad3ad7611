//===- PartitionModule.cpp - The pass that makes a module local to one rank
//-----------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Partition/Partitioner.h"
#include "passes/Partition/Passes.h"

namespace ulsc {
#define GEN_PASS_DEF_PARTITIONMODULEPASS
#include "passes/Partition/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

namespace {
struct PartitionModule : ulsc::impl::PartitionModulePassBase<PartitionModule> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module->hasAttr(dist::DistDialect::kPartitionedAttrName))
      return;
    shard::Mesh mesh = shard::Mesh::of(module);
    if (!mesh.attr) {
      module.emitError("has no dist.mesh; run ulsc-shard-pipeline first");
      return signalPassFailure();
    }
    cost::CommunicationCost cost(cost::Cluster::getDefault(), mesh.attr);
    if (failed(shard::Partitioner(module, mesh, cost).run()))
      return signalPassFailure();
    module->setAttr(dist::DistDialect::kPartitionedAttrName, UnitAttr::get(&getContext()));
  }
};
} // namespace

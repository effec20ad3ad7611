//===- ShardStorage.cpp - ZeRO: splits what ranks of data axes would hold alike ---------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"
#include "passes/Shard/Layout.h"
#include "passes/Shard/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace ulsc {
#define GEN_PASS_DEF_SHARDSTORAGEPASS
#include "passes/Shard/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::shard;
using dist::DistDialect;

namespace {
class ShardStorage : public ulsc::impl::ShardStoragePassBase<ShardStorage> {
public:
  void runOnOperation() override;

private:
  AxisList readAxes(DictionaryAttr storage, StringRef kind) const;
  /// Splits over those of `axes` that do not shard the value already.
  dist::ShardingAttr split(std::optional<dist::ShardingAttr> sharding, Type type,
                           const AxisList &axes) const;
  void splitGradients(uls::UpdateOp update, const AxisList &kept);
  void splitAccumulator(OpResult gradient, const Layout &wanted);
  void setLayout(OpResult result, const Layout &layout);
  Layout getLayout(OpResult result) const;

  Mesh mesh{{}, {}};
  /// The layout that the update of a parameter is computed in: that of its states.
  llvm::DenseMap<StringAttr, dist::ShardingAttr> updateShardings;
};
} // namespace

AxisList ShardStorage::readAxes(DictionaryAttr storage, StringRef kind) const {
  auto list = storage.getAs<ArrayAttr>(kind);
  return list ? mesh.read(llvm::to_vector(list.getAsRange<StringAttr>())) : AxisList();
}

dist::ShardingAttr ShardStorage::split(std::optional<dist::ShardingAttr> sharding, Type type,
                                       const AxisList &axes) const {
  Layout layout = sharding ? mesh.read(*sharding) : mesh.getReplicated(type);
  AxisMask used = layout.getDimMask();
  layout.flat =
      llvm::filter_to_vector<2>(axes, [&](uint8_t axis) { return !(used & maskOf({axis})); });
  return mesh.write(layout);
}

Layout ShardStorage::getLayout(OpResult result) const {
  auto list = result.getOwner()->getAttrOfType<ArrayAttr>(DistDialect::kShardingsAttrName);
  return mesh.read(llvm::cast<dist::ShardingAttr>(list[result.getResultNumber()]));
}

void ShardStorage::setLayout(OpResult result, const Layout &layout) {
  Operation *op = result.getOwner();
  SmallVector<Attribute> list;
  if (auto present = op->getAttrOfType<ArrayAttr>(DistDialect::kShardingsAttrName))
    list.assign(present.begin(), present.end());
  list.resize(op->getNumResults(), UnitAttr::get(&getContext()));
  list[result.getResultNumber()] = mesh.write(layout);
  op->setAttr(DistDialect::kShardingsAttrName, ArrayAttr::get(&getContext(), list));
}

/// Has each microbatch scatter its gradient: what the loop carries is this rank's part.
void ShardStorage::splitAccumulator(OpResult gradient, const Layout &wanted) {
  auto loop = llvm::dyn_cast<uls::MicrobatchesOp>(gradient.getOwner());
  if (!loop)
    return;
  Layout layout = wanted;
  // Sums over other axes stay pending until the update.
  layout.sum = getLayout(gradient).sum & ~maskOf(wanted.flat);
  setLayout(gradient, layout);
  unsigned index = gradient.getResultNumber();
  if (auto init = llvm::dyn_cast<OpResult>(loop.getInits()[index]))
    setLayout(init, layout);
  Value value = loop.getBody().front().getTerminator()->getOperand(index);
  while (auto accumulate = value.getDefiningOp<uls::AccumulateOp>()) {
    setLayout(llvm::cast<OpResult>(accumulate.getOutput()), layout);
    value = accumulate.getAccumulator();
  }
}

void ShardStorage::splitGradients(uls::UpdateOp update, const AxisList &kept) {
  OpBuilder builder(&getContext());
  for (auto [name, gradient] :
       llvm::zip_equal(update.getParameters().getAsRange<StringAttr>(), update.getGradients())) {
    auto result = llvm::dyn_cast<OpResult>(gradient);
    dist::ShardingAttr sharding = updateShardings.lookup(name);
    if (!result || !sharding)
      continue;
    Layout wanted = mesh.read(sharding);
    if (wanted.flat.empty())
      continue;
    if (!kept.empty())
      splitAccumulator(result, wanted);
    if (getLayout(result) == wanted)
      continue;
    // Norm and update both see the part.
    builder.setInsertionPointAfter(result.getOwner());
    auto reshard =
        dist::ReshardOp::create(builder, result.getLoc(), result, sharding, StringAttr());
    result.replaceAllUsesExcept(reshard.getOutput(), reshard);
    setLayout(llvm::cast<OpResult>(reshard.getOutput()), wanted);
  }
}

void ShardStorage::runOnOperation() {
  ModuleOp module = getOperation();
  auto storage = module->getAttrOfType<DictionaryAttr>(uls::UlsDialect::kStorageAttrName);
  mesh = Mesh::of(module);
  if (!storage || !mesh.attr)
    return;
  AxisList optimizer = readAxes(storage, "optimizer"), gradients = readAxes(storage, "gradients"),
           parameters = readAxes(storage, "parameters");
  SymbolTable symbols(module);
  for (auto state : module.getOps<uls::StateOp>()) {
    auto param = symbols.lookup<uls::ParamOp>(state.getParameter());
    state.setShardingAttr(split(param.getSharding(), param.getTensorType(), optimizer));
    updateShardings[param.getSymNameAttr()] = state.getShardingAttr();
  }
  for (auto param : module.getOps<uls::ParamOp>())
    param.setShardingAttr(split(param.getSharding(), param.getTensorType(), parameters));
  for (auto step : module.getOps<uls::StepOp>())
    step.walk([&](uls::UpdateOp update) { splitGradients(update, gradients); });
}

//===- ModelState.cpp - Memory of a model's ranks, by row -------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Memory/ModelState.h"

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"
#include "ulsc/Memory.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::memory;

void Row::add(ArrayRef<std::string> axes, int64_t value) {
  bytes += value;
  auto found = llvm::find_if(parts, [&](RowPart &part) { return ArrayRef(part.axes) == axes; });
  if (found == parts.end())
    found = parts.insert(found, {axes.vec(), 0});
  found->bytes += value;
  for (; found != parts.begin() && std::prev(found)->bytes < found->bytes; --found)
    std::swap(*found, *std::prev(found));
}

int64_t Row::getLasting() const {
  int64_t sum = 0;
  for (const RowPart &part : parts)
    sum += part.isTransient ? 0 : part.bytes;
  return sum;
}

const Row &RankMemory::getLargest() const {
  return *llvm::max_element(rows, [](const Row &a, const Row &b) { return a.bytes < b.bytes; });
}

//===---------------------------------------------------------------------------------------===//
// Tensors
//===---------------------------------------------------------------------------------------===//

static int64_t getProduct(ArrayRef<int64_t> shape) {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

/// How many of the first `count` elements of `block`, in row-major order, lie within `logical`.
static int64_t countLogical(ArrayRef<int64_t> block, ArrayRef<int64_t> logical, int64_t count) {
  if (block.empty() || count == 0)
    return count;
  int64_t stride = getProduct(block.drop_front()), row = count / stride;
  int64_t whole = std::min(row, logical.front()) * getProduct(logical.drop_front());
  if (row >= logical.front())
    return whole;
  return whole + countLogical(block.drop_front(), logical.drop_front(), count % stride);
}

int64_t ModelTensor::getElements() const { return getProduct(block); }

int64_t ModelTensor::countPadding(int64_t shards) const {
  int64_t elements = getElements(), part = llvm::divideCeilSigned(elements, shards);
  int64_t begin = std::min(elements, part * (shards - 1));
  return part - (countLogical(block, logical, elements) - countLogical(block, logical, begin));
}

ModelTensor memory::makeTensor(int64_t parameters, int64_t ranks, ArrayRef<std::string> axes) {
  int64_t part = llvm::divideCeilSigned(parameters, ranks);
  return {{part}, {std::clamp<int64_t>(parameters - part * (ranks - 1), 0, part)}, axes.vec()};
}

static dist::MeshAttr getMesh(ModuleOp module) {
  for (auto mesh : module.getOps<dist::MeshOp>())
    return mesh.getMesh();
  return {};
}

/// Axes of more than one rank that shard by `sharding`, in the order of the mesh.
static std::vector<std::string> getAxes(dist::MeshAttr mesh, dist::ShardingAttr sharding) {
  std::vector<std::string> axes;
  if (!mesh || !sharding)
    return axes;
  SmallVector<StringAttr> sharded = sharding.getShardingAxes();
  for (dist::MeshAxisAttr axis : mesh.getAxes())
    if (axis.getSize() > 1 &&
        llvm::any_of(sharded, [&](StringAttr name) { return name.getValue() == axis.getName(); }))
      axes.push_back(axis.getName().str());
  return axes;
}

/// The block of a tensor of `param`'s shapes that lies by `sharding`.
static ModelTensor getTensor(uls::ParamOp param, dist::MeshAttr mesh, dist::ShardingAttr sharding) {
  ModelTensor tensor;
  tensor.isTrained = !param.getFrozen();
  tensor.block.assign(param.getTensorType().getShape().begin(),
                      param.getTensorType().getShape().end());
  tensor.logical.assign(param.getUnpaddedShape().begin(), param.getUnpaddedShape().end());
  if (!mesh || !sharding)
    return tensor;
  SmallVector<int64_t> offsets =
      sharding.getOffsets(mesh, mesh.getDeviceCount() - 1, param.getTensorType().getShape());
  tensor.block = sharding.getBlockShape(mesh, param.getTensorType().getShape());
  tensor.axes = getAxes(mesh, sharding);
  for (auto [logical, offset, size] : llvm::zip_equal(tensor.logical, offsets, tensor.block))
    logical = std::clamp<int64_t>(logical - offset, 0, size);
  return tensor;
}

std::vector<ModelTensor> memory::collectTensors(ModuleOp module, int64_t stage) {
  std::vector<ModelTensor> tensors;
  dist::MeshAttr mesh = getMesh(module);
  for (auto param : module.getOps<uls::ParamOp>()) {
    if (stage >= 0 && !dist::isOnStage(param, stage))
      continue;
    dist::ShardingAttr sharding = param.getShardingAttr();
    // What splits a block further is for who asks to say.
    if (sharding && !sharding.getFlat().empty())
      sharding = dist::ShardingAttr::get(sharding.getContext(), sharding.getMesh(),
                                         sharding.getDims(), sharding.getReplicated(), {}, {});
    tensors.push_back(getTensor(param, mesh, sharding));
  }
  return tensors;
}

SmallVector<StateTensor> memory::getStateTensors(ArrayRef<ModelTensor> tensors) {
  SmallVector<StateTensor> sizes;
  for (const ModelTensor &tensor : tensors)
    sizes.push_back({tensor.getElements(), tensor.isTrained});
  return sizes;
}

//===---------------------------------------------------------------------------------------===//
// By the formula
//===---------------------------------------------------------------------------------------===//

RankMemory memory::computeStateMemory(ArrayRef<ModelTensor> tensors, const StateDtypes &dtypes,
                                      ZeroStage stage,
                                      ArrayRef<std::pair<std::string, int64_t>> storageAxes,
                                      int64_t devices) {
  Row parameters{"parameters"}, gradients{"gradients"}, master{"master"}, moments{"moments"};
  RankMemory result;
  result.lastRank = devices - 1;
  for (const ModelTensor &tensor : tensors) {
    int64_t shards = 1;
    std::vector<std::string> divided;
    for (auto &[axis, size] : storageAxes)
      if (size > 1 && !llvm::is_contained(tensor.axes, axis)) {
        shards *= size;
        divided.push_back(axis);
      }
    int64_t whole = tensor.getElements(), part = llvm::divideCeilSigned(whole, shards);
    StateBytes bytes = weigh(whole, part, tensor.isTrained, dtypes, stage);
    divided.insert(divided.end(), tensor.axes.begin(), tensor.axes.end());
    auto axesFrom = [&](ZeroStage first) { return stage >= first ? divided : tensor.axes; };
    parameters.add(axesFrom(ZeroStage::Parameters), bytes.parameters);
    if (tensor.isTrained) {
      gradients.add(axesFrom(ZeroStage::Gradients), bytes.gradients);
      master.add(axesFrom(ZeroStage::Optimizer), bytes.master);
      moments.add(axesFrom(ZeroStage::Optimizer), bytes.moments);
    }
    result.total += bytes.getTotal();
    result.padding +=
        weigh(tensor.countPadding(1), tensor.countPadding(shards), tensor.isTrained, dtypes, stage)
            .getTotal();
  }
  result.rows = {parameters, gradients};
  if (dtypes.hasMaster())
    result.rows.push_back(master);
  result.rows.push_back(moments);
  return result;
}

//===---------------------------------------------------------------------------------------===//
// From a plan
//===---------------------------------------------------------------------------------------===//

namespace {
/// Finds out how the persistent buffers of a program lie.
class PlanReader {
public:
  explicit PlanReader(ModuleOp module) : symbols(module), mesh(getMesh(module)) {
    for (auto state : module.getOps<uls::StateOp>())
      states[state.getParameter()].push_back(state);
  }

  /// Adds a buffer to its row, and what of it is padding to the rank's.
  void add(exec::BufferOp buffer, Row &row, RankMemory &rank) {
    int64_t bytes = exec::getBytes(buffer.getResult().getType());
    StringRef name = buffer.getName().value_or("");
    auto state = symbols.lookup<uls::StateOp>(name);
    name.consume_back(".gradient");
    auto param = symbols.lookup<uls::ParamOp>(state ? state.getParameter() : name);
    if (!param)
      return row.add({}, align(bytes));
    // A gradient lies as its parameter or as the state that it updates.
    SmallVector<dist::ShardingAttr> candidates;
    if (state) {
      candidates = {state.getShardingAttr()};
    } else {
      candidates = {param.getShardingAttr()};
      for (uls::StateOp other : states.lookup(param.getSymName()))
        candidates.push_back(other.getShardingAttr());
    }
    for (dist::ShardingAttr sharding : candidates) {
      ModelTensor tensor = getTensor(param, mesh, sharding);
      int64_t shards = mesh && sharding ? mesh.getSize(sharding.getFlat()) : 1;
      int64_t elements = llvm::divideCeilSigned(tensor.getElements(), shards);
      if (elements != buffer.getResult().getType().getNumElements())
        continue;
      rank.padding += tensor.countPadding(shards) * (bytes / std::max<int64_t>(elements, 1));
      return row.add(tensor.axes, align(bytes));
    }
    row.add({}, align(bytes));
  }

  /// Stages lie one after another: `pp` is the mesh's outermost axis.
  void setRanks(RankMemory &rank, int64_t stage) {
    int64_t devices = mesh ? mesh.getDeviceCount() : 1;
    rank.stage = stage;
    rank.lastRank = devices - 1;
    if (stage < 0)
      return;
    int64_t each = devices / mesh.getSize(StringAttr::get(mesh.getContext(), "pp"));
    rank.firstRank = stage * each;
    rank.lastRank = rank.firstRank + each - 1;
  }

private:
  SymbolTable symbols;
  dist::MeshAttr mesh;
  llvm::StringMap<SmallVector<uls::StateOp>> states;
};
} // namespace

std::vector<RankMemory> memory::readPlan(ModuleOp module) {
  std::vector<RankMemory> ranks;
  PlanReader reader(module);
  for (auto function : module.getOps<exec::FunctionOp>()) {
    DictionaryAttr categories = function.getCategoriesAttr();
    if (!function.getEntry() || !function.getFrameBytes() || !categories)
      continue;
    // One program for all ranks of a stage: what differs along an axis is coordinates.
    RankMemory rank;
    reader.setRanks(rank, dist::getStage(function));
    rank.total = *function.getFrameBytes();
    for (exec::Category category :
         {exec::Category::Parameters, exec::Category::Gradients, exec::Category::Optimizer,
          exec::Category::Activations, exec::Category::Temporaries, exec::Category::Communication,
          exec::Category::Workspaces}) {
      Row row{exec::stringifyCategory(category).str()};
      auto bytes = categories.getAs<IntegerAttr>(row.name);
      bool isState = category == exec::Category::Parameters ||
                     category == exec::Category::Gradients || category == exec::Category::Optimizer;
      function.walk([&](exec::BufferOp buffer) {
        if (isState && buffer->hasAttr("exec.persistent") && buffer.getCategory() == category)
          reader.add(buffer, row, rank);
      });
      int64_t all = bytes ? bytes.getInt() : row.bytes;
      // Beside the gradients that last there are those under way: whole ones, before they are cut.
      if (isState && all > row.bytes)
        row.parts.push_back({{}, all - row.bytes, /*isTransient=*/true});
      row.bytes = all;
      rank.rows.push_back(std::move(row));
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

SmallVector<CacheLayers> memory::collectCacheLayers(ModuleOp module) {
  SmallVector<CacheLayers> layers;
  SymbolTable symbols(module);
  auto add = [&](uls::AttentionOp attention) {
    auto key = cast<RankedTensorType>(attention.getKey().getType());
    CacheLayers one{1, key.getDimSize(2), key.getDimSize(3)};
    for (CacheLayers &alike : layers)
      if (alike.heads == one.heads && alike.headSize == one.headSize) {
        ++alike.layers;
        return;
      }
    layers.push_back(one);
  };
  for (auto forward : module.getOps<uls::ForwardOp>())
    forward.walk([&](uls::CallOp call) {
      if (auto block = symbols.lookup<uls::BlockOp>(call.getCallee()))
        block.walk(add);
    });
  return layers;
}

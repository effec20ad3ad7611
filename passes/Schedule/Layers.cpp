//===- Layers.cpp - Calls of layers in a step -------------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Schedule/Layers.h"

#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

bool ulsc::isLayer(CallOp call) {
  return call.getLayerAttr() && call.getNumResults() > 0 &&
         isa<ResidualsType>(call.getResults().back().getType());
}

SmallVector<Layer> ulsc::collectLayers(Block &block) {
  SmallVector<Layer> layers;
  for (auto call : block.getOps<CallOp>()) {
    if (!isLayer(call))
      continue;
    for (Operation *user : call.getResults().back().getUsers())
      if (auto backward = dyn_cast<BackwardOp>(user); backward && backward->getBlock() == &block)
        layers.push_back({call, backward});
  }
  return layers;
}

SmallVector<ArrayRef<Layer>> ulsc::splitIntoPasses(ArrayRef<Layer> layers) {
  auto getPlace = [](Layer layer) {
    auto chunk = layer.forward->getAttrOfType<IntegerAttr>(dist::DistDialect::kChunkAttrName);
    return std::pair(chunk ? chunk.getInt() : 0, layer.forward.getLayerAttr().getInt());
  };
  SmallVector<ArrayRef<Layer>> passes;
  for (size_t begin = 0, end = 0; begin < layers.size(); begin = end) {
    for (end = begin + 1; end < layers.size(); ++end) {
      auto [chunk, layer] = getPlace(layers[end]);
      auto [chunkBefore, layerBefore] = getPlace(layers[end - 1]);
      if (chunk != chunkBefore || layer <= layerBefore)
        break;
    }
    passes.push_back(layers.slice(begin, end - begin));
  }
  return passes;
}

int64_t ulsc::countLayers(ModuleOp module) {
  size_t most = 0;
  module.walk([&](Block *block) {
    SmallVector<Layer> layers = collectLayers(*block);
    for (ArrayRef<Layer> pass : splitIntoPasses(layers))
      most = std::max(most, pass.size());
  });
  return most;
}

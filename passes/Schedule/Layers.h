//===- Layers.h - Calls of layers in a step ---------------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SCHEDULE_LAYERS_H
#define ULSC_PASSES_SCHEDULE_LAYERS_H

#include "dialects/Uls/Uls.h"

namespace ulsc {

/// A layer's forward call and the backward call that takes what it leaves.
struct Layer {
  uls::CallOp forward;
  uls::BackwardOp backward;
};

/// Whether a call runs a layer forward and keeps something for its backward.
bool isLayer(uls::CallOp call);

/// The layers that a block runs forward and backward, in forward order.
llvm::SmallVector<Layer> collectLayers(mlir::Block &block);

/// Cuts such a list into passes through a chunk of the model. Where stages write microbatches out,
/// layers begin anew with each.
llvm::SmallVector<llvm::ArrayRef<Layer>> splitIntoPasses(llvm::ArrayRef<Layer> layers);

/// The most layers in one pass, over all steps.
int64_t countLayers(mlir::ModuleOp module);

} // namespace ulsc

#endif // ULSC_PASSES_SCHEDULE_LAYERS_H

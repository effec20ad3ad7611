//===- UlsAdjoints.cpp - Adjoints of the uls ops ---===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/Uls.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

LogicalResult AddOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult AttentionOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult BroadcastOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult ConcatOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult ConvertOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult CrossEntropyOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult DivOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult DropoutOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult EinsumOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult EmbeddingOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult ExpOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult GeluOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult LayerNormOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult LogOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult MaximumOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult MinimumOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult MulOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult NegOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult PadOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult ReduceOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult ReshapeOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult RmsNormOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult RopeOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult RsqrtOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult SiluOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult SliceOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult SoftmaxOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult SqrtOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult SubOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult TanhOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }
LogicalResult TransposeOp::buildAdjoint(AdjointBuilder &, ArrayRef<Value>) { return emitOpError("has no adjoint yet"); }

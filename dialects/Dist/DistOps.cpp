//===- DistOps.cpp - Generated bodies and methods of the dist ops
//------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace ulsc::dist;

#define GET_OP_CLASSES
#include "dialects/Dist/DistOps.cpp.inc"

StringRef AllReduceOp::getKind() { return "all_reduce"; }
StringRef AllGatherOp::getKind() { return "all_gather"; }
StringRef ReduceScatterOp::getKind() { return "reduce_scatter"; }
StringRef AllToAllOp::getKind() { return "all_to_all"; }
StringRef PermuteOp::getKind() { return "permute"; }
StringRef SendOp::getKind() { return "send"; }
StringRef ReceiveOp::getKind() { return "receive"; }

CollectiveOpInterface StartOp::getCollective() {
  return llvm::cast<CollectiveOpInterface>(getBody().front().front());
}

int64_t ulsc::dist::getStage(Operation *step) {
  auto stage = step->getAttrOfType<IntegerAttr>(DistDialect::kStageAttrName);
  return stage ? stage.getInt() : -1;
}

bool ulsc::dist::isOnStage(Operation *parameter, int64_t stage) {
  auto stages = parameter->getAttrOfType<DenseI64ArrayAttr>(DistDialect::kStagesAttrName);
  return stage < 0 || !stages || llvm::is_contained(stages.asArrayRef(), stage);
}

std::string ulsc::dist::describeLocation(Location loc) {
  std::string text;
  loc->walk([&](Location inner) {
    if (auto name = llvm::dyn_cast<NameLoc>(inner)) {
      text = name.getName().str();
      return WalkResult::interrupt();
    }
    if (auto file = llvm::dyn_cast<FileLineColLoc>(inner); file && text.empty())
      text = ("line " + Twine(file.getLine())).str();
    return WalkResult::advance();
  });
  return text.empty() ? "here" : text;
}

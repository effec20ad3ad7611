//===- EnterStage.cpp - Keeps stages in order -------------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/EnterStage.h"

using namespace mlir;

namespace {
struct EnterStage : PassWrapper<EnterStage, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EnterStage)

  EnterStage(StringRef previous, StringRef stage) : previous(previous), stage(stage) {}
  StringRef getArgument() const override { return "ulsc-enter-stage"; }
  StringRef getDescription() const override { return "Checks that stages run in order"; }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto found = module->getAttrOfType<StringAttr>(ulsc::kStageAttrName);
    if (found && found.getValue() != previous) {
      module.emitError() << "is at stage " << found.getValue() << ", but stage " << stage
                         << (previous.empty() ? Twine(" takes a module as imported")
                                              : " takes one at stage " + previous)
                         << "; run the stages in order, each once";
      return signalPassFailure();
    }
    module->setAttr(ulsc::kStageAttrName, StringAttr::get(&getContext(), stage));
  }

  std::string previous, stage;
};
} // namespace

std::unique_ptr<Pass> ulsc::createEnterStagePass(StringRef previous, StringRef stage) {
  return std::make_unique<EnterStage>(previous, stage);
}

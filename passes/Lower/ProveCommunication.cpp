//===- ProveCommunication.cpp - Checks what the stages' programs say to each other ------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/BuffersInFlight.h"
#include "passes/Lower/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace ulsc {
#define GEN_PASS_DEF_PROVECOMMUNICATIONPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

namespace {
struct ProveCommunication : ulsc::impl::ProveCommunicationPassBase<ProveCommunication> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    lower::CommunicationReader reader(module, symbols);
    auto entries = reader.getEntries();
    if (failed(entries))
      return signalPassFailure();
    std::vector<std::vector<proof::Event>> stages;
    for (exec::FunctionOp entry : *entries) {
      auto events = reader.read(entry);
      if (failed(events))
        return signalPassFailure();
      stages.push_back(std::move(*events));
    }
    if (std::string problem = proof::checkCommunication(stages); !problem.empty()) {
      module.emitError() << "the communication of this program is not in order: " << problem;
      return signalPassFailure();
    }
    lower::BuffersInFlight buffers(symbols, reader);
    for (exec::FunctionOp entry : *entries)
      if (failed(buffers.check(entry)))
        return signalPassFailure();
  }
};
} // namespace

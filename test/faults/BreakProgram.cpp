//===- BreakProgram.cpp - The pass that breaks a rank's program -------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Faults.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::test;

namespace {

class BreakProgram : public PassWrapper<BreakProgram, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BreakProgram)
  BreakProgram() = default;
  BreakProgram(const BreakProgram &other) : PassWrapper(other) { copyOptionValuesFrom(&other); }

  StringRef getArgument() const final { return "test-break-program"; }
  StringRef getDescription() const final { return "break a rank's program in one place"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, scf::SCFDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    RankFault onRank{module, at, rank};
    bool isDone = fault == "late-wait"     ? waitLate(module, at)
                  : fault == "early-start" ? startEarly(module, at)
                  : fault == "late-read"   ? readLate(module, at)
                  : fault == "swap"        ? swapOnRank(onRank)
                  : fault == "halve"       ? halveOnRank(onRank)
                  : fault == "skip"        ? skipOnRank(onRank)
                  : fault == "exit"        ? callOnRank(onRank, "_exit")
                  : fault == "hang"        ? callOnRank(onRank, "pause")
                                           : false;
    if (isDone)
      return;
    module.emitError() << "the program has no place '" << at << "' for the fault '" << fault << "'";
    signalPassFailure();
  }

private:
  Option<std::string> fault{*this, "fault", llvm::cl::desc("what is done to it")};
  Option<std::string> at{*this, "at", llvm::cl::desc("part of the name of the op it is done to")};
  Option<int64_t> rank{*this, "rank", llvm::cl::desc("coordinate of the rank it is done on"),
                       llvm::cl::init(1)};
};

} // namespace

void test::registerBreakProgram() { PassRegistration<BreakProgram>(); }

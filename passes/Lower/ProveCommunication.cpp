//===- ProveCommunication.cpp - Checks what the stages' programs say to each other ------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Exec/ExecOps.h"
#include "passes/Lower/CollectiveTable.h"
#include "passes/Lower/Passes.h"
#include "ulsc/CommunicationProof.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"

namespace ulsc {
#define GEN_PASS_DEF_PROVECOMMUNICATIONPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using proof::Communication;

namespace {
/// Lists what one rank of a stage communicates, calls and loops followed.
class EventCollector {
public:
  EventCollector(ModuleOp module, SymbolTable &symbols) : symbols(symbols) {
    groups = module->getAttrOfType<ArrayAttr>(lower::CollectiveTable::kGroupsAttrName);
    for (auto mesh : module.getOps<dist::MeshOp>())
      hasStages = bool(mesh.getMesh().getAxisPosition("pp"));
  }

  LogicalResult collect(Block &block) {
    for (Operation &op : block) {
      if (auto start = dyn_cast<exec::CollectiveStartOp>(op)) {
        events.push_back({true, int64_t(start.getSlot()), describe(start)});
      } else if (auto wait = dyn_cast<exec::CollectiveWaitOp>(op)) {
        events.push_back({false, int64_t(wait.getSlot()), {}});
      } else if (auto call = dyn_cast<exec::CallOp>(op)) {
        auto callee = symbols.lookup<exec::FunctionOp>(call.getCallee());
        if (callee && !callee.isExternal() && failed(collect(callee.getBody().front())))
          return failure();
      } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
        if (failed(repeat(loop)))
          return failure();
      }
    }
    return success();
  }

  std::vector<proof::Event> events;

private:
  LogicalResult repeat(scf::ForOp loop) {
    size_t before = events.size();
    if (failed(collect(*loop.getBody())))
      return failure();
    std::vector<proof::Event> body(events.begin() + before, events.end());
    if (body.empty())
      return success();
    std::optional<APInt> count = loop.getStaticTripCount();
    if (!count)
      return loop.emitOpError("communicates, but how often is not known");
    events.resize(before);
    for (uint64_t i = 0; i < count->getZExtValue(); ++i)
      events.insert(events.end(), body.begin(), body.end());
    return success();
  }

  Communication describe(exec::CollectiveStartOp start) {
    Communication what;
    what.name = exec::stringifyCollectiveKind(start.getKind()).str();
    if (start.getReduction())
      what.name += " " + exec::stringifyReduction(*start.getReduction()).str();
    if (start.getKind() == exec::CollectiveKind::Send)
      what.kind = Communication::Kind::Send;
    if (start.getKind() == exec::CollectiveKind::Receive)
      what.kind = Communication::Kind::Receive;
    if (groups && start.getGroup() < groups.size()) {
      auto axes =
          llvm::to_vector(cast<ArrayAttr>(groups[start.getGroup()]).getAsValueRange<StringAttr>());
      what.axes = llvm::join(axes, "+");
      what.joinsStages = hasStages && llvm::is_contained(axes, "pp");
    }
    what.peer = start.getPeer().value_or(-1);
    llvm::raw_string_ostream operands(what.operands);
    llvm::interleaveComma(start.getInputs().empty() ? start.getOutputs() : start.getInputs(),
                          operands, [&](Value buffer) {
                            auto type = cast<MemRefType>(buffer.getType());
                            operands << type.getNumElements() << " x " << type.getElementType();
                          });
    std::string place = dist::describeLocation(start.getLoc());
    if (place != "here")
      what.source = place;
    if (auto chunk = start->getAttrOfType<IntegerAttr>(dist::DistDialect::kChunkAttrName))
      what.chunk = chunk.getInt();
    if (auto microbatch = start->getAttrOfType<IntegerAttr>(dist::DistDialect::kMicrobatchAttrName))
      what.microbatch = microbatch.getInt();
    return what;
  }

  SymbolTable &symbols;
  ArrayAttr groups;
  bool hasStages = false;
};

struct ProveCommunication : ulsc::impl::ProveCommunicationPassBase<ProveCommunication> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    std::vector<std::vector<proof::Event>> stages;
    for (auto function : module.getOps<exec::FunctionOp>()) {
      if (!function.getEntry())
        continue;
      EventCollector collector(module, symbols);
      if (failed(collector.collect(function.getBody().front())))
        return signalPassFailure();
      stages.push_back(std::move(collector.events));
    }
    if (std::string problem = proof::checkCommunication(stages); !problem.empty()) {
      module.emitError() << "the communication of this program would not come to an end as it "
                            "should: "
                         << problem;
      signalPassFailure();
    }
  }
};
} // namespace

//===- CompiledStages.h - A pipelined program to put faults into ------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// A small llama is compiled to buffers on two stages, beside data or tensor parallelism and by
/// each schedule. Its program is accepted. Then one stage's program gets a fault, and the proof
/// must name both sides: what travels, of which chunk and microbatch, and the source model's op.
///
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TEST_UNIT_PIPELINE_COMPILEDSTAGES_H
#define ULSC_TEST_UNIT_PIPELINE_COMPILEDSTAGES_H

#include "test/unit/RunPasses.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Exec/ExecOps.h"
#include "ulsc/PipelineSchedule.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <map>

namespace ulsc::test {

using namespace mlir;
using exec::CollectiveKind;
using exec::CollectiveStartOp;
using exec::CollectiveWaitOp;

inline void replace(std::string &text, StringRef from, StringRef to) {
  size_t place = text.find(from.str());
  ASSERT_NE(place, std::string::npos) << from.str();
  text.replace(place, from.size(), to.str());
}

/// The model's program on a mesh by a schedule; compiled once, copied for each fault.
class Program {
public:
  Program(StringRef schedule, StringRef mesh = "\"pp\"=2, \"dp\"=2") {
    OwningOpRef<ModuleOp> &compiled = programs[(schedule + mesh).str()];
    if (!compiled)
      compile(compiled, schedule, mesh);
    module = compiled->clone();
  }

  exec::FunctionOp getEntry(int64_t stage) {
    for (auto function : module->getOps<exec::FunctionOp>())
      if (function.getEntry() && dist::getStage(function) == stage)
        return function;
    return {};
  }

  /// What a stage starts of a kind, over groups of some number of axes.
  SmallVector<CollectiveStartOp> getStarts(int64_t stage, CollectiveKind kind) {
    SmallVector<CollectiveStartOp> starts;
    for (auto start : getEntry(stage).getBody().front().getOps<CollectiveStartOp>())
      if (start.getKind() == kind)
        starts.push_back(start);
    return starts;
  }

  /// The all-reduce over `pp`, behind which the step knows its norm.
  CollectiveStartOp getNorm(int64_t stage) {
    return getStarts(stage, CollectiveKind::AllReduce).back();
  }

  static CollectiveWaitOp getWait(CollectiveStartOp start) {
    for (Operation *op = start->getNextNode(); op; op = op->getNextNode())
      if (auto wait = dyn_cast<CollectiveWaitOp>(op); wait && wait.getSlot() == start.getSlot())
        return wait;
    return {};
  }

  static void erase(CollectiveStartOp start) {
    getWait(start).erase();
    start.erase();
  }

  /// Two transfers in each other's place.
  static void swap(CollectiveStartOp one, CollectiveStartOp other) {
    Value buffer = one->getOperand(0);
    one->setOperand(0, other->getOperand(0));
    other->setOperand(0, buffer);
    Location loc = one->getLoc();
    one->setLoc(other->getLoc());
    other->setLoc(loc);
    DictionaryAttr attrs = one->getDiscardableAttrDictionary();
    one->setDiscardableAttrs(other->getDiscardableAttrDictionary());
    other->setDiscardableAttrs(attrs);
  }

  /// What the proof says; empty if it accepts the program.
  std::string prove() {
    std::string text;
    ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diag) {
      text += diag.str() + "\n";
      return success();
    });
    bool failed = runPasses(*module, "ulsc-prove-communication").failed();
    EXPECT_EQ(failed, !text.empty()) << text;
    return text;
  }

  OwningOpRef<ModuleOp> module;

private:
  static void compile(OwningOpRef<ModuleOp> &module, StringRef schedule, StringRef mesh) {
    auto file = llvm::MemoryBuffer::getFile(ULSC_TEST_DIR "/Passes/Partition/Inputs/llama.ir");
    ASSERT_TRUE(bool(file));
    std::string text = (*file)->getBuffer().str();
    replace(text, "\"dp\"=2, \"tp\"=2",
            (mesh + (mesh.contains("dp") ? "" : ", \"dp\"=1") +
             (mesh.contains("tp") ? "" : ", \"tp\"=1"))
                .str());
    replace(text, "global = 16", mesh.contains("\"dp\"=2") ? "global = 32" : "global = 16");
    replace(text, "microbatches = 2", "microbatches = 4");
    module = parseSourceString<ModuleOp>(text, &getContext());
    ASSERT_TRUE(module);
    bool isLonger = schedule == "interleaved" || schedule == "zbv";
    ASSERT_TRUE(succeeded(runPasses(
        *module, ("ulsc-train-pipeline,ulsc-shard-pipeline,ulsc-stage-pipeline{schedule=" +
                  schedule + (isLonger ? " chunks=2" : "") +
                  "},ulsc-partition-pipeline,ulsc-schedule-pipeline,ulsc-lower-pipeline")
                     .str())));
  }

  static inline std::map<std::string, OwningOpRef<ModuleOp>> programs;
};

/// The proof refuses the program and says each of `parts`.
inline void expectRefused(Program &program, const std::vector<std::string> &parts) {
  std::string text = program.prove();
  EXPECT_FALSE(text.empty()) << "accepted";
  for (const std::string &part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in\n" << text;
}

inline int64_t getNumber(Operation *op, StringRef name) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : -1;
}

/// "at model.layers.0, chunk 0, microbatch 2", as messages tell whose value travels.
inline std::string getOwner(CollectiveStartOp start) {
  return "at " + dist::describeLocation(start.getLoc()) + ", chunk " +
         std::to_string(getNumber(start, "dist.chunk")) + ", microbatch " +
         std::to_string(getNumber(start, "dist.microbatch"));
}

} // namespace ulsc::test

#endif // ULSC_TEST_UNIT_PIPELINE_COMPILEDSTAGES_H

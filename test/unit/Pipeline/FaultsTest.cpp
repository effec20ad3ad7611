//===- FaultsTest.cpp - Faults that the proof of communication must find ----------------------===//
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

#include "dialects/Dist/Dist.h"
#include "dialects/Exec/ExecOps.h"
#include "ulsc/InitAllDialects.h"
#include "ulsc/InitAllPasses.h"
#include "ulsc/PipelineSchedule.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <map>

using namespace mlir;
using namespace ulsc;
using exec::CollectiveKind;
using exec::CollectiveStartOp;
using exec::CollectiveWaitOp;

namespace {

MLIRContext &getContext() {
  static MLIRContext *context = [] {
    registerAllPasses();
    DialectRegistry registry;
    registerAllDialects(registry);
    auto *made = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

LogicalResult runPasses(ModuleOp module, const std::string &text) {
  PassManager manager(&getContext());
  return failure(failed(parsePassPipeline(text, manager)) || failed(manager.run(module)));
}

void replace(std::string &text, StringRef from, StringRef to) {
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

  static std::map<std::string, OwningOpRef<ModuleOp>> programs;
};
std::map<std::string, OwningOpRef<ModuleOp>> Program::programs;

/// The proof refuses the program and says each of `parts`.
void expectRefused(Program &program, const std::vector<std::string> &parts) {
  std::string text = program.prove();
  EXPECT_FALSE(text.empty()) << "accepted";
  for (const std::string &part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in\n" << text;
}

int64_t getNumber(Operation *op, StringRef name) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : -1;
}

/// "at model.layers.0, chunk 0, microbatch 2", as messages tell whose value travels.
std::string getOwner(CollectiveStartOp start) {
  return "at " + dist::describeLocation(start.getLoc()) + ", chunk " +
         std::to_string(getNumber(start, "dist.chunk")) + ", microbatch " +
         std::to_string(getNumber(start, "dist.microbatch"));
}

class Faults : public ::testing::TestWithParam<std::string> {};

TEST_P(Faults, WithoutAFaultTheProgramIsAccepted) {
  for (const char *mesh : {"\"pp\"=2, \"dp\"=2", "\"pp\"=2, \"tp\"=2"})
    EXPECT_EQ(Program(GetParam(), mesh).prove(), "") << mesh;
}

/// Without its locations: the module's list of collectives tells what two stages have in common.
TEST_P(Faults, APrintedProgramIsAccepted) {
  Program program(GetParam());
  std::string text;
  llvm::raw_string_ostream stream(text);
  program.module->print(stream);
  program.module = parseSourceString<ModuleOp>(text, &getContext());
  ASSERT_TRUE(program.module);
  EXPECT_EQ(program.prove(), "");
}

TEST_P(Faults, SendsInAnotherOrder) {
  Program program(GetParam());
  auto sends = program.getStarts(0, CollectiveKind::Send);
  Program::swap(sends[0], sends[1]);
  expectRefused(program,
                {"number 0 of what stage 0 sends to stage 1 is not what is received",
                 "stage 0 starts send to stage 1 of 4x8x16xf32 " + getOwner(sends[0]),
                 "but stage 1 starts receive from stage 0 of 4x8x16xf32 " + getOwner(sends[1])});
}

TEST_P(Faults, DroppedReceive) {
  Program program(GetParam());
  auto receives = program.getStarts(1, CollectiveKind::Receive);
  std::string first = getOwner(receives[0]), second = getOwner(receives[1]);
  Program::erase(receives[0]);
  expectRefused(program, {"stage 0 starts send to stage 1 of 4x8x16xf32 " + first,
                          "but stage 1 starts receive from stage 0 of 4x8x16xf32 " + second});
  Program last(GetParam());
  receives = last.getStarts(1, CollectiveKind::Receive);
  std::string lost = getOwner(receives.back());
  Program::erase(receives.back());
  expectRefused(last, {"stage 0's send to stage 1 of 4x8x16xf32 " + lost + " is never received",
                       "stage 1 receives " + std::to_string(receives.size() - 1)});
}

TEST_P(Faults, DroppedSend) {
  Program program(GetParam());
  auto sends = program.getStarts(1, CollectiveKind::Send);
  std::string lost = getOwner(sends.back());
  Program::erase(sends.back());
  expectRefused(program, {"stage 0's receive from stage 1 of 4x8x16xf32 " + lost + " is never sent",
                          "stage 1 sends " + std::to_string(sends.size() - 1) +
                              ", stage 0 receives " + std::to_string(sends.size())});
}

TEST_P(Faults, OtherSizeAndOtherType) {
  Builder types(&getContext());
  for (MemRefType type : {MemRefType::get({4, 8, 15}, types.getF32Type()),
                          MemRefType::get({8, 4, 16}, types.getF32Type()),
                          MemRefType::get({4, 8, 16}, types.getBF16Type())}) {
    Program program(GetParam());
    CollectiveStartOp receive = program.getStarts(1, CollectiveKind::Receive)[1];
    OpBuilder builder(receive);
    receive->setOperand(0, exec::ViewOp::create(builder, receive.getLoc(), type,
                                                receive->getOperand(0), /*offset=*/0));
    std::string text;
    llvm::raw_string_ostream(text) << type;
    std::string travels = StringRef(text).drop_front(strlen("memref<")).drop_back().str();
    expectRefused(program, {"number 1 of what stage 0 sends to stage 1",
                            "stage 0 starts send to stage 1 of 4x8x16xf32 " + getOwner(receive),
                            "but stage 1 starts receive from stage 0 of " + travels + " " +
                                getOwner(receive)});
  }
}

TEST_P(Faults, OtherPeer) {
  Program self(GetParam());
  CollectiveStartOp send = self.getStarts(0, CollectiveKind::Send)[1];
  send.setPeer(0);
  expectRefused(self, {"stage 0's send to stage 0 of 4x8x16xf32 " + getOwner(send) +
                       " is never received: stage 0 sends 1, stage 0 receives 0"});
  Program none(GetParam());
  send = none.getStarts(0, CollectiveKind::Send)[1];
  send.setPeer(2);
  expectRefused(none, {"send to stage 2 of 4x8x16xf32 " + getOwner(send) +
                       " names stage 2; there are stages 0 to 1"});
}

TEST_P(Faults, SlotTakenWhileItHoldsSomething) {
  Program program(GetParam());
  // The first transfer that starts while another is under way.
  for (Operation &op : program.getEntry(0).getBody().front()) {
    auto first = dyn_cast<CollectiveStartOp>(op);
    auto second = CollectiveStartOp();
    for (Operation *next = first ? first->getNextNode() : nullptr;
         next && next != Program::getWait(first) && !second; next = next->getNextNode())
      second = dyn_cast<CollectiveStartOp>(next);
    if (!first || !second || !first.getPeer() || !second.getPeer())
      continue;
    CollectiveWaitOp wait = Program::getWait(second);
    second.setSlot(first.getSlot());
    wait.setSlot(first.getSlot());
    return expectRefused(
        program, {"stage 0 starts " + exec::stringifyCollectiveKind(second.getKind()).str(),
                  getOwner(second) + " in slot " + std::to_string(first.getSlot()) +
                      ", which still holds " + exec::stringifyCollectiveKind(first.getKind()).str(),
                  getOwner(first)});
  }
  FAIL() << "no two transfers are under way at once";
}

TEST_P(Faults, WaitThatIsMissing) {
  Program program(GetParam());
  CollectiveStartOp norm = program.getNorm(1);
  Program::getWait(norm).erase();
  expectRefused(program, {"stage 1 never waits for all_reduce sum over pp of f32, f32, f32"});
}

/// Stage 0 waits for the first gradient before it sends an activation.
TEST_P(Faults, StagesThatWaitForEachOther) {
  Program program(GetParam());
  CollectiveStartOp send = program.getStarts(0, CollectiveKind::Send)[0];
  SmallVector<CollectiveStartOp> receives = program.getStarts(0, CollectiveKind::Receive);
  CollectiveStartOp receive = receives[0];
  CollectiveWaitOp wait = Program::getWait(receive);
  receive.setSlot(40);
  wait.setSlot(40);
  receive->moveBefore(send);
  wait->moveBefore(send);
  expectRefused(program,
                {"stages wait for each other: stage 0 waits for its receive from stage 1 "
                 "of 4x8x16xf32 " +
                     getOwner(receive),
                 "; stage 1 waits for its receive from stage 0 of 4x8x16xf32 " + getOwner(send)});
}

/// What a started receive writes is read by the call that takes it, before the wait.
TEST_P(Faults, ReceivedMemoryUsedBeforeTheWait) {
  Program program(GetParam());
  CollectiveStartOp receive = program.getStarts(1, CollectiveKind::Receive)[1];
  CollectiveWaitOp wait = Program::getWait(receive);
  Operation *user = wait;
  while (!isa<exec::CallOp>(user) ||
         !llvm::is_contained(user->getOperands(), receive->getOperand(0)))
    user = user->getNextNode();
  receive.setSlot(40);
  wait.setSlot(40);
  wait->moveAfter(user);
  expectRefused(program,
                {"stage 1: call @" + cast<exec::CallOp>(user).getCallee().str() + " at ",
                 ", chunk " + std::to_string(getNumber(user, "dist.chunk")) + ", microbatch " +
                     std::to_string(getNumber(receive, "dist.microbatch")) +
                     " reads memory that receive from stage 0 of 4x8x16xf32 " + getOwner(receive) +
                     " writes until its wait"});
}

/// A wait at the end of the step is too late: the plan gives the sent memory to others before.
TEST_P(Faults, SentMemoryOverwrittenBeforeTheWait) {
  Program program(GetParam());
  CollectiveStartOp send = program.getStarts(1, CollectiveKind::Send)[0];
  CollectiveWaitOp wait = Program::getWait(send);
  send.setSlot(40);
  wait.setSlot(40);
  wait->moveBefore(program.getEntry(1).getBody().front().getTerminator());
  expectRefused(program, {"stage 1: ", " writes memory that send to stage 0 of 4x8x16xf32 " +
                                           getOwner(send) + " reads until its wait"});
}

TEST_P(Faults, OneReceiveIntoAnothersMemory) {
  Program program(GetParam());
  auto receives = program.getStarts(1, CollectiveKind::Receive);
  CollectiveStartOp first = receives[0], second = receives[1];
  CollectiveWaitOp wait = Program::getWait(second);
  second->moveAfter(first);
  second.setSlot(40);
  wait.setSlot(40);
  second->setOperand(0, first->getOperand(0));
  expectRefused(program, {"stage 1: receive from stage 0 of 4x8x16xf32 " + getOwner(second) +
                          " writes memory that receive from stage 0 of 4x8x16xf32 " +
                          getOwner(first) + " writes until its wait"});
}

TEST_P(Faults, StageWithoutAProgram) {
  Program program(GetParam());
  program.getEntry(1).erase();
  expectRefused(program, {"the mesh has 2 stages along pp, but there are programs of 1"});
}

INSTANTIATE_TEST_SUITE_P(Schedules, Faults, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (llvm::StringRef name : pipeline::getScheduleNames())
                             names.push_back(name.str());
                           return names;
                         }()),
                         [](const auto &info) {
                           std::string name = info.param;
                           llvm::erase(name, '-');
                           return name;
                         });

//===---------------------------------------------------------------------------------------===//
// Collectives between stages and inside them
//===---------------------------------------------------------------------------------------===//

/// A second collective behind the norm's, of all ranks of the pipeline and along dp.
void addMaximum(Program &program, int64_t stage) {
  CollectiveStartOp norm = program.getNorm(stage);
  CollectiveWaitOp wait = Program::getWait(norm);
  OpBuilder builder(wait);
  builder.setInsertionPointAfter(wait);
  auto groups = program.module->getOperation()->getAttrOfType<ArrayAttr>("exec.groups");
  SmallVector<Attribute> all(groups.begin(), groups.end());
  Attribute axes = builder.getStrArrayAttr({"pp", "dp"});
  auto *place = llvm::find(all, axes);
  uint64_t number = place - all.begin();
  if (place == all.end())
    all.push_back(axes);
  program.module->getOperation()->setAttr("exec.groups", builder.getArrayAttr(all));
  Value buffer = norm.getInputs()[0];
  auto start = CollectiveStartOp::create(
      builder, NameLoc::get(builder.getStringAttr("largest.gradient")),
      exec::CollectiveKindAttr::get(&getContext(), CollectiveKind::AllReduce),
      exec::ReductionAttr::get(&getContext(), exec::Reduction::Max), DenseI64ArrayAttr(),
      IntegerAttr(), builder.getI64IntegerAttr(number), builder.getI64IntegerAttr(0),
      builder.getI64IntegerAttr(40), ValueRange{buffer}, ValueRange{buffer});
  CollectiveWaitOp::create(builder, start.getLoc(), 40);
}

/// The program with a second collective between its stages: the norm's, then it.
struct TwoCollectives : Program {
  TwoCollectives() : Program("1f1b") {
    addMaximum(*this, 0);
    addMaximum(*this, 1);
    auto reductions = getStarts(1, CollectiveKind::AllReduce);
    maximum = reductions.back();
    norm = reductions[reductions.size() - 2];
  }
  CollectiveStartOp norm, maximum;
};

TEST(CollectiveFaults, TwoBetweenStagesAreAccepted) { EXPECT_EQ(TwoCollectives().prove(), ""); }

TEST(CollectiveFaults, OtherOrderOnOneStage) {
  TwoCollectives program;
  CollectiveWaitOp wait = Program::getWait(program.maximum);
  program.maximum->moveBefore(program.norm);
  wait->moveBefore(program.norm);
  expectRefused(program, {"stage 0 starts all_reduce sum over pp of f32, f32, f32 at ",
                          " as collective number 0 between stages, but stage 1 starts all_reduce "
                          "max over pp+dp of f32 at largest.gradient"});
}

TEST(CollectiveFaults, OtherOrderOfWaitsOnOneStage) {
  TwoCollectives program;
  program.maximum->moveAfter(program.norm);
  Program::getWait(program.maximum)->moveAfter(program.maximum);
  expectRefused(program, {"stage 0 waits for all_reduce sum over pp of f32, f32, f32 at ",
                          " where stage 1 waits for all_reduce max over pp+dp of f32 at "
                          "largest.gradient"});
}

TEST(CollectiveFaults, OneStageHasNone) {
  TwoCollectives program;
  Program::erase(program.maximum);
  expectRefused(program, {"stage 0 starts all_reduce max over pp+dp of f32 at largest.gradient as "
                          "collective number 1 between stages, stage 1 has no such collective"});
}

/// A collective between stages ahead of a transfer on one, behind it on the other: what is launched
/// in that order never starts.
TEST(CollectiveFaults, CollectiveAndTransferCross) {
  Program program("1f1b");
  CollectiveStartOp norm = program.getNorm(0);
  CollectiveStartOp receive = program.getStarts(0, CollectiveKind::Receive).back();
  CollectiveWaitOp wait = Program::getWait(norm);
  norm.setSlot(40);
  wait.setSlot(40);
  norm->moveBefore(receive);
  expectRefused(program,
                {"stages wait for each other: stage 0 waits until others start all_reduce "
                 "sum over pp of f32, f32, f32 at ",
                 "; stage 1 waits for its send to stage 0 of 4x8x16xf32 " + getOwner(receive)});
}

/// Tensor parallelism communicates inside the layers: a sum's wait behind the op that takes it.
TEST(CollectiveFaults, SumInsideALayerUsedBeforeItsWait) {
  Program program("1f1b", "\"pp\"=2, \"tp\"=2");
  CollectiveStartOp start;
  for (auto function : program.module->getOps<exec::FunctionOp>())
    if (function.getSymName() == "layer.fwd")
      start = *function.getBody().front().getOps<CollectiveStartOp>().begin();
  ASSERT_TRUE(start);
  CollectiveWaitOp wait = Program::getWait(start);
  Operation *user = wait->getNextNode();
  while (!llvm::is_contained(user->getOperands(), start->getOperand(0)))
    user = user->getNextNode();
  wait->moveAfter(user);
  expectRefused(program, {"stage 0: ", "chunk 0, microbatch 0 ",
                          " memory that all_reduce sum over tp of 8x8x16xf32 at ",
                          ", chunk 0, microbatch 0 writes until its wait"});
}

/// Gradients are summed along dp while the last calls compute; one of these adds to them.
TEST(CollectiveFaults, GradientWrittenWhileItIsSummed) {
  Program program("gpipe");
  CollectiveStartOp sum;
  for (CollectiveStartOp start : program.getStarts(1, CollectiveKind::AllReduce))
    if (start.getInputs().size() > 3)
      sum = start;
  ASSERT_TRUE(sum);
  Operation *writer = sum;
  while (!isa<exec::CallOp>(writer) ||
         !llvm::is_contained(writer->getOperands(), sum.getInputs()[0]))
    writer = writer->getPrevNode();
  sum->moveBefore(writer);
  expectRefused(program, {"stage 1: call @" + cast<exec::CallOp>(writer).getCallee().str(),
                          "chunk 1, microbatch ", " memory that all_reduce sum over dp of ",
                          " writes until its wait"});
}

TEST(CollectiveFaults, WaitInAnotherBlock) {
  Program program("1f1b", "\"pp\"=2, \"tp\"=2");
  for (auto function : program.module->getOps<exec::FunctionOp>())
    if (function.getSymName() == "layer.fwd") {
      auto start = *function.getBody().front().getOps<CollectiveStartOp>().begin();
      start.setSlot(40);
    }
  expectRefused(program, {"stage 0 waits for slot "});
}

} // namespace

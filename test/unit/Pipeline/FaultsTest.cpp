//===- FaultsTest.cpp - Faults that the proof of communication must find ----------------------
//===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "CompiledStages.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::test;

namespace {

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

} // namespace

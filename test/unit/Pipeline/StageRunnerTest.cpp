//===- StageRunnerTest.cpp - Tables and faults in the interpreter of stages -----------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "test/unit/DialectContext.h"
#include "Tables.h"

#include "ulsc/Interpreter.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::pipeline;
using namespace ulsc::test;
using interpreter::Interpreter;
using interpreter::Tensor;

namespace {

/// Steps of sends and receives alone, written event by event.
class Steps {
public:
  explicit Steps(int64_t ranks) : texts(ranks) {}

  /// `type` tells one value from all others.
  void send(int64_t rank, int64_t peer, std::string type, std::string name) {
    add(rank, "%v" + name + " = uls.constant dense<1.0> : " + type);
    add(rank, "%s" + name + " = dist.start { dist.send %v" + name + " to " + std::to_string(peer) +
                  " over @mesh [\"pp\"] : " + type + " dist.yield }" + owner(name) + " : <>");
  }
  void waitSend(int64_t rank, std::string name) { add(rank, "dist.wait %s" + name + " : <>"); }
  void receive(int64_t rank, int64_t peer, std::string type, std::string name) {
    add(rank, "%r" + name + " = dist.start { %in = dist.receive from " + std::to_string(peer) +
                  " over @mesh [\"pp\"] : " + type + " dist.yield %in : " + type + " }" +
                  owner(name) + " : <" + type + ">");
  }
  void waitReceive(int64_t rank, std::string type, std::string name) {
    add(rank, "%o" + name + " = dist.wait %r" + name + " : <" + type + "> -> " + type);
  }
  void sum(int64_t rank, std::string type, std::string name) {
    add(rank, "%v" + name + " = uls.constant dense<1.0> : " + type);
    add(rank, "%h" + name + " = dist.start { %in = dist.all_reduce sum %v" + name +
                  " over @mesh [\"pp\"] : (" + type + ") -> " + type + " dist.yield %in : " + type +
                  " } : <" + type + ">");
    add(rank, "%o" + name + " = dist.wait %h" + name + " : <" + type + "> -> " + type);
  }

  /// What is wrong with a run, empty if nothing.
  std::string run() {
    std::string text = "module attributes {dist.partitioned} {\ndist.mesh @mesh <[\"pp\"=" +
                       std::to_string(texts.size()) + "]>\n";
    for (auto [rank, body] : llvm::enumerate(texts))
      text += "uls.step @step." + std::to_string(rank) +
              "(%tokens: tensor<1xi32>, %targets: tensor<1xi32>) attributes {dist.stage = " +
              std::to_string(rank) + " : i64} {\n" + body + "uls.yield\n}\n";
    std::string problem;
    ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diag) {
      problem += diag.str();
      return success();
    });
    auto module = parseSourceString<ModuleOp>(text + "}", &getContext());
    EXPECT_TRUE(module) << problem << "\n" << text;
    if (!module)
      return problem;
    auto machine = Interpreter::create(*module);
    Tensor tokens({1}, std::vector<int64_t>{0});
    bool failed = !machine || mlir::failed(machine->runStep(tokens, tokens));
    EXPECT_EQ(failed, !problem.empty()) << problem;
    return problem;
  }

private:
  void add(int64_t rank, std::string line) { texts[rank] += "  " + line + "\n"; }

  /// Names are chunk and microbatch: "f2_0" is the activation of chunk 2 and microbatch 0.
  static std::string owner(const std::string &name) {
    size_t middle = name.find('_');
    return " {dist.chunk = " + name.substr(1, middle - 1) +
           " : i64, dist.microbatch = " + name.substr(middle + 1) + " : i64}";
  }

  std::vector<std::string> texts;
};

std::string getName(bool isForward, int64_t chunk, int64_t microbatch) {
  return (isForward ? "f" : "b") + std::to_string(chunk) + "_" + std::to_string(microbatch);
}

/// A type of its own for each value.
std::string getType(const Schedule &schedule, bool isForward, int64_t chunk, int64_t microbatch) {
  int64_t number = (chunk * 2 + isForward) * schedule.shape.microbatches + microbatch + 1;
  return "tensor<" + std::to_string(number) + "xf32>";
}

/// A table that is accepted, with its transfers as planned.
std::string runPlanned(const Schedule &schedule) {
  std::vector<Flow> flows = getFlows(schedule);
  Steps steps(schedule.shape.ranks);
  for (auto [rank, events] : llvm::enumerate(planTransfers(schedule, flows, {})))
    for (const Event &event : events) {
      if (event.kind == Event::Kind::Compute)
        continue;
      const Flow &flow = flows[event.flow];
      bool isForward = flow.from.work == Work::Forward;
      std::string name = getName(isForward, flow.from.chunk, event.microbatch);
      std::string type = getType(schedule, isForward, flow.from.chunk, event.microbatch);
      int64_t from = schedule.rankOf[flow.from.chunk], to = schedule.rankOf[flow.to.front().chunk];
      switch (event.kind) {
      case Event::Kind::StartSend:
        steps.send(rank, to, type, name);
        break;
      case Event::Kind::WaitSend:
        steps.waitSend(rank, name);
        break;
      case Event::Kind::StartReceive:
        steps.receive(rank, from, type, name);
        break;
      case Event::Kind::WaitReceive:
        steps.waitReceive(rank, type, name);
        break;
      case Event::Kind::Compute:
        break;
      }
    }
  return steps.run();
}

/// Any table, as it stands: what a work takes is received right before it, what it gives is sent
/// right after it.
std::string runAsItStands(const Schedule &schedule) {
  Steps steps(schedule.shape.ranks);
  int64_t chunks = schedule.shape.getChunks();
  for (auto [rank, entries] : llvm::enumerate(schedule.ranks)) {
    std::vector<std::string> sent;
    for (const Entry &entry : entries) {
      if (entry.work == Work::BackwardWeight)
        continue;
      bool isForward = entry.work == Work::Forward;
      int64_t before = entry.chunk + (isForward ? -1 : 1),
              after = entry.chunk + (isForward ? 1 : -1);
      if (before >= 0 && before < chunks) {
        std::string name = getName(isForward, before, entry.microbatch);
        std::string type = getType(schedule, isForward, before, entry.microbatch);
        steps.receive(rank, schedule.rankOf[before], type, name);
        steps.waitReceive(rank, type, name);
      }
      if (after >= 0 && after < chunks) {
        sent.push_back(getName(isForward, entry.chunk, entry.microbatch));
        steps.send(rank, schedule.rankOf[after],
                   getType(schedule, isForward, entry.chunk, entry.microbatch), sent.back());
      }
    }
    for (const std::string &name : sent)
      steps.waitSend(rank, name);
  }
  return steps.run();
}

TEST(StageRunner, TablesRunWhereTheyAreAccepted) {
  std::mt19937_64 random(7);
  int64_t accepted = 0, refused = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    Schedule schedule = drawTableOfWholeRanks(random);
    if (schedule.shape.ranks == 1)
      continue;
    std::string wrong = checkSchedule(schedule);
    if (wrong.empty()) {
      EXPECT_EQ(runPlanned(schedule), "") << "table " << i;
      ++accepted;
    } else {
      EXPECT_NE(runAsItStands(schedule), "") << "table " << i << ": " << wrong;
      ++refused;
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

TEST(StageRunner, AHangNamesAllSides) {
  Steps steps(3);
  steps.receive(0, 1, "tensor<2xf32>", "b1_0");
  steps.waitReceive(0, "tensor<2xf32>", "b1_0");
  steps.send(0, 1, "tensor<2xf32>", "f0_0");
  steps.waitSend(0, "f0_0");
  steps.receive(1, 0, "tensor<2xf32>", "f0_0");
  steps.waitReceive(1, "tensor<2xf32>", "f0_0");
  steps.send(1, 0, "tensor<2xf32>", "b1_0");
  steps.waitSend(1, "b1_0");
  std::string text = steps.run();
  EXPECT_NE(text.find("pipeline stages wait for each other: stage 0 waits for its receive from "
                      "stage 1 of tensor<2xf32> at line "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(", chunk 1, microbatch 0; stage 1 waits for its receive from stage 0 of "
                      "tensor<2xf32> at line "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(", chunk 0, microbatch 0; stage 2 is at its end"), std::string::npos) << text;
}

TEST(StageRunner, AnotherValueThanExpectedNamesBothSides) {
  Steps steps(2);
  steps.send(0, 1, "tensor<2xf32>", "f0_3");
  steps.waitSend(0, "f0_3");
  steps.receive(1, 0, "tensor<2xbf16>", "f0_2");
  steps.waitReceive(1, "tensor<2xbf16>", "f0_2");
  std::string text = steps.run();
  EXPECT_NE(text.find("gets another value than it expects: stage 1 waits for its receive from "
                      "stage 0 of tensor<2xbf16> at line "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(", chunk 0, microbatch 2, but next of stage 0 is its send to stage 1 of "
                      "tensor<2xf32> at line "),
            std::string::npos)
      << text;
}

TEST(StageRunner, AnotherCollectiveThanExpectedNamesBothSides) {
  Steps steps(2);
  steps.sum(0, "tensor<2xf32>", "n");
  steps.sum(1, "tensor<3xf32>", "n");
  std::string text = steps.run();
  EXPECT_NE(text.find("meets another collective than it expects: stage 1 waits for its all_reduce "
                      "of tensor<3xf32> at line "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(", but stage 0 is at its all_reduce of tensor<2xf32> at line "),
            std::string::npos)
      << text;
}

} // namespace

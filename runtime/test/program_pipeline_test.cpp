// Programs in stages against the same program in one: the same bits, through files of both.
#include "fake_run.h"

#include <cstring>

using namespace ulsc::test;
using nlohmann::json;

namespace {

class Pipeline : public FakeRun {
protected:
  void expectSameBytes(const std::string &a, const std::string &b) const {
    EXPECT_TRUE(readBytes(path(a)) == readBytes(path(b))) << a << " " << b;
  }

  /// Compares whole tensors, put together from the ranks' slices.
  void expectSameTensors(const std::string &a, const std::string &b, const std::string &prefix,
                         size_t tensors) const {
    std::map<std::string, Tensor> first = readSlices(path(a), prefix),
                                  second = readSlices(path(b), prefix);
    EXPECT_EQ(first.size(), tensors);
    EXPECT_EQ(second.size(), tensors);
    for (const auto &[name, tensor] : first)
      EXPECT_TRUE(tensor.values == second[name].values) << b << " " << name;
  }

  /// The names of the tensors in a safetensors file.
  std::vector<std::string> namesIn(const std::string &file) const {
    std::string bytes = readBytes(path(file));
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    std::vector<std::string> names;
    json header = json::parse(bytes.substr(8, length));
    for (const auto &entry : header.items())
      if (entry.key() != "__metadata__")
        names.push_back(entry.key());
    return names;
  }
};

/// With as many data ranks and one stage.
std::string unpiped(const std::string &mesh) { return "1" + mesh.substr(1); }

TEST_F(Pipeline, StagesComputeTheSameBits) {
  for (std::string mesh : {"2x1-pp", "2x2-pp"}) {
    for (std::string name : {mesh, unpiped(mesh)})
      runProgram(name,
                 {"--steps", "3", "--export-hf", path("e" + name), "--dump-gradients",
                  path("g" + name), "--save", path("s" + name), "--metrics", path("m" + name)});
    std::string one = unpiped(mesh);
    expectSameBytes("e" + one + "/model.safetensors", "e" + mesh + "/model.safetensors");
    expectSameBytes("e" + one + "/config.json", "e" + mesh + "/config.json");
    expectSameTensors("g" + one, "g" + mesh, "step-3-", 3);
    expectSameTensors("s" + one + "/step-3", "s" + mesh + "/step-3", "rank-", 6);
    std::vector<StepMetrics> whole = metrics("m" + one), piped = metrics("m" + mesh);
    ASSERT_EQ(piped.size(), 3u);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(piped[i].loss, whole[i].loss);
      EXPECT_EQ(piped[i].gradNorm, whole[i].gradNorm);
    }
    EXPECT_TRUE(piped[0].all["exposed_comm_ms"].contains("send"));
    EXPECT_TRUE(piped[0].all["exposed_comm_ms"].contains("receive"));
  }
}

TEST_F(Pipeline, ResumeOnAnotherNumberOfStages) {
  for (std::string mesh : {"2x1-pp", "2x2-pp"}) {
    std::string one = unpiped(mesh);
    for (std::string name : {mesh, one}) {
      runProgram(name, {"--steps", "3", "--save", path(name)});
      runProgram(name, {"--steps", "5", "--save", path("whole-" + name)});
      runProgram(name, {"--steps", "5", "--save", path(name), "--resume", "auto"});
      expectSameSave("whole-" + name + "/step-5", name + "/step-5");
    }
    for (auto [from, to] : {std::pair(mesh, one), {one, mesh}}) {
      std::string saves = "from-" + from;
      runProgram(
          to, {"--steps", "5", "--resume", path(from).string() + "/step-3", "--save", path(saves)});
      expectSameSave("whole-" + to + "/step-5", saves + "/step-5");
    }
  }
  // With other data ranks, too.
  for (auto [from, to] : {std::pair("2x2-pp", "1x1-pp"), {"1x1-pp", "2x2-pp"}}) {
    runProgram(to, {"--steps", "5", "--resume", path(from), "--export-hf", path("a")});
    runProgram(from, {"--steps", "5", "--resume", path(from), "--export-hf", path("b")});
    expectSameBytes("a/model.safetensors", "b/model.safetensors");
  }
}

TEST_F(Pipeline, EachSliceIsSavedOnce) {
  runProgram("2x2-pp", {"--steps", "1", "--save", path("s"), "--export-hf", path("e")});
  auto saved = [&](int rank) {
    return namesIn("s/step-1/rank-0000" + std::to_string(rank) + ".safetensors");
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(saved(0), (Names{"first.bias:moment1", "first.bias:parameter", "table.weight:moment1",
                             "table.weight:parameter"}));
  EXPECT_EQ(saved(1), (Names{"first.bias:moment1", "table.weight:moment1"}));
  EXPECT_EQ(saved(2), (Names{"last.bias:moment1", "last.bias:parameter"}));
  EXPECT_EQ(saved(3), (Names{"last.bias:moment1"}));
  Names described;
  json state = readJson(path("s/step-1/state.json"));
  for (const json &tensor : state["tensors"])
    described.push_back(tensor["name"]);
  EXPECT_EQ(described,
            (Names{"table.weight:parameter", "table.weight:moment1", "first.bias:parameter",
                   "first.bias:moment1", "last.bias:parameter", "last.bias:moment1"}));
  EXPECT_EQ(namesIn("e/model.safetensors"), (Names{"first.bias", "last.bias", "table.weight"}));
}

TEST_F(Pipeline, InitialValuesAndWeights) {
  for (std::string name : {"1x1-pp", "2x2-pp"})
    runWithoutData(name, {"--steps", "0", "--seed", "4", "--export-hf", path(name)});
  expectSameBytes("1x1-pp/model.safetensors", "2x2-pp/model.safetensors");
  runProgram("2x1-pp", {"--steps", "2", "--export-hf", path("a")});
  for (std::string name : {"2x2-pp", "1x2-pp"}) {
    runWithoutData(name, {"--weights", path("a"), "--steps", "0", "--export-hf", path("b")});
    expectSameBytes("a/model.safetensors", "b/model.safetensors");
  }
  // The tied table of the last stage is read, too.
  for (std::string name : {"1x2-pp", "2x2-pp"})
    runProgram(name, {"--weights", path("a"), "--steps", "2", "--export-hf", path("c" + name)});
  expectSameBytes("c1x2-pp/model.safetensors", "c2x2-pp/model.safetensors");
}

TEST_F(Pipeline, WeightsAreComparedWithTheWholeModel) {
  runWithoutData("2x1-pp", {"--steps", "0", "--export-hf", path("a")});
  std::string bytes = readBytes(path("a/model.safetensors"));
  for (auto [old, changed] : {std::pair("last.bias", "lost.bias"), {"first.bias", "worst.bia"}})
    if (size_t at = bytes.find(old); at != std::string::npos)
      bytes.replace(at, std::strlen(changed), changed);
  write("a/model.safetensors", bytes);
  std::string errors = runProgram("2x1-pp", {"--steps", "1", "--weights", path("a")}, 1);
  for (const char *part : {"missing first.bias [4]", "missing last.bias [4]",
                           "unknown lost.bias [4]", "unknown worst.bias [4]"}) {
    expectPart(errors, part);
    EXPECT_EQ(errors.find(part), errors.rfind(part)) << errors;
  }
  EXPECT_EQ(errors.find("table.weight ["), std::string::npos) << errors;
}

TEST_F(Pipeline, CheckpointsOfAnotherModelAreRefused) {
  runProgram("2x1", {"--steps", "1", "--save", path("s")});
  std::string errors = runProgram("2x1-pp", {"--steps", "2", "--resume", path("s")}, 1);
  expectPart(errors, "it lacks first.bias:moment1");
  expectPart(errors, "it lacks last.bias:moment1");
  expectPart(
      errors,
      "it has bias:master, which the program does not know\n  and 2 more tensors that differ");
}

TEST_F(Pipeline, MessagesOfAnotherSizeEndTheJob) {
  // Shorter and longer, in one go and after a handshake.
  for (auto [extra, bytes] :
       {std::pair("-1", "1020"), {"-256", "0"}, {"3", "1036"}, {"9744", "40000"}}) {
    Outcome outcome =
        run(command("2x1-pp", {"--data", tokens, "--steps", "1"}, {{"FAKE_EXTRA", extra}}));
    EXPECT_NE(outcome.exitCode, 0);
    expectPart(outcome.output, "error: rank 1: receive of activations: the message from position 0 "
                               "of its group has " +
                                   std::string(bytes) + " bytes, but the receive expects 1024");
  }
}

TEST_F(Pipeline, StagesAreTold) {
  std::string output = runProgram("2x1-pp", {"--steps", "1", "--metrics", path("m"), "--trace",
                                             path("t"), "--trace-steps", "1"});
  expectPart(output, "mesh     pp=2,dp=1 (2 ranks)\npipeline 2 stages, schedule gpipe\nbatch ");
  expectPart(output, "memory   84.0 KiB a rank of stage 0: parameters 4.0 KiB\n");
  expectPart(output, "memory   88.0 KiB a rank of stage 1: parameters 4.0 KiB\n");
  json manifest = json::parse(runWithoutData("2x1-pp", {"--describe"}));
  EXPECT_EQ(manifest["stages"].size(), 2u);
  EXPECT_EQ(manifest["pipeline"]["chunks"][1]["blocks"], json({"last"}));
  EXPECT_EQ(metrics("m").at(0).all["peak_memory_bytes"], manifest["stages"][0]["arena"]["bytes"]);
  std::string trace = readBytes(path("t"));
  for (const char *name : {"\"send start\"", "\"send wait\"", "\"receive start\"", "\"receive\""})
    expectPart(trace, name);
}

TEST_F(Pipeline, TracesTellWaitsAndWhatRan) {
  run(command("2x1-pp",
              {"--data", tokens, "--steps", "2", "--trace", path("t"), "--trace-steps", "1"},
              {{"FAKE_SLEEP_MS", "60"}}));
  json trace = readJson(path("t"));
  EXPECT_EQ(trace["otherData"], json({{"model", "fake"},
                                      {"family", "fake"},
                                      {"parameters", 208},
                                      {"dtype", "f32"},
                                      {"seq", 16},
                                      {"micro_batch", 4},
                                      {"mesh", "pp=2,dp=1"}}));
  int blocks = 0;
  for (const json &block : trace["traceEvents"]) {
    if (block.value("cat", "") != "block")
      continue;
    ++blocks;
    double begin = block["ts"], duration = block["dur"], waited = 0;
    for (const json &event : trace["traceEvents"]) {
      std::string category = event.value("cat", "");
      bool isWaited = category == "start" || category == "wait";
      if (isWaited && event["pid"] == block["pid"] && event["ts"] >= begin &&
          event["ts"] <= begin + duration)
        waited += event["dur"].get<double>();
    }
    EXPECT_NEAR(block["args"]["waited_us"].get<double>(), waited, 1e-3);
    // The last stage waits for the first, which sleeps, and does nothing else in there.
    EXPECT_LE(waited, duration);
    if (block["pid"] == 1) {
      EXPECT_GT(waited, 0.9 * duration);
      EXPECT_GT(waited, 30e3);
    }
  }
  EXPECT_EQ(blocks, 2);
}

TEST_F(Pipeline, BytesOnTheWire) {
  run(command("2x2-pp", {"--data", tokens, "--steps", "3"},
              preload("ulsc_pmpi_shim", {{"ULSC_PMPI_OUT", path("pmpi.%r")}})));
  // Collectives 0 and 1 are the activations' send and receive, 2 and 3 the cotangents'.
  for (int rank = 0; rank < 4; ++rank) {
    json counted = readJson(path("pmpi." + std::to_string(rank)))["collectives"];
    bool isFirst = rank < 2;
    for (const char *identifier : {isFirst ? "0" : "1", isFirst ? "3" : "2"}) {
      EXPECT_EQ(counted[identifier]["calls"], 3 * 2) << rank;
      EXPECT_EQ(counted[identifier]["bytes"], 3 * 2 * 512) << rank;
      EXPECT_EQ(counted[identifier]["wire_bytes"], 3 * 2 * 512) << rank;
    }
    for (const char *identifier : {isFirst ? "1" : "0", isFirst ? "2" : "3"})
      EXPECT_FALSE(counted.contains(identifier)) << rank;
  }
}

} // namespace

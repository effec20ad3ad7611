// What whole runs compute, write and refuse, on hand-written programs.
#include "fake_run.h"

#include <cstring>
#include <set>

#include <sys/stat.h>

using namespace ulsc::test;
using nlohmann::json;

namespace {

using Program = FakeRun;

json headerOf(const std::string &safetensors) {
  uint64_t length = 0;
  std::memcpy(&length, safetensors.data(), 8);
  return json::parse(safetensors.substr(8, length));
}

std::string safetensors(const json &header, size_t bytes) {
  std::string text = header.dump();
  uint64_t length = text.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + text + std::string(bytes, '\0');
}

size_t countPart(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

// What a run computes.

TEST_F(Program, MeshesAgree) {
  std::map<std::string, std::vector<StepMetrics>> steps;
  std::map<std::string, std::map<std::string, Tensor>> gradients;
  for (std::string mesh : {"1x1", "2x1", "1x2", "2x2"}) {
    runProgram(mesh, {"--steps", "4", "--metrics", path(mesh), "--dump-gradients",
                      path("gradients-" + mesh)});
    steps[mesh] = metrics(mesh);
    gradients[mesh] = readSlices(path("gradients-" + mesh), "step-4-");
    ASSERT_EQ(steps[mesh].size(), 4u);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(steps[mesh][i].loss, steps["1x1"][i].loss, 1e-5) << mesh;
      EXPECT_NEAR(steps[mesh][i].gradNorm, steps["1x1"][i].gradNorm, 1e-5) << mesh;
    }
    size_t elements = 0;
    ASSERT_EQ(gradients[mesh].size(), 2u);
    for (const auto &[name, tensor] : gradients["1x1"]) {
      const Tensor &other = gradients[mesh][name];
      ASSERT_EQ(other.shape, tensor.shape) << name;
      for (size_t i = 0; i < tensor.values.size(); ++i, ++elements)
        EXPECT_NEAR(other.values[i], tensor.values[i], 1e-6) << mesh << " " << name << " " << i;
    }
    EXPECT_EQ(elements, 203u);
  }
}

TEST_F(Program, Metrics) {
  runProgram("2x1", {"--steps", "3", "--metrics", path("m"), "--lr-schedule", "linear",
                     "--warmup-steps", "1", "--lr", "0.4"});
  std::vector<StepMetrics> records = metrics("m");
  ASSERT_EQ(records.size(), 3u);
  const double rates[] = {0.4, 0.4, 0.2};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(records[i].step, i + 1);
    EXPECT_EQ(records[i].all["tokens_consumed"], 128 * (i + 1));
    EXPECT_NEAR(records[i].all["lr"], rates[i], 1e-6);
  }
  json first = records[0].all;
  json manifest = json::parse(run({programOf("2x1"), "--describe"}).output);
  EXPECT_EQ(first["peak_memory_bytes"], manifest["arena"]["bytes"]);
  EXPECT_TRUE(first["exposed_comm_ms"].contains("all_reduce"));
  for (const char *key : {"tokens_per_s", "tokens_per_s_per_device", "step_ms", "input_wait_ms",
                          "process_memory_bytes"})
    EXPECT_TRUE(first.contains(key)) << key;
}

// Weights.

TEST_F(Program, WeightsRoundTrip) {
  runProgram("2x2", {"--steps", "2", "--export-hf", path("a")});
  std::string exported = readBytes(path("a/model.safetensors"));
  json header = headerOf(exported);
  EXPECT_EQ(header["__metadata__"], json({{"format", "pt"}}));
  EXPECT_EQ(header["table.weight"]["shape"], json({50, 4}));
  EXPECT_EQ(readBytes(path("a/config.json")), "{\"model_type\": \"fake\"}");
  runWithoutData("1x2", {"--weights", path("a"), "--steps", "0", "--export-hf", path("b")});
  EXPECT_TRUE(readBytes(path("b/model.safetensors")) == exported);
}

TEST_F(Program, WeightsThatDoNotFit) {
  auto tensor = [](std::vector<int> shape, int begin, int end) {
    return json{{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, end}}};
  };
  write("w", safetensors({{"model.bias", tensor({4}, 0, 16)},
                          {"h.0.attn.bias", tensor({1}, 16, 20)},
                          {"other", tensor({1}, 20, 24)}},
                         24));
  std::string errors = runProgram("2x1", {"--steps", "1", "--weights", path("w")}, 1);
  for (const char *part : {"missing table.weight [50, 4]",
                           "model.bias is [4], but the model has [3]", "unknown other"})
    EXPECT_EQ(countPart(errors, part), 1u) << part << "\n" << errors;
  EXPECT_EQ(countPart(errors, "attn.bias"), 0u) << errors;
  std::filesystem::create_directories(path("d"));
  expectPart(runProgram("1x1", {"--steps", "1", "--weights", path("d")}, 1),
             "neither model.safetensors nor");
}

TEST_F(Program, WeightsThatAreNotFinite) {
  runProgram("1x1", {"--steps", "1", "--export-hf", path("a")});
  std::string bytes = readBytes(path("a/model.safetensors"));
  json header = headerOf(bytes);
  size_t data = 8 + bytes.size() - 8; // the values' begin, from the last tensor's end
  for (const char *name : {"bias", "table.weight"})
    data = std::min(data, bytes.size() - header[name]["data_offsets"][1].get<size_t>());
  for (auto [name, value] : {std::pair("bias", std::string("\x80\x7f", 2)),
                             {"table.weight", std::string("\0\0\xc0\x7f", 4)}}) {
    std::string changed = bytes;
    size_t begin = data + header[name]["data_offsets"][0].get<size_t>();
    changed.replace(begin + value.size(), value.size(), value);
    write("w.safetensors", changed);
    for (const char *mesh : {"1x1", "2x1"})
      expectPart(runProgram(mesh, {"--steps", "1", "--weights", path("w.safetensors")}, 1),
                 std::string(" in tensor '") + name + "' at element 1");
  }
}

TEST_F(Program, IndexThatDoesNotFit) {
  runProgram("1x1", {"--steps", "1", "--export-hf", path("a")});
  std::filesystem::rename(path("a/model.safetensors"), path("a/one.safetensors"));
  auto index = [&](const json &map) {
    write("a/model.safetensors.index.json", json{{"weight_map", map}}.dump());
    return Words{"--steps", "1", "--weights", path("a")};
  };
  json whole = {{"bias", "one.safetensors"}, {"table.weight", "one.safetensors"}};
  runProgram("1x1", index(whole));
  json changed = whole;
  changed.erase("bias");
  expectPart(runProgram("1x1", index(changed), 1), "it omits bias, which is in");
  changed["other"] = "one.safetensors";
  expectPart(runProgram("1x1", index(changed), 1), "it has other in \"one.safetensors\"");
  write("a/two.safetensors", safetensors(json::object(), 0));
  whole["bias"] = "two.safetensors";
  expectPart(runProgram("1x1", index(whole), 1),
             "it has bias in \"two.safetensors\", but it is in");
}

TEST_F(Program, StandardOutputOnAFullDisk) {
  for (const char *flags : {" --steps 2", " --describe", " --help"}) {
    std::string program = programOf("1x1").string() + " --data " + tokens + flags;
    Outcome outcome = run({"bash", "-c", program + " > /dev/full"});
    EXPECT_EQ(outcome.exitCode, 1) << flags;
    expectPart(outcome.output, "can't write all of the standard output");
  }
}

// What independent counters see.

TEST_F(Program, BytesOnTheWire) {
  run(command("2x2", {"--data", tokens, "--steps", "3"},
              preload("ulsc_pmpi_shim", {{"ULSC_PMPI_OUT", path("pmpi.%r")}})));
  struct Expected {
    const char *identifier;
    int64_t bytes; ///< of one call
    int ranks;     ///< of its group
  };
  for (int rank = 0; rank < 4; ++rank) {
    json report = readJson(path("pmpi." + std::to_string(rank)));
    EXPECT_EQ(report["ranks"], 4);
    for (Expected e : {Expected{"0", 8, 4}, {"1", 27 * 4 * 4, 2}, {"2", 4, 2}}) {
      const json &entry = report["collectives"][e.identifier];
      EXPECT_EQ(entry["calls"], 3);
      EXPECT_EQ(entry["bytes"], 3 * e.bytes);
      EXPECT_NEAR(entry["wire_bytes"], 3.0 * e.bytes * 2 * (e.ranks - 1) / e.ranks, 1e-6);
    }
  }
}

TEST_F(Program, Allocations) {
  json manifest = json::parse(run({programOf("2x1"), "--describe"}).output);
  int64_t arena = (manifest["arena"]["bytes"].get<int64_t>() + 4095) / 4096 * 4096;
  run(command("2x1", {"--data", tokens, "--steps", "3"},
              preload("ulsc_alloc_shim", {{"ULSC_ALLOC_OUT", path("alloc.%r")}})));
  for (int rank = 0; rank < 2; ++rank) {
    json report = readJson(path("alloc." + std::to_string(rank)));
    // The arena alone, in whole pages.
    EXPECT_EQ(report["callers"]["program"]["peak_bytes"], arena);
    EXPECT_EQ(report["regions"], json::array({{{"bytes", arena}, {"caller", "program"}}}));
    EXPECT_GT(report["peak_rss_bytes"], 1 << 20);
  }
}

// What a user gets wrong.

TEST_F(Program, Flags) {
  const std::pair<Words, const char *> cases[] = {
      {{"--stps", "1"}, "the nearest is '--steps'"},
      {{"--steps", "1", "--shuffle"}, "'--shuffle' is not supported"},
      {{"--steps", "1", "--lr-schedule", "cosin"}, "nearest is 'cosine'"},
      {{"--steps", "1", "--betas", "0.9"}, "needs two"},
      {{"--steps", "1", "--betas", "0.8,0.9"}, "'--betas' belongs to adamw"},
      {{"--steps", "1", "--cuda-graph", "on"}, "'--cuda-graph' belongs to --target cuda"},
      {{"--steps", "1", "--cuda-graph", "yes"}, "has to be one of on, off, auto"},
      {{"--steps", "1", "--lr", "fast"}, "flag '--lr' is 'fast', but takes a finite number"},
      {{"--steps", "1.5"}, "flag '--steps' is '1.5', but takes a whole number"},
      {{"--steps", "99999999999999999999"}, "'--steps' is 99999999999999999999, but has to lie in"},
      {{"--steps", "1", "--seed", "-1"}, "flag '--seed' is -1, but has to lie in [0, 1844"},
      {{"--steps", "1", "--seed", "18446744073709551616"}, "flag '--seed' is 18446744073709551616"},
      {{"--steps", "1", "--threads", "5000"}, "has to lie in [0, 4096]; the nearest is 4096"},
      {{"--steps"}, "flag '--steps' has no value"},
      {{"--steps", "1", "--lr", "1", "--lr", "2"}, "flag '--lr' has 2 values, but takes one"},
      {{"--steps", "1", "--momentum", "nan"}, "flag '--momentum' is 'nan'"},
      {{"--steps", ""}, "flag '--steps' is ''"},
      {{"--steps", "1", "--weights", ""}, "flag '--weights' is empty"},
      {{"--steps", "1", "--metrics", ""}, "flag '--metrics' is empty"},
      {{"--steps", "1", "--save", ""}, "flag '--save' is empty"},
      {{"--steps", "1", "--weights="}, "flag '--weights' is empty"},
      {{"--describe=foo"}, "flag '--describe' takes no value"},
      {{"--steps", "1", "--data", ""}, "flag '--data' is empty"},
      {{"--steps", "0"}, "at least 1"},
      {{"--steps", "1", "--dropout", "0.1"}, "compiled without dropout"},
      {{"--steps", "1", "--resume", "auto"}, "needs '--save DIR'"},
      {{"--steps", "1", "stray"}, "unexpected argument 'stray'"}};
  for (const auto &[flags, part] : cases)
    expectPart(runProgram("1x1", flags, 2), part);
  runProgram("1x1",
             {"--steps", "1", "--momentum", "0.8", "--lr=1e-2", "--seed", "1", "--seed", "2"});
  EXPECT_EQ(json::parse(runWithoutData("1x1", {"--describe"}))["schema"], "ulsc.manifest/1");
}

TEST_F(Program, Ranks) {
  Outcome outcome = run({programOf("2x1"), "--data", tokens, "--steps", "1"});
  EXPECT_EQ(outcome.exitCode, 1);
  expectPart(outcome.output, "2 ranks, but was started with 1; run 'mpirun -np 2");
}

// Ranks that were not started alike would wait for ever, or train on mixtures.

TEST_F(Program, RanksWithOtherPrograms) {
  const std::tuple<const char *, const char *, const char *> cases[] = {
      {"2x1", "1x2", "in the manifest, /mesh/axes/0/size is 1 here and 2 on rank 0"},
      {"2x1", "2x1-flat", "in the manifest, /tensors/0/"},
      {"2x1-pp", "1x2-pp",
       "in the manifest, /mesh/axes is [{\"name\":\"dp\",\"size\":2}] here and"}};
  for (auto [first, second, part] : cases) {
    std::string errors = runMixed(first, {"--steps", "2"}, second, {"--steps", "2"}, 1);
    expectPart(errors, "error: rank 1: this rank's program is not that of rank 0: ");
    expectPart(errors, part);
  }
}

TEST_F(Program, RanksWithOtherFlags) {
  std::string save = path("save");
  const std::tuple<Words, Words, const char *> cases[] = {
      {{"--steps", "2"}, {"--steps", "3"}, "'--steps' is 3 here and 2 on rank 0"},
      {{"--save", save}, {}, "'--save' is not given here and "},
      {{"--save", save}, {"--save", save + "2"}, "'--save' is /"},
      {{}, {"--lr", "0.25"}, "'--lr' is 0.25 here and 0.5 on rank 0"},
      {{"--seed", "1"}, {}, "'--seed' is 0 here and 1 on rank 0"},
      {{}, {"--weights", "w"}, "'--weights' is given here and not given on rank 0"},
      {{}, {"--dropout", "0"}, "'--dropout' is 0.0 here and as compiled on rank 0"},
      {{"--trace", path("t")}, {}, "'--trace' is not given here and given on rank 0"}};
  auto withSteps = [](Words flags) {
    if (flags.empty() || flags[0] != "--steps")
      flags.insert(flags.end(), {"--steps", "2"});
    return flags;
  };
  for (const auto &[first, second, part] : cases)
    expectPart(runMixed("2x1", withSteps(first), "2x1", withSteps(second), 1),
               std::string("error: rank 1: flag ") + part);
  EXPECT_EQ(listDirectory(save).size(), 0u);
  // What may differ.
  runMixed("2x1", {"--steps", "1", "--metrics", path("m"), "--seed", "0"}, "2x1",
           {"--steps", "1", "--data", tokens, "--trace-steps", "2"}, 0);
}

TEST_F(Program, TokenFiles) {
  auto bytes = [](size_t count, char even) {
    std::string text(count, '\0');
    for (size_t i = 0; i < count; i += 2)
      text[i] = even;
    return text;
  };
  const std::pair<std::string, const char *> cases[] = {
      {"", "holds 0 tokens"},
      {bytes(33, 0), "has 33 bytes"},
      {bytes(32, 0), "at least 17 tokens"},
      {bytes(40, 1) + std::string("\x32\0", 2) + bytes(40, 0), "holds id 50 at byte 40"}};
  for (const auto &[content, part] : cases) {
    write("bad.bin", content);
    expectPart(runWithoutData("1x1", {"--data", path("bad.bin"), "--steps", "1"}, 1), part);
  }
  expectPart(runWithoutData("1x1", {"--data", directory, "--steps", "1"}, 1), "is a directory");
  expectPart(runWithoutData("1x1", {"--data", path("none"), "--steps", "1"}, 1), "No such file");
}

// Neither opened, which would wait for a FIFO's other end, nor replaced by a regular file.
TEST_F(Program, SpecialFilesAreRefused) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0644), 0);
  std::filesystem::create_symlink("/dev/full", path("full"));
  for (const char *flag : {"--data", "--weights", "--trace"})
    for (auto [name, kind] : {std::pair("fifo", "fifo' is a FIFO; give a regular file"),
                              {"full", "full' is a device; give a regular file"}}) {
      std::string errors = runProgram("1x1", {"--steps", "1", flag, path(name)}, 1);
      expectPart(errors, kind);
      EXPECT_FALSE(std::filesystem::is_regular_file(path(name))) << flag;
    }
  EXPECT_TRUE(std::filesystem::is_symlink(path("full")));
}

TEST_F(Program, Threads) {
  Outcome outcome =
      run({"env", "OMP_NUM_THREADS=64", programOf("1x1"), "--data", tokens, "--steps", "1"});
  expectPart(outcome.output, "OMP_NUM_THREADS=64 is not used");
}

} // namespace

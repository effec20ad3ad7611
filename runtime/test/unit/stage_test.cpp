// Manifests of pipelined programs: whose tensors are whose, and what is refused.
#include "core/error.h"
#include "core/manifest.h"
#include "core/slice.h"
#include "data/token_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace ulsc::runtime;
using nlohmann::json;

namespace {

json tensor(const std::string &name, int64_t offset) {
  return {{"name", name},      {"role", "parameter"},
          {"dtype", "f32"},    {"offset", offset},
          {"shape", {4, 2}},   {"sharding", json::parse("[[\"tp\"],[]]")},
          {"flat", {"dp"}},    {"group", 0},
          {"trainable", true}, {"init", {{"kind", "ones"}}}};
}

/// Two stages on pp=2,dp=2,tp=2, which share "table"; each reads one input.
json document() {
  json input = {{"offset", 64}, {"shape", {1, 1, 4}}, {"dtype", "i32"}};
  json result = json::parse(R"({"schema": "ulsc.manifest/1", "model": {"vocabulary": 9},
    "mesh": {"axes": [{"name": "pp", "size": 2}, {"name": "dp", "size": 2}, {"name": "tp", "size": 2}]},
    "batch": {"global": 2, "micro": 1, "microbatches": 1, "seq": 4, "data_axes": ["dp"]}})");
  result["stages"] = {{{"arena", {{"bytes", 256}}},
                       {"inputs", {{"tokens", input}}},
                       {"tensors", {tensor("table", 0), tensor("first", 16)}},
                       {"collective_slots", 1}},
                      {{"arena", {{"bytes", 512}}},
                       {"inputs", {{"targets", input}}},
                       {"tensors", {tensor("last", 400), tensor("table", 416)}},
                       {"collective_slots", 3},
                       {"staging", {{"offset", 256}, {"bytes", 128}}}}};
  return result;
}

std::string problemOf(const json &manifest) {
  try {
    parseManifest(manifest.dump().c_str());
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Stage, each_rank_has_its_own) {
  Manifest manifest = parseManifest(document().dump().c_str());
  ASSERT_EQ(manifest.stages.size(), 2u);
  EXPECT_EQ(manifest.stageOf({0, 1, 1}).arenaBytes, 256);
  const Stage &last = manifest.stageOf({1, 0, 1});
  EXPECT_EQ(last.arenaBytes, 512);
  EXPECT_EQ(last.collectiveSlots, 3);
  EXPECT_EQ(last.stagingOffset, 256);
  EXPECT_FALSE(last.tokens);
  EXPECT_TRUE(last.targets);
  EXPECT_EQ(last.find("table", "parameter")->offset, 416);
  EXPECT_EQ(last.find("first", "parameter"), nullptr);
}

TEST(Stage, the_lowest_that_has_a_tensor_owns_it) {
  Manifest manifest = parseManifest(document().dump().c_str());
  std::vector<std::string> names;
  for (const StateTensor *tensor : manifest.modelTensors())
    names.push_back(tensor->name);
  EXPECT_EQ(names, (std::vector<std::string>{"table", "first", "last"}));
  // Of each element of a tensor one rank speaks: four ranks of one stage have a part each.
  for (const char *name : {"table", "first", "last"}) {
    std::vector<int64_t> speakers;
    for (int64_t rank = 0; rank < manifest.mesh.ranks(); ++rank) {
      Shape coordinates = manifest.mesh.coordinates(rank);
      const StateTensor *tensor = manifest.stageOf(coordinates).find(name, "parameter");
      if (tensor && isFirstReplica(*tensor, manifest.mesh, coordinates))
        speakers.push_back(rank);
    }
    int64_t first = std::string(name) == "last" ? 4 : 0;
    EXPECT_EQ(speakers, (std::vector<int64_t>{first, first + 1, first + 2, first + 3})) << name;
  }
}

TEST(Stage, a_batch_fills_the_inputs_that_it_reads) {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "ulsc-stage-tokens.bin";
  std::ofstream(path, std::ios::binary) << std::string("\1\0\2\0\3\0\4\0\5\0\6\0\7\0\0\0\1\0", 18);
  Manifest manifest = parseManifest(document().dump().c_str());
  TokenFile file(path, 9, 4);
  for (auto [coordinates, first] : {std::pair(Shape{0, 0, 0}, 1), {Shape{1, 0, 0}, 2}}) {
    std::vector<int32_t> arena(32, -7);
    DirectArenaView view(reinterpret_cast<char *>(arena.data()));
    copyBatch(file, manifest, coordinates, 0, view);
    std::vector<int32_t> expected(32, -7);
    for (int i = 0; i < 4; ++i)
      expected[16 + i] = first + i;
    EXPECT_EQ(arena, expected);
  }
  std::filesystem::remove(path);
}

TEST(Stage, a_pipeline_may_be_told) {
  Manifest untold = parseManifest(document().dump().c_str());
  EXPECT_EQ(untold.pipelineSchedule, "");
  EXPECT_EQ(untold.chunksPerStage, 0);
  json told = document();
  json chunk = {{"stage", 0}, {"blocks", {"layer.0"}}};
  told["pipeline"] = {{"schedule", "zbv"}, {"chunks", {chunk, chunk, chunk, chunk}}};
  Manifest manifest = parseManifest(told.dump().c_str());
  EXPECT_EQ(manifest.pipelineSchedule, "zbv");
  EXPECT_EQ(manifest.chunksPerStage, 2);
}

TEST(Stage, malformed_ones_are_refused) {
  EXPECT_EQ(problemOf(document()), "");
  auto changed = [](const char *pointer, const json &value) {
    json result = document();
    result[json::json_pointer(pointer)] = value;
    return result;
  };
  auto without = [](const char *parent, const char *key) {
    json result = document();
    result.at(json::json_pointer(parent)).erase(key);
    return result;
  };
  json one = document();
  one["stages"].erase(1);
  json other = tensor("table", 416);
  other["shape"] = {8, 2};
  json split = tensor("last", 400);
  split["flat"] = {"pp"};
  const std::pair<json, const char *> cases[] = {
      {one, "has 1 stages, but mesh axis pp=2"},
      {changed("/stages", json::object()), "\"stages\" are no list"},
      {changed("/pipeline", 3), "has 3 in \"pipeline\", which is an object about \"stages\""},
      {changed("/pipeline", {{"schedule", 3}}), "must be string"},
      {changed("/pipeline", {{"chunks", json::array({1})}}),
       "has [1] in \"chunks\" of its \"pipeline\", which is a list of as many chunks for each of 2 "
       "stages"},
      {changed("/stages", 3), "\"stages\" are no list"},
      {changed("/stages", json::array()), "\"stages\" are empty"},
      {changed("/mesh/axes/0/name", "cp"), "'pp' is not the first axis of its mesh, cp=2,dp=2"},
      {changed("/mesh/axes", json::array()), "'pp' is not the first axis of its mesh, 1 device"},
      {changed("/arena", {{"bytes", 1}}), "has \"arena\" beside \"stages\""},
      {changed("/staging", json::object()), "has \"staging\" beside \"stages\""},
      {changed("/stages/1", 7), "in stage 1 of the program's manifest: "},
      {without("/stages/1", "arena"), "in stage 1 of the program's manifest: "},
      {without("/stages/0", "tensors"), "key 'tensors' not found"},
      {without("/stages/0", "inputs"), "key 'inputs' not found"},
      {changed("/stages/0/inputs", json::array()), "\"inputs\" are no object"},
      {changed("/stages/0/arena/bytes", "many"), "in stage 0 of the program's manifest: "},
      {changed("/stages/1/arena/bytes", 384), "in stage 1 of the program's manifest: the "
                                              "manifest's tensor 'last' lies outside the arena"},
      {changed("/stages/1/staging/offset", 500), "staging lies outside the arena"},
      {changed("/stages/1/tensors/1", other),
       "tensor 'table:parameter' of stage 1 differs from that of stage 0"},
      {changed("/stages/1/tensors/1/init/kind", "zeros"), "differs from that of stage 0"},
      {changed("/stages/1/tensors/0", split), "'last' is split over mesh axis 'pp'"},
      {without("", "stages"), "key 'arena' not found"}};
  for (const auto &[manifest, problem] : cases)
    EXPECT_NE(problemOf(manifest).find(problem), std::string::npos) << problem << "\n"
                                                                    << problemOf(manifest);
}

} // namespace

// How what ranks measured is joined, printed and written, and which manifests tell it wrongly.
#include "core/error.h"
#include "metrics/exposure.h"

#include <gtest/gtest.h>

using namespace ulsc::runtime;
using nlohmann::json;

namespace {

json collective(const std::string &source, const std::string &kind, const std::string &cause) {
  return {{"source", source}, {"kind", kind},   {"axes", {"dp"}}, {"phase", "backward"},
          {"cause", cause},   {"dtype", "f32"}, {"bytes", 64},    {"predicted_us", 500}};
}

/// Two stages of two ranks. The layers' collective is called by both stages, the head's by one.
json document() {
  json result = json::parse(R"({"schema": "ulsc.manifest/1", "model": {"vocabulary": 9},
    "mesh": {"axes": [{"name": "pp", "size": 2}, {"name": "dp", "size": 2}]},
    "batch": {"global": 2, "micro": 1, "microbatches": 1, "seq": 4, "data_axes": ["dp"]}})");
  json stage = {{"arena", {{"bytes", 256}}},
                {"inputs", json::object()},
                {"tensors", json::array()},
                {"collective_slots", 2}};
  result["stages"] = {stage, stage};
  result["collectives"] = {
      collective("layers", "all_reduce", "a"), collective("head", "all_reduce", "b"),
      collective("head", "all_reduce", "c"), collective("head", "all_reduce", "b")};
  return result;
}

/// Of two steps, each of 10 ms.
ExposureSamples samples() {
  using C = ExposureSamples::Collective;
  return {2,
          3,
          {{0.02, {C{0.002, 4}, C{}, C{}, C{}}},
           {0.02, {C{0.006, 4}, C{}, C{}, C{}}},
           {0.02, {C{0.001, 4}, C{0.003, 2}, C{0.001, 2}, C{0.002, 2}}},
           {0.02, {C{0.001, 4}, C{0.001, 2}, C{0.001, 2}, C{0.002, 2}}}}};
}

Manifest manifestOf(const json &document) { return parseManifest(document.dump().c_str()); }

TEST(Exposure, rows_join_as_the_report_does) {
  Manifest manifest = manifestOf(document());
  std::vector<ExposureRow> rows = joinExposure(manifest, samples(), ExposureDetail::Report);
  ASSERT_EQ(rows.size(), 4u);
  const ExposureRow &layers = rows[0], &head = rows[2];
  EXPECT_EQ(layers.stage, 0);
  EXPECT_EQ(layers.ranks, 2);
  EXPECT_EQ(layers.calls, 2);
  EXPECT_NEAR(layers.seconds, 0.002, 1e-12);
  EXPECT_NEAR(layers.mostSeconds, 0.003, 1e-12);
  EXPECT_NEAR(*layers.predictedSeconds, 2 * 500e-6, 1e-12);
  EXPECT_FALSE(layers.predictedExposedSeconds);
  EXPECT_EQ(rows[1].stage, 1);
  EXPECT_EQ(rows[1].info->source, "layers");
  EXPECT_NEAR(rows[1].seconds, 0.0005, 1e-12);
  // Two of the program's collectives for one reason.
  EXPECT_EQ(head.info->cause, "b");
  EXPECT_EQ(head.calls, 2);
  EXPECT_NEAR(head.seconds, 0.002, 1e-12);
  EXPECT_NEAR(head.mostSeconds, 0.0025, 1e-12);
  EXPECT_EQ(rows[3].info->cause, "c");
}

TEST(Exposure, the_table_joins_by_source) {
  json changed = document();
  for (json &entry : changed["collectives"])
    entry["predicted_exposed_us"] = 250;
  Manifest manifest = manifestOf(changed);
  EXPECT_EQ(
      exposureTable(manifest, samples()),
      "exposed  25.0 % of a step: ranks waited 2.500 of 10.000 ms for communication, in the mean "
      "of steps 2 to 3\n"
      "  stage  source  kind        axes  calls  predicted transfer ms  predicted exposed ms  "
      "exposed ms   most   share\n"
      "  1      head    all_reduce  dp        3                  1.500                 0.750       "
      "2.500  3.000  12.5 %\n"
      "  0      layers  all_reduce  dp        2                  1.000                 0.500       "
      "2.000  3.000  10.0 %\n"
      "  1      layers  all_reduce  dp        2                  1.000                 0.500       "
      "0.500  0.500   2.5 %\n");
}

TEST(Exposure, many_rows_are_summed_up) {
  json one = document();
  one["collectives"] = json::array();
  ExposureSamples measured{1, 1, {}};
  measured.ranks.resize(4);
  for (ExposureSamples::Rank &rank : measured.ranks)
    rank.stepSeconds = 0.1;
  for (int i = 0; i < 9; ++i) {
    std::string source(i == 0 ? 60 : 1, static_cast<char>('a' + i));
    json entry = collective(source, "send", "");
    entry.erase("predicted_us");
    one["collectives"].push_back(entry);
    for (int rank = 0; rank < 2; ++rank) // the first stage
      measured.ranks[rank].collectives.push_back({0.009 - 0.001 * i, 1});
    for (int rank = 2; rank < 4; ++rank)
      measured.ranks[rank].collectives.emplace_back();
  }
  std::string table = exposureTable(manifestOf(one), measured);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 9);
  for (const char *part : {"for communication, in step 1\n",
                           "  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...  send  ", " - ",
                           // (3 + 2 + 1) ms on half of the ranks
                           "         3 others, mean of all ranks", "3.000         3.0 %\n"})
    EXPECT_NE(table.find(part), std::string::npos) << part << "\n" << table;
  EXPECT_EQ(table.find("  g "), std::string::npos) << table;
}

TEST(Exposure, the_record_names_what_the_report_does) {
  Manifest manifest = manifestOf(document());
  json exposure = exposureRecord(manifest, samples()).at("exposure");
  EXPECT_EQ(exposure["first_step"], 2);
  EXPECT_EQ(exposure["last_step"], 3);
  EXPECT_NEAR(exposure["step_ms"], 10, 1e-9);
  EXPECT_NEAR(exposure["exposed_ms"], 2.5, 1e-9);
  ASSERT_EQ(exposure["rows"].size(), 4u);
  json row = exposure["rows"][2];
  for (const auto &[key, value] : {std::pair<const char *, json>("stage", 1),
                                   {"source", "head"},
                                   {"kind", "all_reduce"},
                                   {"axes", {"dp"}},
                                   {"phase", "backward"},
                                   {"cause", "b"},
                                   {"dtype", "f32"},
                                   {"bytes", 64},
                                   {"count_per_step", 2}})
    EXPECT_EQ(row[key], value) << key;
  EXPECT_NEAR(row["predicted_ms"], 1, 1e-9);
  EXPECT_NEAR(row["exposed_ms"], 2, 1e-9);
  EXPECT_NEAR(row["most_exposed_ms"], 2.5, 1e-9);
  EXPECT_FALSE(row.contains("predicted_exposed_ms"));
}

namespace {
/// Whose marks are seconds.
struct CountingClock final : WorkClock {
  void begin() override {}
  int64_t mark() override { return 0; }
  double secondsAt(int64_t mark) const override { return double(mark); }
};
} // namespace

TEST(Exposure, totals_leave_out_the_first_of_several_steps) {
  Manifest manifest = manifestOf(document());
  Exposure exposure(manifest, manifest.stages[0]);
  ulsc_collective_desc desc{};
  desc.identifier = 1;
  EXPECT_FALSE(exposure.hasSteps());
  for (int step = 5; step <= 7; ++step) {
    exposure.beginStep(step);
    exposure.addStart(desc, 1, 10, 11);
    exposure.addWait(1, 20, 20 + step);
    exposure.settle(CountingClock());
    EXPECT_EQ(exposure.secondsByKind()[ULSC_ALL_REDUCE], 1 + step);
    exposure.endStep(20);
  }
  EXPECT_TRUE(exposure.hasSteps());
}

TEST(Exposure, malformed_manifests_are_refused) {
  for (const auto &[key, value, problem] :
       {std::tuple<const char *, json, const char *>(
            "predicted_us", -1, "collective 2 has -1 in \"predicted_us\", which is a number of"),
        {"predicted_us", "long", "collective 2 has \"long\" in \"predicted_us\""},
        {"predicted_exposed_us", nullptr, "collective 2 has null in \"predicted_exposed_us\""},
        {"axes", 3, "collective 2 can't be read: "},
        {"cause", 3, "collective 2 can't be read: "}}) {
    json changed = document();
    changed["collectives"][2][key] = value;
    try {
      manifestOf(changed);
      ADD_FAILURE() << problem;
    } catch (const Error &error) {
      EXPECT_NE(std::string(error.what()).find(problem), std::string::npos) << error.what();
    }
  }
  json changed = document();
  changed["collectives"][2] = 7;
  EXPECT_THROW(manifestOf(changed), Error);
}

} // namespace

//===- export_test.cpp - Weights go in and come out as they were
//-------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace ulsc::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct StoredTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};

std::map<std::string, StoredTensor> readSafetensors(const fs::path &file) {
  std::string data = readBytes(file);
  uint64_t length = 0;
  std::memcpy(&length, data.data(), 8);
  json header = json::parse(data.substr(8, length));
  EXPECT_EQ(header["__metadata__"]["format"], "pt") << "transformers asks for it";
  header.erase("__metadata__");
  std::map<std::string, StoredTensor> tensors;
  for (const auto &[name, entry] : header.items()) {
    int64_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
    tensors[name] = {entry["dtype"], entry["shape"], data.substr(8 + length + begin, end - begin)};
  }
  return tensors;
}

/// The shapes that transformers gives a model's parameters, tied ones once.
std::map<std::string, std::vector<int64_t>> expectedShapes(const std::string &model) {
  std::string family = model.substr(0, model.find('-'));
  json names = readJson(goldenDirectory("names-" + family + ".json"));
  const json &entry = names["models"]["golden/" + model];
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto &[name, shape] : entry["others"].items())
    shapes[name] = shape.get<std::vector<int64_t>>();
  for (const auto &[name, shape] : entry["layer_0"].items())
    for (int layer = 0; layer < entry["layers"]; ++layer) {
      std::string other = name;
      other.replace(other.find(".0."), 3, "." + std::to_string(layer) + ".");
      shapes[other] = shape.get<std::vector<int64_t>>();
    }
  return shapes;
}

using Case = TrainingCase;

class Export : public testing::TestWithParam<Case> {};

TEST_P(Export, RoundTripIsBitwise) {
  const Case &c = GetParam();
  fs::path model = goldenDirectory(c.model), directory = scratchDirectory("export");
  Words flags = c.flags();
  flags.insert(flags.end(), {"--seq", "64", "--batch", "12"});
  Outcome outcome = run(launch(compile(model, flags), c.ranks,
                               {"--weights", model / "model.safetensors", "--steps", "0",
                                "--export-hf", directory / "out"}));
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_EQ(listDirectory(directory / "out"),
            (std::vector<std::string>{"config.json", "model.safetensors"}));
  EXPECT_EQ(readBytes(directory / "out" / "config.json"), readBytes(model / "config.json"));
  auto exported = readSafetensors(directory / "out" / "model.safetensors");
  auto original = readSafetensors(model / "model.safetensors");
  auto shapes = expectedShapes(c.model);
  EXPECT_EQ(exported.size(), shapes.size());
  for (const auto &[name, shape] : shapes) {
    ASSERT_TRUE(exported.count(name)) << name;
    EXPECT_EQ(exported[name].shape, shape) << name;
    EXPECT_EQ(exported[name].dtype, "F32") << name;
    EXPECT_TRUE(exported[name].bytes == original[name].bytes) << name;
  }
}

uint16_t roundToBf16(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// What a bf16 program exports is what it computes with: matrices rounded to nearest, the rest as
/// it came. Its master values have more bits; those are in its saves.
TEST(ExportOfBf16, HasTheStoredValues) {
  fs::path model = goldenDirectory("llama"), directory = scratchDirectory("export-bf16");
  Outcome outcome =
      run(launch(compile(model, {"--seq", "64", "--batch", "4", "--dtype", "bf16"}), 1,
                 {"--weights", model / "model.safetensors", "--steps", "0", "--export-hf",
                  directory / "out"}));
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  auto exported = readSafetensors(directory / "out" / "model.safetensors");
  auto original = readSafetensors(model / "model.safetensors");
  ASSERT_FALSE(exported.empty());
  for (auto &[name, tensor] : exported) {
    const std::string &wide = original[name].bytes;
    if (tensor.shape.size() < 2) {
      EXPECT_EQ(tensor.dtype, "F32") << name;
      EXPECT_TRUE(tensor.bytes == wide) << name;
      continue;
    }
    EXPECT_EQ(tensor.dtype, "BF16") << name;
    ASSERT_EQ(tensor.bytes.size() * 2, wide.size()) << name;
    std::string rounded(tensor.bytes.size(), 0);
    for (size_t i = 0; i < rounded.size() / 2; ++i) {
      float value = 0;
      std::memcpy(&value, wide.data() + 4 * i, 4);
      uint16_t narrow = roundToBf16(value);
      std::memcpy(&rounded[2 * i], &narrow, 2);
    }
    EXPECT_TRUE(tensor.bytes == rounded) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Export,
                         testing::Values(Case{"llama", "", 1, 1}, Case{"llama", "dp=2,tp=2", 4, 1},
                                         Case{"gpt2", "", 1, 1}, Case{"gpt2", "dp=2,tp=2", 4, 1},
                                         Case{"llama-bias-tied", "dp=2,tp=2", 4, 1},
                                         Case{"llama-linear", "tp=4", 4, 1},
                                         Case{"llama-bias-tied", "dp=3", 3, 1, "zero1"},
                                         Case{"gpt2", "dp=3", 3, 1, "zero3"},
                                         Case{"llama", "dp=3,tp=2", 6, 1, "zero3+tp"}));

} // namespace

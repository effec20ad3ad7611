//===- slices.cpp - Whole tensors from the ranks' slices
//----------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>

using namespace ulsc::test;
namespace fs = std::filesystem;

static int64_t product(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

static double readHalf(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 0    ? std::ldexp(fraction, -24)
                : exponent == 31 ? (fraction ? std::nan("") : HUGE_VAL)
                                 : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -size : size;
}

static double readValue(const char *bytes, const std::string &dtype, int64_t index) {
  if (dtype == "F32") {
    float value;
    std::memcpy(&value, bytes + 4 * index, 4);
    return value;
  }
  if (dtype == "BF16") {
    uint16_t half;
    std::memcpy(&half, bytes + 2 * index, 2);
    uint32_t word = uint32_t(half) << 16;
    float value;
    std::memcpy(&value, &word, 4);
    return value;
  }
  if (dtype == "F16") {
    uint16_t half;
    std::memcpy(&half, bytes + 2 * index, 2);
    return readHalf(half);
  }
  throw std::runtime_error("slices of dtype " + dtype + " are not read");
}

/// Copies a slice to its place, row-major on both sides.
static void place(const std::vector<int64_t> &shape, const std::vector<int64_t> &offset,
                  const char *bytes, const std::string &dtype, Tensor &tensor) {
  int64_t count = product(shape);
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t rest = flat, target = 0, stride = 1;
    for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
      target += (rest % shape[dim] + offset[dim]) * stride;
      rest /= shape[dim];
      stride *= tensor.shape[dim];
    }
    tensor.values[target] = readValue(bytes, dtype, flat);
  }
}

static void readFile(const fs::path &file, std::map<std::string, Tensor> &tensors) {
  std::ifstream stream(file, std::ios::binary);
  std::string data((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  uint64_t length;
  std::memcpy(&length, data.data(), 8);
  nlohmann::json header = nlohmann::json::parse(data.substr(8, length));
  const nlohmann::json &metadata = header.at("__metadata__");
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    nlohmann::json note = nlohmann::json::parse(metadata.at(name).get<std::string>());
    // Several slices of one tensor have names of their own.
    Tensor &tensor = tensors[note.value("tensor", name)];
    if (tensor.values.empty()) {
      tensor.shape = note.at("logical_shape").get<std::vector<int64_t>>();
      // A hole that no slice fills stays visible.
      tensor.values.assign(product(tensor.shape), std::numeric_limits<double>::quiet_NaN());
    }
    place(entry.at("shape"), note.at("offset"),
          data.data() + 8 + length + entry.at("data_offsets")[0].get<int64_t>(), entry.at("dtype"),
          tensor);
  }
}

std::map<std::string, Tensor> ulsc::test::readSlices(const fs::path &directory,
                                                     const std::string &prefix) {
  std::map<std::string, Tensor> tensors;
  for (const fs::directory_entry &entry : fs::directory_iterator(directory))
    if (entry.path().filename().string().rfind(prefix, 0) == 0)
      readFile(entry.path(), tensors);
  return tensors;
}

double ulsc::test::relativeDistance(const Tensor &a, const Tensor &b) {
  if (a.shape != b.shape)
    return std::numeric_limits<double>::infinity();
  double distance = 0, norm = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    distance += (a.values[i] - b.values[i]) * (a.values[i] - b.values[i]);
    norm += b.values[i] * b.values[i];
  }
  return std::sqrt(distance) / std::max(std::sqrt(norm), 1e-30);
}

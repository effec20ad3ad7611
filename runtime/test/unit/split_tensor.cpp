#include "split_tensor.h"

#include <algorithm>

using namespace ulsc::runtime;
using namespace ulsc::test;

Manifest SplitTensor::manifest() const {
  Manifest result;
  result.mesh = mesh;
  result.stages.resize(1);
  result.stages[0].tensors = {tensor};
  return result;
}

std::string SplitTensor::text() const {
  std::string result =
      mesh.text() + " " + shapeText(tensor.logicalShape) + " in " + shapeText(tensor.shape) + " by";
  for (const std::vector<std::string> &names : tensor.sharding) {
    result += " {";
    for (const std::string &name : names)
      result += name;
    result += "}";
  }
  result += " flat";
  for (const std::string &name : tensor.flat)
    result += " " + name;
  return result;
}

Shape ulsc::test::randomShape(std::mt19937 &random) {
  Shape shape(random() % 5);
  for (int64_t &size : shape)
    size = 1 + random() % 6;
  return shape;
}

SplitTensor ulsc::test::randomSplit(const Shape &logicalShape, std::mt19937 &random) {
  SplitTensor split;
  for (const char *name : {"a", "b", "c"})
    if (random() % 4)
      split.mesh.axes.push_back({name, 1 + int64_t(random() % 4)});
  StateTensor &tensor = split.tensor;
  tensor.name = tensor.parameter = "w";
  tensor.role = "parameter";
  tensor.dtype = ULSC_F32;
  tensor.offset = 0;
  tensor.initKind = "normal";
  tensor.initStd = 1;
  tensor.logicalShape = tensor.externalShape = logicalShape;
  tensor.sharding.resize(logicalShape.size());
  std::vector<MeshAxis> axes = split.mesh.axes; // major to minor is not the mesh's order
  std::shuffle(axes.begin(), axes.end(), random);
  for (const MeshAxis &axis : axes) {
    unsigned use = random() % 4;
    if (use == 0 && !logicalShape.empty())
      tensor.sharding[random() % logicalShape.size()].push_back(axis.name);
    else if (use > 1)
      tensor.flat.push_back(axis.name);
  }
  for (size_t i = 0; i < logicalShape.size(); ++i) {
    int64_t parts = split.mesh.sizeOver(tensor.sharding[i]);
    int64_t padding = random() % 3 ? 0 : random() % 3;
    tensor.shape.push_back(((logicalShape[i] + parts - 1) / parts + padding) * parts);
  }
  return split;
}

std::vector<int64_t> ulsc::test::expectedPart(const SplitTensor &split, const Shape &coordinates) {
  const StateTensor &tensor = split.tensor;
  const Mesh &mesh = split.mesh;
  size_t rank = tensor.shape.size();
  Shape block(rank);
  for (size_t i = 0; i < rank; ++i)
    block[i] = tensor.shape[i] / mesh.sizeOver(tensor.sharding[i]);
  // All of the block, padded to equal chunks, then this rank's.
  std::vector<int64_t> elements;
  for (int64_t flat = 0; flat < elementCount(block); ++flat) {
    int64_t rest = flat, index = 0, stride = 1;
    bool isLogical = true;
    for (size_t i = rank; i-- > 0;) {
      int64_t at = rest % block[i] + block[i] * mesh.indexOver(tensor.sharding[i], coordinates);
      rest /= block[i];
      isLogical &= at < tensor.logicalShape[i];
      index += at * stride;
      stride *= tensor.logicalShape[i];
    }
    elements.push_back(isLogical ? index : -1);
  }
  size_t chunks = mesh.sizeOver(tensor.flat), chunk = 0;
  while (chunk * chunks < elements.size())
    ++chunk;
  elements.resize(chunk * chunks, -1);
  auto begin = elements.begin() + chunk * mesh.indexOver(tensor.flat, coordinates);
  return {begin, begin + chunk};
}

// The rules of attention's kernels and of those for elements.
#include "simulator/cudnn/support.h"

#include "simulator/core/report.h"
#include "simulator/core/settings.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace ulsc::simulator {

using namespace cudnn;

namespace {

bool isSixteenBits(const Tensor &tensor) {
  return tensor.type == DataF16 || tensor.type == DataBf16;
}

/// Attention has two products, its gradient five.
bool isGradient(const Graph &graph) { return graph.matmuls() > 2; }

int64_t mostHeadSize(const Graph &graph) {
  return isGradient(graph) && settings().architecture / 10 != 9 ? 128 : 256;
}

/// The size of the dimension whose elements are neighbours.
int64_t neighbours(const Tensor &tensor) {
  for (size_t i = 4; i-- > 0;)
    if (tensor.strides[i] == 1 && tensor.sizes[i] > 1)
      return tensor.sizes[i];
  return 0;
}

Outcome checkOperand(const Graph &graph, const Tensor &tensor, uint32_t type) {
  if (tensor.type != type)
    return {StatusNotSupportedDataType,
            text("operands in memory are of ", typeName(type), " and ", typeName(tensor.type))};
  int64_t headSize = neighbours(tensor);
  if (headSize == 0)
    return {StatusNotSupportedLayout, text("no dimension of ", tensor.describe(), " has stride 1")};
  if (headSize % 8 != 0 || headSize > mostHeadSize(graph))
    return {StatusNotSupportedShape, text("the head size of ", tensor.describe(), " is ", headSize,
                                          ", not a multiple of 8 up to ", mostHeadSize(graph))};
  return {};
}

bool isRowMajor(const Tensor &tensor) {
  const Sizes &sizes = tensor.sizes, &strides = tensor.strides;
  return strides[2] == sizes[3] && strides[1] == sizes[2] * sizes[3] &&
         strides[0] == sizes[1] * sizes[2] * sizes[3];
}

/// Kernels of these generations address a gradient's statistics as if they were row-major before
/// 9.26: silently, so that the simulated ones must not.
void checkStatistics(const Graph &graph) {
  int generation = settings().architecture / 10;
  if (!isGradient(graph) || generation == 9 || generation == 10 ||
      simulatedVersion() >= versionCode(9, 26, 0))
    return;
  for (const auto &tensor : graph.reads)
    if (tensor->type == DataF32 && !isRowMajor(*tensor))
      endUnsupported(text("a gradient with statistics (", tensor->describe(),
                          ") that are not row-major on compute capability ", generation, ".x"),
                     "row-major statistics: this version reads them so whatever their strides");
}

Outcome checkAttention(const Graph &graph) {
  uint32_t type = DataF32;
  for (const Node &node : graph.nodes)
    if (node.kind == Node::Matmul)
      for (const auto &operand : node.inputs)
        if (operand->isInMemory()) {
          if (!isSixteenBits(*operand))
            return {StatusNotSupportedDataType,
                    text(operand->describe(), " is multiplied, which is for bf16 and f16")};
          type = operand->type;
        }
  for (const auto *tensors : {&graph.reads, &graph.writes})
    for (const auto &tensor : *tensors)
      if (tensor->type != DataF32)
        if (Outcome outcome = checkOperand(graph, *tensor, type); outcome.isRefusal())
          return outcome;
  checkStatistics(graph);
  return {};
}

/// Kernels for elements take memory without gaps in three orders of N, C and what is between.
Outcome checkElements(const Graph &graph) {
  const std::array<size_t, 4> orders[] = {{0, 2, 3, 1}, {1, 0, 2, 3}, {1, 2, 3, 0}};
  auto isIn = [](const Tensor &tensor, const std::array<size_t, 4> &order) {
    int64_t stride = 1;
    for (size_t i = 4; i-- > 0; stride *= tensor.sizes[order[i]])
      if (tensor.sizes[order[i]] > 1 && tensor.strides[order[i]] != stride)
        return false;
    return true;
  };
  for (const auto *tensors : {&graph.reads, &graph.writes})
    for (const auto &tensor : *tensors)
      if (std::none_of(std::begin(orders), std::end(orders),
                       [&](const auto &order) { return isIn(*tensor, order); }))
        return {StatusNotSupportedLayout, text(tensor->describe(), " is not NHWC, CNHW or CHWN")};
  return {};
}

/// Bytes of products that are summed over heads: kept whole.
int64_t headBytes(const Graph &graph) {
  int64_t bytes = 0;
  for (const Node &node : graph.nodes)
    if (node.kind == Node::Reduce && isSixteenBits(*node.inputs[0]) &&
        node.output->sizes[1] < node.inputs[0]->sizes[1])
      bytes += node.inputs[0]->bytes();
  return bytes;
}

} // namespace

size_t simulatedVersion() {
  const char *text = std::getenv("ULSC_SIMULATOR_CUDNN");
  if (!text)
    return versionCode(9, 19, 0);
  unsigned major = 0, minor = 0, patch = 0;
  if (std::sscanf(text, "%u.%u.%u", &major, &minor, &patch) != 3 || major != 9) {
    Finding finding;
    finding.kind = "environment";
    finding.summary = simulator::text("ULSC_SIMULATOR_CUDNN is '", text, "'");
    finding.legal = "a version such as 9.19.0";
    report(finding);
  }
  return versionCode(major, minor, patch);
}

Outcome checkSupport(const Graph &graph) {
  return graph.matmuls() == 0 ? checkElements(graph) : checkAttention(graph);
}

std::vector<int64_t> proposeWorkspaces(const Graph &graph) {
  if (graph.matmuls() == 0)
    return {0};
  if (!isGradient(graph))
    return {256, 0};
  int64_t sums = 0;
  for (const auto &tensor : graph.writes)
    if (tensor->type == DataF32)
      sums = std::max(sums, tensor->bytes());
  return {headBytes(graph) + sums + 128, headBytes(graph) + 256};
}

} // namespace ulsc::simulator

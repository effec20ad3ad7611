// Tensors are kept row-major in f32 while a graph runs, whatever their strides say of memory.
#include "simulator/cudnn/interpreter.h"

#include "core/numeric.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace ulsc::simulator {

using namespace cudnn;

namespace {

using Values = std::vector<float>;

/// Calls `visit` with each index of the sizes, row-major, the last dimension fastest.
template <typename Visit>
void forEach(const Sizes &sizes, Visit visit) {
  Sizes at{};
  for (at[0] = 0; at[0] < sizes[0]; ++at[0])
    for (at[1] = 0; at[1] < sizes[1]; ++at[1])
      for (at[2] = 0; at[2] < sizes[2]; ++at[2])
        for (at[3] = 0; at[3] < sizes[3]; ++at[3])
          visit(at);
}

int64_t offset(const Sizes &at, const Sizes &strides) {
  return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] + at[3] * strides[3];
}

Sizes rowMajor(const Sizes &sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

/// Strides for walking over `result` through an operand whose entries serve neighbours.
struct SharedIndex {
  Sizes ratio, strides;
  SharedIndex(const Sizes &operand, const Sizes &result) : strides(rowMajor(operand)) {
    for (size_t i = 0; i < 4; ++i)
      ratio[i] = result[i] / operand[i];
  }
  int64_t operator()(const Sizes &at) const {
    return at[0] / ratio[0] * strides[0] + at[1] / ratio[1] * strides[1] +
           at[2] / ratio[2] * strides[2] + at[3] / ratio[3] * strides[3];
  }
};

float load(const char *memory, uint32_t type, int64_t index) {
  if (type == DataF32) {
    float value;
    std::memcpy(&value, memory + index * 4, 4);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, memory + index * 2, 2);
  return type == DataF16 ? runtime::f16ToFloat(half) : runtime::bf16ToFloat(half);
}

void store(char *memory, uint32_t type, int64_t index, float value) {
  if (type == DataF32) {
    std::memcpy(memory + index * 4, &value, 4);
    return;
  }
  uint16_t half = type == DataF16 ? runtime::floatToF16(value) : runtime::floatToBf16(value);
  std::memcpy(memory + index * 2, &half, 2);
}

void roundTo(uint32_t type, Values &values) {
  if (type == DataF16)
    for (float &value : values)
      value = runtime::f16ToFloat(runtime::floatToF16(value));
  if (type == DataBf16)
    for (float &value : values)
      value = runtime::bf16ToFloat(runtime::floatToBf16(value));
}

Values multiply(const Node &node, const Values &a, const Values &b) {
  const Sizes &aSizes = node.inputs[0]->sizes, &bSizes = node.inputs[1]->sizes;
  const Sizes &sizes = node.output->sizes;
  int64_t rows = sizes[2], columns = sizes[3], inner = aSizes[3];
  Values result(static_cast<size_t>(node.output->elements()));
  for (int64_t batch = 0; batch < sizes[0]; ++batch)
    for (int64_t head = 0; head < sizes[1]; ++head) {
      auto matrix = [&](const Sizes &of) {
        return (batch * of[0] / sizes[0] * of[1] + head * of[1] / sizes[1]) * of[2] * of[3];
      };
      const float *left = a.data() + matrix(aSizes), *right = b.data() + matrix(bSizes);
      float *target = result.data() + (batch * sizes[1] + head) * rows * columns;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = 0; k < inner; ++k) {
          float factor = left[i * inner + k];
          for (int64_t j = 0; j < columns; ++j)
            target[i * columns + j] += factor * right[k * columns + j];
        }
    }
  return result;
}

float apply(uint32_t mode, float x, float b, float t) {
  switch (mode) {
  case PointwiseAdd:
    return x + b;
  case PointwiseMultiply:
    return x * b;
  case PointwiseMin:
    return std::fmin(x, b);
  case PointwiseMax:
    return std::fmax(x, b);
  case PointwiseDivide:
    return x / b;
  case PointwiseSubtract:
    return x - b;
  case PointwiseExp:
    return std::exp(x);
  case PointwiseLog:
    return std::log(x);
  case PointwiseGreaterOrEqual:
    return x >= b;
  case PointwiseLess:
    return x < b;
  case PointwiseSelect:
    return t != 0 ? x : b;
  default: // PointwiseIdentity; others are refused when they are described
    return x;
  }
}

Values applyPointwise(const Node &node, const std::vector<const Values *> &inputs) {
  const Sizes &sizes = node.output->sizes;
  std::vector<SharedIndex> indices;
  for (const auto &input : node.inputs)
    indices.emplace_back(input->sizes, sizes);
  Values result;
  result.reserve(static_cast<size_t>(node.output->elements()));
  forEach(sizes, [&](const Sizes &at) {
    if (node.computation.mode == PointwiseIndex)
      return result.push_back(static_cast<float>(at[static_cast<size_t>(node.computation.axis)]));
    float operands[3] = {};
    for (size_t i = 0; i < inputs.size(); ++i)
      operands[i] = (*inputs[i])[static_cast<size_t>(indices[i](at))];
    result.push_back(apply(node.computation.mode, operands[0], operands[1], operands[2]));
  });
  return result;
}

Values reduce(const Node &node, const Values &x) {
  uint32_t mode = node.computation.mode;
  float start = mode == ReductionSum   ? 0.0f
                : mode == ReductionMax ? -std::numeric_limits<float>::infinity()
                                       : std::numeric_limits<float>::infinity();
  Values result(static_cast<size_t>(node.output->elements()), start);
  SharedIndex index(node.output->sizes, node.inputs[0]->sizes);
  size_t next = 0;
  forEach(node.inputs[0]->sizes, [&](const Sizes &at) {
    float &target = result[static_cast<size_t>(index(at))];
    float value = x[next++];
    target = mode == ReductionSum   ? target + value
             : mode == ReductionMax ? std::fmax(target, value)
                                    : std::fmin(target, value);
  });
  return result;
}

/// Through memory as it would lie: by x's strides in, by y's strides out.
Values reshape(const Node &node, const Values &x) {
  const Tensor &from = *node.inputs[0], &to = *node.output;
  auto extent = [](const Tensor &tensor) {
    int64_t last = 0;
    for (size_t i = 0; i < 4; ++i)
      last += (tensor.sizes[i] - 1) * tensor.strides[i];
    return static_cast<size_t>(last + 1);
  };
  Values memory(std::max(extent(from), extent(to)));
  size_t next = 0;
  forEach(from.sizes, [&](const Sizes &at) {
    memory[static_cast<size_t>(offset(at, from.strides))] = x[next++];
  });
  Values result;
  result.reserve(x.size());
  forEach(to.sizes, [&](const Sizes &at) {
    result.push_back(memory[static_cast<size_t>(offset(at, to.strides))]);
  });
  return result;
}

class Interpreter {
public:
  Interpreter(const Graph &graph, const Bindings &bindings) : graph(graph), bindings(bindings) {}

  void run() {
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      for (const auto &input : graph.nodes[i].inputs)
        lastUse[input->id] = i;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node &node = graph.nodes[i];
      Values result = compute(node);
      roundTo(node.output->type, result);
      if (node.output->isInMemory())
        storeAll(*node.output, result);
      values[node.output->id] = std::move(result);
      // Scores are large; what nobody needs any more goes at once.
      for (auto each = values.begin(); each != values.end();)
        each = lastUse[each->first] <= i ? values.erase(each) : std::next(each);
    }
  }

private:
  Values compute(const Node &node) {
    std::vector<const Values *> inputs;
    for (const auto &input : node.inputs)
      inputs.push_back(&valuesOf(*input));
    switch (node.kind) {
    case Node::Matmul:
      return multiply(node, *inputs[0], *inputs[1]);
    case Node::Pointwise:
      return applyPointwise(node, inputs);
    case Node::Reduce:
      return reduce(node, *inputs[0]);
    default:
      return reshape(node, *inputs[0]);
    }
  }

  const Values &valuesOf(const Tensor &tensor) {
    auto found = values.find(tensor.id);
    if (found != values.end())
      return found->second;
    Values loaded;
    if (tensor.isByValue)
      loaded.push_back(bindings.values.at(tensor.id));
    else
      forEach(tensor.sizes, [&](const Sizes &at) {
        loaded.push_back(load(static_cast<const char *>(bindings.memory.at(tensor.id)), tensor.type,
                              offset(at, tensor.strides)));
      });
    return values[tensor.id] = std::move(loaded);
  }

  void storeAll(const Tensor &tensor, const Values &result) {
    size_t next = 0;
    forEach(tensor.sizes, [&](const Sizes &at) {
      store(static_cast<char *>(bindings.memory.at(tensor.id)), tensor.type,
            offset(at, tensor.strides), result[next++]);
    });
  }

  const Graph &graph;
  const Bindings &bindings;
  std::map<int64_t, Values> values;
  std::map<int64_t, size_t> lastUse;
};

} // namespace

void interpret(const Graph &graph, const Bindings &bindings) { Interpreter(graph, bindings).run(); }

} // namespace ulsc::simulator

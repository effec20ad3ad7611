// Operations whose operands go together, in an order in which they can be executed.
#include "simulator/cudnn/graph.h"

#include "simulator/core/report.h"

#include <algorithm>
#include <map>

namespace ulsc::simulator {

using namespace cudnn;

std::string Tensor::describe() const {
  return text("tensor ", id, " of ", typeName(type), " ", sizes[0], "x", sizes[1], "x", sizes[2],
              "x", sizes[3]);
}

std::string Node::describe() const {
  static const char *const kinds[] = {"matmul", "pointwise", "reduction", "reshape"};
  std::string operands;
  for (const auto &input : inputs)
    operands += input->describe() + " ";
  return text(kinds[kind], " ",
              kind == Pointwise || kind == Reduce ? text(computation.mode, " ") : "", "(", operands,
              "-> ", output->describe(), ")");
}

namespace {

/// An operand may have fewer entries, each of which serves neighbours.
bool isShared(int64_t operand, int64_t result) { return operand > 0 && result % operand == 0; }

bool isMatmul(const Node &node) {
  const Sizes &a = node.inputs[0]->sizes, &b = node.inputs[1]->sizes, &y = node.output->sizes;
  return a[2] == y[2] && b[3] == y[3] && a[3] == b[2] && isShared(a[0], y[0]) &&
         isShared(b[0], y[0]) && isShared(a[1], y[1]) && isShared(b[1], y[1]);
}

} // namespace

Outcome Node::check() const {
  bool fits = true;
  for (size_t i = 0; i < 4; ++i)
    for (const auto &input : inputs) {
      if (kind == Pointwise)
        fits &= input->sizes[i] == output->sizes[i] || input->sizes[i] == 1;
      if (kind == Reduce)
        fits &= isShared(output->sizes[i], input->sizes[i]);
    }
  if (kind == Matmul)
    fits = isMatmul(*this);
  if (kind == Reshape)
    fits = inputs[0]->elements() == output->elements();
  if (!fits)
    return badShape(text("the sizes of ", describe(), " don't go together"));
  if (output->isByValue)
    return badParam(text("the result of ", describe(), " is by value"));
  return {};
}

int Graph::matmuls() const {
  return static_cast<int>(std::count_if(
      nodes.begin(), nodes.end(), [](const Node &node) { return node.kind == Node::Matmul; }));
}

namespace {

class GraphBuilder {
public:
  Outcome build(std::vector<Node> &nodes, Graph &graph) {
    for (const Node &node : nodes)
      if (!isMade.emplace(node.output->id, false).second)
        return {StatusDuplicatedEntries, text(node.output->describe(), " is made twice")};
    for (const Node &node : nodes)
      for (const auto &input : node.inputs)
        if (Outcome outcome = addInput(*input, input, graph); outcome.isRefusal())
          return outcome;
    while (!nodes.empty()) {
      auto next = std::find_if(nodes.begin(), nodes.end(), [&](const Node &node) {
        return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const auto &input) {
          auto found = isMade.find(input->id);
          return found == isMade.end() || found->second;
        });
      });
      if (next == nodes.end())
        return badParam(
            text("the graph has a circle, of which ", nodes.front().describe(), " is a part"));
      isMade[next->output->id] = true;
      if (next->output->isInMemory())
        graph.writes.push_back(next->output);
      graph.nodes.push_back(std::move(*next));
      nodes.erase(next);
    }
    return {};
  }

private:
  Outcome addInput(const Tensor &tensor, const std::shared_ptr<const Tensor> &shared,
                   Graph &graph) {
    const Tensor *&known = tensors[tensor.id];
    if (known && known != &tensor)
      return {StatusDuplicatedEntries, text("two tensors have the number ", tensor.id)};
    bool isNew = !known;
    known = &tensor;
    if (!isNew || isMade.count(tensor.id))
      return {};
    if (tensor.isVirtual)
      return badParam(text(tensor.describe(), " is virtual, but no operation makes it"));
    (tensor.isByValue ? graph.values : graph.reads).push_back(shared);
    return {};
  }

  std::map<int64_t, bool> isMade; // of what some node makes: whether it is in the graph
  std::map<int64_t, const Tensor *> tensors;
};

} // namespace

Outcome Graph::make(std::vector<Node> nodes, Graph &graph) {
  return GraphBuilder().build(nodes, graph);
}

} // namespace ulsc::simulator

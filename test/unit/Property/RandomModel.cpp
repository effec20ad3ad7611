//===- RandomModel.cpp - Random models on random meshes
//------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "RandomModel.h"

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

using namespace ulsc::test;

namespace {

using Sizes = std::vector<int64_t>;

struct Axis {
  std::string name;
  int64_t size;
};

/// A parameter of a block, once per layer that calls it.
struct BlockParameter {
  std::string name, type, axes, sharding, init;
};

/// A block while it is written.
struct BlockWriter {
  std::string body;
  std::vector<BlockParameter> parameters;
  bool usesPositions = false, usesContext = false;
  int next = 0;

  std::string fresh() { return "%t" + std::to_string(next++); }
};

std::string join(const std::vector<std::string> &parts, const std::string &separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i)
    text += (i ? separator : "") + parts[i];
  return text;
}

class ModelWriter {
public:
  explicit ModelWriter(uint64_t seed) : random(seed) {}
  RandomModel write();

private:
  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  bool chance(int64_t oneIn) { return draw(1, oneIn) == 1; }
  template <typename T>
  const T &choose(const std::vector<T> &from) {
    return from[draw(0, int64_t(from.size()) - 1)];
  }

  void drawSizes();
  std::string tensor(const Sizes &shape, const std::string &element) const {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + element + ">";
  }
  std::string x() const { return tensor({rows, seq, embed}, dtype); }
  std::string drawSharding(const Sizes &shape, bool avoidDataAxes);
  std::string addParameter(BlockWriter &b, const std::string &name, const Sizes &shape,
                           const std::string &axes, const std::string &init,
                           const std::string &computeType = "");
  std::string op(BlockWriter &b, const std::string &text) {
    std::string name = b.fresh();
    b.body += "    " + name + " = " + text + "\n";
    return name;
  }
  std::string einsum(BlockWriter &b, const std::string &equation, const std::string &lhs,
                     const Sizes &lhsShape, const std::string &rhs, const Sizes &rhsShape,
                     const Sizes &shape, std::string element = "");
  std::string add(BlockWriter &b, const std::string &lhs, const std::string &rhs) {
    return op(b, "uls.add " + lhs + ", " + rhs + " : " + x() + ", " + x());
  }
  std::string scalar(BlockWriter &b, const std::string &value) {
    return op(b, "uls.constant dense<" + value + "> : tensor<" + dtype + ">");
  }

  std::string writeNorm(BlockWriter &b, const std::string &in);
  std::string writeMlp(BlockWriter &b, const std::string &in);
  std::string writeAttention(BlockWriter &b, const std::string &in);
  std::string writeDropout(BlockWriter &b, const std::string &in);
  std::string writeBias(BlockWriter &b, const std::string &in);
  std::string writeReshape(BlockWriter &b, const std::string &in);
  std::string writeTranspose(BlockWriter &b, const std::string &in);
  std::string writeSlices(BlockWriter &b, const std::string &in);
  std::string writeMean(BlockWriter &b, const std::string &in);
  std::string writeSoftmax(BlockWriter &b, const std::string &in);
  std::string writeMaximum(BlockWriter &b, const std::string &in);
  std::string writePin(BlockWriter &b, const std::string &in);

  BlockWriter writeLayer();
  std::string getSignature(const std::string &name, const std::string &leading,
                           const BlockWriter &b, const std::string &result);
  void declare(const BlockWriter &b, const std::string &prefix);
  std::string callLayer(const BlockWriter &b, const std::string &block, const std::string &in,
                        int layer);
  void writeEmbedding();
  BlockWriter writeHead();
  std::string getHeader() const;

  std::mt19937_64 random;
  std::vector<Axis> mesh;
  std::vector<std::string> dataAxes;
  int64_t rows = 0, seq = 0, embed = 0, mlp = 0, heads = 0, group = 0, headSize = 0, vocabulary = 0,
          padded = 0, microbatches = 0;
  bool isTied = false, isSmooth = true;
  std::string dtype, params, blocks, forward, tableSharding;
};

void ModelWriter::drawSizes() {
  int64_t devices = 1;
  std::vector<std::string> names{"dp", "cp", "tp"};
  int64_t count = draw(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    int64_t size = choose(Sizes{1, 2, 2, 2, 3, 4});
    while (devices * size > 8)
      --size;
    devices *= size;
    mesh.push_back({names[i + 3 - count], size});
  }
  int64_t dataRanks = 1;
  for (const Axis &axis : mesh)
    if (axis.name == "dp" || chance(4)) {
      dataAxes.push_back(axis.name);
      dataRanks *= axis.size;
    }
  rows = dataRanks * draw(1, 2);
  seq = choose(Sizes{3, 4, 6});
  embed = choose(Sizes{4, 6, 8, 12});
  mlp = choose(Sizes{6, 8, 12, 24});
  heads = choose(Sizes{1, 2, 3, 4});
  group = choose(Sizes{1, 2, 3});
  headSize = choose(Sizes{2, 4, 6});
  padded = choose(Sizes{8, 12, 24});
  vocabulary = padded - (chance(2) ? draw(1, 3) : 0);
  microbatches = draw(1, 2);
  isTied = chance(2);
  dtype = chance(4) ? "bf16" : "f32";
}

/// Each axis shards a random dimension that it divides, or none.
std::string ModelWriter::drawSharding(const Sizes &shape, bool avoidDataAxes) {
  std::vector<std::vector<std::string>> dims(shape.size());
  Sizes left = shape;
  for (const Axis &axis : mesh) {
    bool isData = std::find(dataAxes.begin(), dataAxes.end(), axis.name) != dataAxes.end();
    if (chance(3) || (isData && avoidDataAxes))
      continue;
    int64_t dim = draw(0, int64_t(shape.size()) - 1);
    if (left[dim] % axis.size != 0)
      continue;
    left[dim] /= axis.size;
    dims[dim].push_back("\"" + axis.name + "\"");
  }
  std::vector<std::string> texts;
  for (const auto &axes : dims)
    texts.push_back("{" + join(axes, ", ") + "}");
  return "<@mesh, [" + join(texts, ", ") + "]>";
}

std::string ModelWriter::addParameter(BlockWriter &b, const std::string &name, const Sizes &shape,
                                      const std::string &axes, const std::string &init,
                                      const std::string &computeType) {
  BlockParameter parameter;
  parameter.name = name + std::to_string(b.parameters.size());
  parameter.type = tensor(shape, computeType.empty() ? dtype : computeType);
  parameter.axes = axes;
  parameter.init = init;
  // Storage over data axes as well, now and then: those are gathered for use.
  parameter.sharding = drawSharding(shape, !chance(6));
  b.parameters.push_back(parameter);
  return "%" + parameter.name;
}

std::string ModelWriter::einsum(BlockWriter &b, const std::string &equation, const std::string &lhs,
                                const Sizes &lhsShape, const std::string &rhs,
                                const Sizes &rhsShape, const Sizes &shape, std::string element) {
  return op(b, "uls.einsum \"" + equation + "\" " + lhs + ", " + rhs + " : " +
                   tensor(lhsShape, dtype) + ", " + tensor(rhsShape, dtype) + " -> " +
                   tensor(shape, element.empty() ? dtype : element));
}

//===---------------------------------------------------------------------------------------===//
// Pieces of layers: each maps a value of type x to another
//===---------------------------------------------------------------------------------------===//

std::string ModelWriter::writeNorm(BlockWriter &b, const std::string &in) {
  std::string weight = addParameter(b, "norm", {embed}, "\"embed\"", "<ones>", "f32");
  std::string vector = tensor({embed}, "f32"), statistic = tensor({rows, seq}, "f32"),
              out = b.fresh();
  if (chance(2)) {
    b.body += "    " + out + ", %r" + out.substr(1) + " = uls.rms_norm " + in + ", " + weight +
              " epsilon 1.0e-5 : " + x() + ", " + vector + " -> " + statistic + "\n";
    return out;
  }
  std::string bias = addParameter(b, "normbias", {embed}, "\"embed\"", "<zeros>", "f32");
  b.body += "    " + out + ", %m" + out.substr(1) + ", %r" + out.substr(1) + " = uls.layer_norm " +
            in + ", " + weight + ", " + bias + " epsilon 1.0e-5 : " + x() + ", " + vector + " -> " +
            statistic + "\n";
  return out;
}

std::string ModelWriter::writeMlp(BlockWriter &b, const std::string &in) {
  Sizes hidden{rows, seq, mlp};
  auto activation = [&](const std::string &value) {
    std::string kind = choose(std::vector<std::string>{"gelu none", "gelu tanh", "silu", "tanh"});
    return op(b, "uls." + kind + " " + value + " : " + tensor(hidden, dtype));
  };
  auto up = [&](const std::string &name) {
    std::string weight = addParameter(b, name, {embed, mlp}, "\"embed\", \"mlp\"", "<normal, 0.3>");
    return einsum(b, "bse,em->bsm", in, {rows, seq, embed}, weight, {embed, mlp}, hidden);
  };
  std::string value = activation(up("up"));
  if (chance(2))
    value = op(b, "uls.mul " + value + ", " + up("gate") + " : " + tensor(hidden, dtype) + ", " +
                      tensor(hidden, dtype));
  std::string down = addParameter(b, "down", {mlp, embed}, "\"mlp\", \"embed\"", "<normal, 0.3>");
  return add(b, in,
             einsum(b, "bsm,me->bse", value, hidden, down, {mlp, embed}, {rows, seq, embed}));
}

std::string ModelWriter::writeAttention(BlockWriter &b, const std::string &in) {
  Sizes q{rows, seq, heads, group, headSize}, k{rows, seq, heads, headSize},
      input{rows, seq, embed};
  b.usesPositions = true;
  std::string wq =
      addParameter(b, "q", {heads, group, headSize, embed},
                   "\"heads\", \"head_group\", \"head_dim\", \"embed\"", "<normal, 0.3>");
  std::string wk = addParameter(b, "k", {heads, headSize, embed},
                                "\"kv_heads\", \"head_dim\", \"embed\"", "<normal, 0.3>");
  std::string wv = addParameter(b, "v", {heads, headSize, embed},
                                "\"kv_heads\", \"head_dim\", \"embed\"", "<normal, 0.3>");
  std::string query =
      einsum(b, "bse,kgde->bskgd", in, input, wq, {heads, group, headSize, embed}, q);
  std::string key = einsum(b, "bse,kde->bskd", in, input, wk, {heads, headSize, embed}, k);
  std::string value = einsum(b, "bse,kde->bskd", in, input, wv, {heads, headSize, embed}, k);
  std::string positions = tensor({rows, seq}, "i32");
  if (chance(2)) {
    std::vector<std::string> frequencies;
    for (int64_t i = 0; i < headSize / 2; ++i)
      frequencies.push_back("0." + std::to_string(9 - 2 * i));
    std::string tail = ", %positions frequencies [" + join(frequencies, ", ") + "] : ";
    query = op(b, "uls.rope " + query + tail + tensor(q, dtype) + ", " + positions);
    key = op(b, "uls.rope " + key + tail + tensor(k, dtype) + ", " + positions);
  }
  std::string attributes = "scale = 0.5 : f64", context;
  if (chance(2))
    attributes += ", causal";
  if (chance(3)) {
    b.usesContext = true;
    context = " context %context";
    attributes += ", dropoutKey = \"attention\", dropoutRate = 0.25 : f64";
  }
  std::string out = b.fresh();
  b.body += "    " + out + ", %l" + out.substr(1) + " = uls.attention " + query + ", " + key +
            ", " + value + " positions %positions, %positions" + context + " {" + attributes +
            "} : " + tensor(q, dtype) + ", " + tensor(k, dtype) + ", " + positions + ", " +
            positions + " -> " + tensor({rows, seq, heads, group}, "f32") + "\n";
  std::string wo =
      addParameter(b, "o", {embed, heads, group, headSize},
                   "\"embed\", \"heads\", \"head_group\", \"head_dim\"", "<normal, 0.3>");
  return add(b, in,
             einsum(b, "bskgd,ekgd->bse", out, q, wo, {embed, heads, group, headSize}, input));
}

std::string ModelWriter::writeDropout(BlockWriter &b, const std::string &in) {
  b.usesContext = true;
  return op(b, "uls.dropout " + in + ", %context key \"drop" + std::to_string(b.next) +
                   "\" rate 0.3 : " + x());
}

std::string ModelWriter::writeBias(BlockWriter &b, const std::string &in) {
  std::string bias = addParameter(b, "bias", {embed}, "\"embed\"", "<normal, 0.5>");
  return add(
      b, in,
      op(b, "uls.broadcast " + bias + " dims [2] : " + tensor({embed}, dtype) + " -> " + x()));
}

std::string ModelWriter::writeReshape(BlockWriter &b, const std::string &in) {
  std::string split = tensor({rows, seq, 2, embed / 2}, dtype);
  std::string value = op(b, "uls.reshape " + in + " : " + x() + " -> " + split);
  value = op(b, "uls.tanh " + value + " : " + split);
  return add(b, in, op(b, "uls.reshape " + value + " : " + split + " -> " + x()));
}

std::string ModelWriter::writeTranspose(BlockWriter &b, const std::string &in) {
  std::string turned = tensor({rows, embed, seq}, dtype);
  std::string value = op(b, "uls.transpose " + in + " [0, 2, 1] : " + x() + " -> " + turned);
  value = op(b, "uls.gelu none " + value + " : " + turned);
  return op(b, "uls.transpose " + value + " [0, 2, 1] : " + turned + " -> " + x());
}

std::string ModelWriter::writeSlices(BlockWriter &b, const std::string &in) {
  std::string half = tensor({rows, seq, embed / 2}, dtype);
  std::string first = op(b, "uls.slice " + in + " dim 2 offset 0 : " + x() + " -> " + half);
  std::string second = op(b, "uls.slice " + in + " dim 2 offset " + std::to_string(embed / 2) +
                                 " : " + x() + " -> " + half);
  first = op(b, "uls.neg " + first + " : " + half);
  return op(b, "uls.concat " + second + ", " + first + " dim 2 : " + half + ", " + half + " -> " +
                   x());
}

std::string ModelWriter::writeMean(BlockWriter &b, const std::string &in) {
  std::string reduced = tensor({rows, embed}, dtype);
  std::string sum = op(b, "uls.reduce sum " + in + " dims [1] : " + x() + " -> " + reduced);
  std::string mean = op(b, "uls.mul " + sum + ", " + scalar(b, "0.25") + " : " + reduced +
                               ", tensor<" + dtype + ">");
  return add(b, in, op(b, "uls.broadcast " + mean + " dims [0, 2] : " + reduced + " -> " + x()));
}

std::string ModelWriter::writeSoftmax(BlockWriter &b, const std::string &in) {
  return add(b, in, op(b, "uls.softmax " + in + " : " + x()));
}

std::string ModelWriter::writeMaximum(BlockWriter &b, const std::string &in) {
  isSmooth = false;
  return op(b, "uls.maximum " + in + ", " + scalar(b, "-0.1") + " : " + x() + ", tensor<" + dtype +
                   ">");
}

std::string ModelWriter::writePin(BlockWriter &b, const std::string &in) {
  return op(b,
            "dist.reshard " + in + " to " + drawSharding({rows, seq, embed}, false) + " : " + x());
}

//===---------------------------------------------------------------------------------------===//
// The model
//===---------------------------------------------------------------------------------------===//

BlockWriter ModelWriter::writeLayer() {
  using Piece = std::string (ModelWriter::*)(BlockWriter &, const std::string &);
  static const std::vector<Piece> pieces = {
      &ModelWriter::writeNorm,      &ModelWriter::writeMlp,       &ModelWriter::writeMlp,
      &ModelWriter::writeAttention, &ModelWriter::writeAttention, &ModelWriter::writeDropout,
      &ModelWriter::writeBias,      &ModelWriter::writeReshape,   &ModelWriter::writeTranspose,
      &ModelWriter::writeSlices,    &ModelWriter::writeMean,      &ModelWriter::writeSoftmax,
      &ModelWriter::writeMaximum};
  BlockWriter b;
  std::string value = "%x";
  int64_t count = draw(2, 4);
  for (int64_t i = 0; i < count; ++i) {
    value = (this->*choose(pieces))(b, value);
    if (chance(4))
      value = writePin(b, value);
  }
  b.body += "    uls.yield " + value + " : " + x() + "\n";
  return b;
}

std::string ModelWriter::getSignature(const std::string &name, const std::string &leading,
                                      const BlockWriter &b, const std::string &result) {
  std::string text = "  uls.block @" + name + "(" + leading;
  if (b.usesPositions)
    text += ", %positions: " + tensor({rows, seq}, "i32");
  if (b.usesContext)
    text += ", %context: !uls.context";
  for (const BlockParameter &parameter : b.parameters)
    text += ", %" + parameter.name + ": " + parameter.type + " {uls.parameter}";
  return text + ") -> (" + result + ") {\n";
}

/// Declares a layer's parameters and materialises them in the forward.
void ModelWriter::declare(const BlockWriter &b, const std::string &prefix) {
  for (const BlockParameter &parameter : b.parameters) {
    // Stored in f32 whatever is computed with.
    std::string stored = parameter.type.substr(0, parameter.type.rfind('x') + 1) + "f32>";
    params += "  uls.param @" + prefix + parameter.name + " : " + stored + " axes [" +
              parameter.axes + "] init " + parameter.init + " sharding " + parameter.sharding +
              "\n";
    forward += "    %" + prefix + parameter.name + " = uls.materialize @" + prefix +
               parameter.name + " : " + parameter.type + "\n";
  }
}

std::string ModelWriter::callLayer(const BlockWriter &b, const std::string &block,
                                   const std::string &in, int layer) {
  std::string prefix = "l" + std::to_string(layer) + ".";
  declare(b, prefix);
  std::vector<std::string> arguments{in}, types{x()};
  if (b.usesPositions) {
    arguments.push_back("%positions");
    types.push_back(tensor({rows, seq}, "i32"));
  }
  if (b.usesContext) {
    arguments.push_back("%context");
    types.push_back("!uls.context");
  }
  for (const BlockParameter &parameter : b.parameters) {
    arguments.push_back("%" + prefix + parameter.name);
    types.push_back(parameter.type);
  }
  std::string out = "%x" + std::to_string(layer + 1);
  forward += "    " + out + " = uls.call @" + block + "(" + join(arguments, ", ") +
             ") {layer = " + std::to_string(layer) + " : i64} : (" + join(types, ", ") + ") -> " +
             x() + "\n";
  return out;
}

void ModelWriter::writeEmbedding() {
  std::string table = tensor({padded, embed}, dtype), tokens = tensor({rows, seq}, "i32");
  tableSharding = drawSharding({padded, embed}, true);
  std::string logical = vocabulary == padded ? ""
                                             : " logical_shape [" + std::to_string(vocabulary) +
                                                   ", " + std::to_string(embed) + "]";
  std::string stored = tensor({padded, embed}, "f32");
  params += "  uls.param @table : " + stored + " axes [\"vocab\", \"embed\"] init <normal, 0.5>" +
            logical + " sharding " + tableSharding + "\n";
  if (!isTied)
    params += "  uls.param @lm_head : " + stored +
              " axes [\"vocab\", \"embed\"] init <normal, 0.5>" + logical + " sharding " +
              drawSharding({padded, embed}, true) + "\n";
  blocks += "  uls.block @embed(%tokens: " + tokens + ", %table: " + table +
            " {uls.parameter}) -> (" + x() +
            ") {\n    %x = uls.embedding %tokens, %table : " + tokens + ", " + table + " -> " +
            x() + "\n    uls.yield %x : " + x() + "\n  }\n";
  forward += "    %positions = uls.iota dim 1 : " + tokens +
             "\n    %table = uls.materialize @table : " + table +
             "\n    %x0 = uls.call @embed(%tokens, %table) : (" + tokens + ", " + table + ") -> " +
             x() + "\n";
}

BlockWriter ModelWriter::writeHead() {
  BlockWriter b;
  std::string table = tensor({padded, embed}, dtype), tokens = tensor({rows, seq}, "i32");
  std::string value = chance(2) ? writeNorm(b, "%x") : "%x";
  std::string logits = einsum(b, "bse,ve->bsv", value, {rows, seq, embed}, "%table",
                              {padded, embed}, {rows, seq, padded}, "f32");
  std::string statistic = tensor({rows, seq}, "f32");
  b.body += "    %loss, %lse = uls.cross_entropy " + logits + ", %targets vocabulary " +
            std::to_string(vocabulary) + " : " + tensor({rows, seq, padded}, "f32") + ", " +
            tokens + " -> " + statistic + "\n";
  b.body += "    %sum = uls.reduce sum %loss dims [0, 1] : " + statistic +
            " -> tensor<f32>\n    uls.yield %sum : tensor<f32>\n";
  blocks += getSignature("head",
                         "%x: " + x() + ", %targets: " + tokens + ", %table: " + table +
                             " {uls.parameter}",
                         b, "tensor<f32>") +
            b.body + "  }\n";
  declare(b, "final.");
  return b;
}

std::string ModelWriter::getHeader() const {
  std::vector<std::string> axes, data;
  int64_t dataRanks = 1;
  for (const Axis &axis : mesh) {
    axes.push_back("\"" + axis.name + "\"=" + std::to_string(axis.size));
    if (std::find(dataAxes.begin(), dataAxes.end(), axis.name) != dataAxes.end())
      dataRanks *= axis.size;
  }
  for (const std::string &axis : dataAxes)
    data.push_back("\"" + axis + "\"");
  return "module attributes {uls.model = {name = \"random\", vocabulary = " +
         std::to_string(vocabulary) +
         " : i64}, uls.batch = {global = " + std::to_string(rows * microbatches) +
         " : i64, micro = " + std::to_string(rows / dataRanks) +
         " : i64, microbatches = " + std::to_string(microbatches) +
         " : i64, seq = " + std::to_string(seq) + " : i64, data_axes = [" + join(data, ", ") +
         "]}, uls.gradient_dtype = f32} {\n  dist.mesh @mesh <[" + join(axes, ", ") + "]>\n";
}

RandomModel ModelWriter::write() {
  drawSizes();
  writeEmbedding();
  std::vector<BlockWriter> layers;
  int64_t distinct = draw(1, 2);
  for (int64_t i = 0; i < distinct; ++i) {
    layers.push_back(writeLayer());
    blocks += getSignature("layer" + std::to_string(i), "%x: " + x(), layers.back(), x()) +
              layers.back().body + "  }\n";
  }
  std::string value = "%x0";
  int64_t count = draw(1, 3);
  for (int64_t layer = 0; layer < count; ++layer) {
    int64_t which = draw(0, distinct - 1);
    value = callLayer(layers[which], "layer" + std::to_string(which), value, int(layer));
  }
  BlockWriter head = writeHead();
  std::string tokens = tensor({rows, seq}, "i32"), table = tensor({padded, embed}, dtype);
  std::vector<std::string> arguments{value, "%targets", isTied ? "%table" : "%lm_head"},
      types{x(), tokens, table};
  for (const BlockParameter &parameter : head.parameters) {
    arguments.push_back("%final." + parameter.name);
    types.push_back(parameter.type);
  }
  if (!isTied)
    forward += "    %lm_head = uls.materialize @lm_head : " + table + "\n";
  forward += "    %loss = uls.call @head(" + join(arguments, ", ") + ") : (" + join(types, ", ") +
             ") -> tensor<f32>\n";
  std::string text = getHeader() + params + blocks + "  uls.forward @forward(%tokens: " + tokens +
                     ", %targets: " + tokens + ", %context: !uls.context) -> (tensor<f32>) {\n" +
                     forward + "    uls.yield %loss : tensor<f32>\n  }\n}\n";
  return {text, isSmooth};
}

} // namespace

RandomModel ulsc::test::drawModel(uint64_t seed) { return ModelWriter(seed).write(); }

//===- Gpt2.cpp - Import of the gpt2 family
//----------------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "lib/Frontend/Family.h"

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::frontend;

namespace {
struct Gpt2Config {
  int64_t vocabulary, hidden, inner, layers, heads, positions;
  double std, epsilon, embeddingDropout, attentionDropout, residualDropout;
  bool isTied, scalesAttention;
  std::string activation;

  int64_t getHeadSize() const { return hidden / heads; }
};
} // namespace

static const KeyRule kKeys[] = {
    {"vocab_size", KeyUse::Used},
    {"n_positions", KeyUse::Used},
    {"max_position_embeddings", KeyUse::Used},
    {"n_embd", KeyUse::Used},
    {"hidden_size", KeyUse::Used},
    {"n_layer", KeyUse::Used},
    {"num_hidden_layers", KeyUse::Used},
    {"n_head", KeyUse::Used},
    {"num_attention_heads", KeyUse::Used},
    {"n_inner", KeyUse::Used},
    {"activation_function", KeyUse::Used},
    {"resid_pdrop", KeyUse::Used},
    {"embd_pdrop", KeyUse::Used},
    {"attn_pdrop", KeyUse::Used},
    {"layer_norm_epsilon", KeyUse::Used},
    {"scale_attn_weights", KeyUse::Used},
    {"scale_attn_by_inverse_layer_idx", KeyUse::OnlyIf, "false|null",
     "scores divided by the layer's index"},
    // Scores are formed in f32 whatever the compute dtype.
    {"reorder_and_upcast_attn", KeyUse::Neutral},
    {"n_ctx", KeyUse::Neutral},
    {"summary_type", KeyUse::Neutral},
    {"summary_use_proj", KeyUse::Neutral},
    {"summary_activation", KeyUse::Neutral},
    {"summary_proj_to_labels", KeyUse::Neutral},
    {"summary_first_dropout", KeyUse::Neutral},
};

static Gpt2Config readConfig(const ConfigReader &config) {
  Gpt2Config c;
  config.checkKeys({getSharedKeys(), kKeys});
  c.vocabulary = config.getInteger({"vocab_size"}, 1, SizeBounds::kVocabulary);
  c.positions =
      config.getInteger({"n_positions", "max_position_embeddings"}, 1, SizeBounds::kPositions);
  c.hidden = config.getInteger({"n_embd", "hidden_size"}, 1, SizeBounds::kHidden);
  c.layers = config.getInteger({"n_layer", "num_hidden_layers"}, 1, SizeBounds::kLayers);
  c.heads = config.getInteger({"n_head", "num_attention_heads"}, 1, SizeBounds::kHeads);
  if (c.hidden % c.heads != 0) {
    if (config.isSound({"n_embd", "hidden_size", "n_head", "num_attention_heads"}))
      config.emitError(config.findSpelling({"n_head", "num_attention_heads"}))
          << "is " << c.heads << ", which does not divide \""
          << config.findSpelling({"n_embd", "hidden_size"}) << "\" = " << c.hidden
          << "; the nearest hidden size that it does is "
          << std::max(c.heads, (c.hidden + c.heads / 2) / c.heads * c.heads);
    c.heads = 1;
  }
  c.inner = config.getInteger({"n_inner"}, 1, SizeBounds::kHidden * 8, 4 * c.hidden);
  c.activation = config.getChoice({"activation_function"},
                                  {"gelu_new", "gelu_pytorch_tanh", "gelu"}, "gelu_new");
  c.std = config.getNumber("initializer_range", 0.0, 100.0, /*closed=*/true, 0.02);
  c.epsilon = config.getNumber("layer_norm_epsilon", 0.0, 1.0, /*closed=*/true, 1e-5);
  c.embeddingDropout = config.getNumber("embd_pdrop", 0.0, 0.999, /*closed=*/true, 0.1);
  c.attentionDropout = config.getNumber("attn_pdrop", 0.0, 0.999, /*closed=*/true, 0.1);
  c.residualDropout = config.getNumber("resid_pdrop", 0.0, 0.999, /*closed=*/true, 0.1);
  c.isTied = config.getBool("tie_word_embeddings", true);
  c.scalesAttention = config.getBool("scale_attn_weights", true);
  return c;
}

namespace {
/// Writes the blocks of one gpt2. Weights keep the layout [in, out] of Hugging Face's `Conv1D`.
class Gpt2Writer {
public:
  Gpt2Writer(const Gpt2Config &c, ModelBuilder &model)
      : c(c), model(model), rows(model.getRows()), seq(model.getSeq()),
        hiddenType(model.getComputeType({rows, seq, c.hidden})) {}

  void write();

private:
  Parameter vector(StringRef name, int64_t size, StringRef axis, uls::InitAttr init) {
    return {name.str(), {size}, {axis}, init, {}, false};
  }
  Parameter table(StringRef name) {
    return {name.str(), {c.vocabulary, c.hidden}, {"vocab", "embed"}, model.normal(c.std)};
  }
  /// Standard deviation of the projections into the residual stream (Radford et al. 2019).
  double getProjectionStd() const { return c.std / std::sqrt(2.0 * double(c.layers)); }
  Value layerNorm(BlockBuilder &b, Value x, StringRef module);
  void writeEmbed(BlockBuilder &b);
  void writeLayer(BlockBuilder &b);
  Value writeAttention(BlockBuilder &b, Value x, Value positions);
  Value writeMlp(BlockBuilder &b, Value x);
  void writeHead(BlockBuilder &b);

  const Gpt2Config &c;
  ModelBuilder &model;
  int64_t rows, seq;
  RankedTensorType hiddenType;
};
} // namespace

static constexpr StringLiteral kLayer = "transformer.h.*.";
static std::string inLayer(StringRef name) { return (kLayer + name).str(); }

Value Gpt2Writer::layerNorm(BlockBuilder &b, Value x, StringRef module) {
  Value weight =
      b.addParameter(vector((module + ".weight").str(), c.hidden, "embed", model.ones()));
  Value bias = b.addParameter(vector((module + ".bias").str(), c.hidden, "embed", model.zeros()));
  b.setModule(module);
  return b.create<uls::LayerNormOp>(x, weight, bias, c.epsilon).getOutput();
}

void Gpt2Writer::writeEmbed(BlockBuilder &b) {
  Value tokens = b.addInput(model.getIntegerType({rows, seq}), {"batch", "seq"}, "tokens");
  Value positions = b.addInput(model.getIntegerType({rows, seq}), {"batch", "seq"}, "positions");
  if (model.hasDropout)
    b.addContext();
  Value words = b.addParameter(table("transformer.wte.weight"));
  Value places = b.addParameter({"transformer.wpe.weight",
                                 {c.positions, c.hidden},
                                 {"positions", "embed"},
                                 model.normal(c.std)});
  b.setModule("transformer.wte");
  Value x = b.create<uls::EmbeddingOp>(hiddenType, tokens, words, dist::ShardAttr());
  b.setModule("transformer.wpe");
  Value place = b.create<uls::EmbeddingOp>(hiddenType, positions, places, dist::ShardAttr());
  b.setModule("transformer");
  x = b.create<uls::AddOp>(x, place);
  b.setModule("transformer.drop");
  b.finish(b.dropout(x, "embd", c.embeddingDropout));
}

Value Gpt2Writer::writeAttention(BlockBuilder &b, Value x, Value positions) {
  int64_t heads = c.heads, size = c.getHeadSize();
  // Dimension 1 of Hugging Face's tensor is q, k and v side by side: as dimensions of their own,
  // shards follow heads.
  Value weight = b.addParameter({inLayer("attn.c_attn.weight"),
                                 {c.hidden, 3, heads, size},
                                 {"embed", "qkv", "heads", "head_dim"},
                                 model.normal(c.std),
                                 {{0}, {1, 2, 3}}});
  Value bias = b.addParameter({inLayer("attn.c_attn.bias"),
                               {3, heads, size},
                               {"qkv", "heads", "head_dim"},
                               model.zeros(),
                               {{0, 1, 2}},
                               false});
  Value outWeight = b.addParameter({inLayer("attn.c_proj.weight"),
                                    {heads, size, c.hidden},
                                    {"heads", "head_dim", "embed"},
                                    model.normal(getProjectionStd()),
                                    {{0, 1}, {2}}});
  Value outBias =
      b.addParameter(vector(inLayer("attn.c_proj.bias"), c.hidden, "embed", model.zeros()));
  b.setModule(inLayer("attn.c_attn"));
  Value fused = b.addBias(b.einsum("bse,ethd->bsthd", x, weight), bias);
  OpBuilder attributes(model.getContext());
  Value parts[3];
  for (int64_t i = 0; i < 3; ++i)
    parts[i] =
        b.create<uls::SliceOp>(model.getComputeType({rows, seq, 1, heads, size}), fused,
                               attributes.getI64IntegerAttr(2), attributes.getI64IntegerAttr(i));
  Value query = b.reshape(parts[0], {rows, seq, heads, 1, size});
  Value key = b.reshape(parts[1], {rows, seq, heads, size}),
        value = b.reshape(parts[2], {rows, seq, heads, size});
  b.setModule(inLayer("attn"));
  bool drops = model.hasDropout;
  double scale = c.scalesAttention ? 1.0 / std::sqrt(double(size)) : 1.0;
  auto attention = b.create<uls::AttentionOp>(
      query.getType(), model.getFloatType({rows, seq, heads, 1}), query, key, value, positions,
      positions, Value(), Value(), drops ? b.getContextArgument() : Value(),
      attributes.getF64FloatAttr(scale), attributes.getUnitAttr(),
      drops ? attributes.getStringAttr("attn") : StringAttr(),
      drops ? attributes.getF64FloatAttr(c.attentionDropout) : FloatAttr(), dist::ShardAttr());
  Value merged = b.reshape(attention.getOutput(), {rows, seq, heads, size});
  b.setModule(inLayer("attn.c_proj"));
  Value result = b.addBias(b.einsum("bshd,hde->bse", merged, outWeight), outBias);
  b.setModule(inLayer("attn.resid_dropout"));
  return b.dropout(result, "resid_attn", c.residualDropout);
}

Value Gpt2Writer::writeMlp(BlockBuilder &b, Value x) {
  Value fc = b.addParameter(
      {inLayer("mlp.c_fc.weight"), {c.hidden, c.inner}, {"embed", "mlp"}, model.normal(c.std)});
  Value fcBias = b.addParameter(vector(inLayer("mlp.c_fc.bias"), c.inner, "mlp", model.zeros()));
  Value proj = b.addParameter({inLayer("mlp.c_proj.weight"),
                               {c.inner, c.hidden},
                               {"mlp", "embed"},
                               model.normal(getProjectionStd())});
  Value projBias =
      b.addParameter(vector(inLayer("mlp.c_proj.bias"), c.hidden, "embed", model.zeros()));
  b.setModule(inLayer("mlp.c_fc"));
  Value raised = b.addBias(b.einsum("bse,em->bsm", x, fc), fcBias);
  b.setModule(inLayer("mlp.act"));
  auto form = c.activation == "gelu" ? uls::Approximation::None : uls::Approximation::Tanh;
  raised = b.create<uls::GeluOp>(raised.getType(),
                                 uls::ApproximationAttr::get(model.getContext(), form), raised);
  b.setModule(inLayer("mlp.c_proj"));
  Value result = b.addBias(b.einsum("bsm,me->bse", raised, proj), projBias);
  b.setModule(inLayer("mlp.dropout"));
  return b.dropout(result, "resid_mlp", c.residualDropout);
}

void Gpt2Writer::writeLayer(BlockBuilder &b) {
  Value x = b.addInput(hiddenType, {"batch", "seq", "embed"}, "hidden_states");
  Value positions = b.addInput(model.getIntegerType({rows, seq}), {"batch", "seq"}, "positions");
  if (model.hasDropout)
    b.addContext();
  Value attended = writeAttention(b, layerNorm(b, x, inLayer("ln_1")), positions);
  b.setModule("transformer.h.*");
  Value residual = b.create<uls::AddOp>(x, attended);
  Value raised = writeMlp(b, layerNorm(b, residual, inLayer("ln_2")));
  b.setModule("transformer.h.*");
  b.finish(b.create<uls::AddOp>(residual, raised).getOutput());
}

void Gpt2Writer::writeHead(BlockBuilder &b) {
  Value x = b.addInput(hiddenType, {"batch", "seq", "embed"}, "hidden_states");
  Value targets = b.addInput(model.getIntegerType({rows, seq}), {"batch", "seq"}, "targets");
  Value normed = layerNorm(b, x, "transformer.ln_f");
  Value head = b.addParameter(table(c.isTied ? "transformer.wte.weight" : "lm_head.weight"));
  b.setModule("lm_head");
  Value logits = b.einsum("bse,ve->bsv", normed, head);
  b.setModule("loss");
  b.finish(model.writeLoss(b, logits, targets, c.vocabulary));
}

void Gpt2Writer::write() {
  BlockBuilder embed(model, "embed"), layer(model, "layer"), head(model, "head");
  writeEmbed(embed);
  writeLayer(layer);
  writeHead(head);
  model.beginForward();
  Value x = model.call(embed, {model.getTokens(), model.getPositions()})[0];
  for (int64_t i = 0; i < c.layers; ++i)
    x = model.call(layer, {x, model.getPositions()}, i)[0];
  model.finishForward(model.call(head, {x, model.getTargets()})[0]);
}

std::optional<ImportedModel> ulsc::frontend::importGpt2(const ConfigReader &config,
                                                        MLIRContext *context,
                                                        const ImportOptions &options) {
  bool hasErrors = false;
  ConfigReader reader(config.getFile(), "", hasErrors);
  Gpt2Config c = readConfig(reader);
  checkDtype(reader, options);
  checkTotalSize(reader,
                 c.layers * (4.0 * c.hidden * c.hidden + 2.0 * c.hidden * c.inner) +
                     (2.0 * c.vocabulary + c.positions) * c.hidden,
                 hasErrors);
  if (options.seq > c.positions && reader.isSound({"n_positions", "max_position_embeddings"}))
    reader.emitError(reader.findSpelling({"n_positions", "max_position_embeddings"}))
        << "is " << c.positions << ", and positions are learned: the sequence length "
        << options.seq << " has no embedding for its end; use --seq " << c.positions << " or less";
  if (hasErrors)
    return std::nullopt;
  ModelBuilder model(context, options);
  model.hasDropout = options.dropout.value_or(c.embeddingDropout > 0 || c.attentionDropout > 0 ||
                                              c.residualDropout > 0);
  Gpt2Writer(c, model).write();
  return ImportedModel{model.take(), c.vocabulary, "transformer."};
}

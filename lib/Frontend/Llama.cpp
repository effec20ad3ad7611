//===- Llama.cpp - Import of the llama family
//--------------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "lib/Frontend/Family.h"
#include "lib/Frontend/Rope.h"

#include <cmath>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::frontend;

namespace {
struct LlamaConfig {
  int64_t vocabulary, hidden, intermediate, layers, heads, keyValueHeads, headSize, maxPositions;
  double std, epsilon, attentionDropout;
  bool isTied, hasAttentionBias, hasMlpBias;
  SmallVector<double> frequencies;

  int64_t getGroup() const { return heads / keyValueHeads; }
};
} // namespace

static const KeyRule kKeys[] = {
    {"vocab_size", KeyUse::Used},
    {"hidden_size", KeyUse::Used},
    {"intermediate_size", KeyUse::Used},
    {"num_hidden_layers", KeyUse::Used},
    {"num_attention_heads", KeyUse::Used},
    {"num_key_value_heads", KeyUse::Used},
    {"head_dim", KeyUse::Used},
    {"max_position_embeddings", KeyUse::Used},
    {"rms_norm_eps", KeyUse::Used},
    {"rope_theta", KeyUse::Used},
    {"rope_scaling", KeyUse::Used},
    {"rope_parameters", KeyUse::Used},
    {"attention_bias", KeyUse::Used},
    {"attention_dropout", KeyUse::Used},
    {"mlp_bias", KeyUse::Used},
    {"hidden_act", KeyUse::OnlyIf, "\"silu\"|\"swish\"|null", "another activation in the MLP"},
    {"rope_interleaved", KeyUse::OnlyIf, "false|null", "rotating neighbouring elements"},
    {"partial_rotary_factor", KeyUse::OnlyIf, "1|null", "rotating a part of each head"},
    {"sliding_window", KeyUse::OnlyIf, "null", "attention to a window"},
    {"use_sliding_window", KeyUse::OnlyIf, "false|null", "attention to a window"},
    // Only how older code of Hugging Face split its matrix products; the results are the same.
    {"pretraining_tp", KeyUse::Neutral},
    {"is_llama_config", KeyUse::Neutral},
    {"context_window_size", KeyUse::Neutral},
    {"prefill_chunk_size", KeyUse::Neutral},
};

/// The head's size: given, or hidden size over heads, which must then divide.
static int64_t readHeadSize(const ConfigReader &config, int64_t hidden, int64_t heads) {
  // Without a head_dim of its own the size follows from both.
  bool isKnown = config.isSound({"hidden_size", "num_attention_heads"});
  if (!config.has("head_dim") && !isKnown)
    return 2;
  if (!config.has("head_dim") && hidden % heads != 0) {
    config.emitError("hidden_size")
        << "is " << hidden << ", which \"num_attention_heads\" = " << heads
        << " does not divide; the nearest that it does is "
        << std::max(heads, (hidden + heads / 2) / heads * heads) << ", or give \"head_dim\"";
    return 2;
  }
  int64_t size =
      config.getInteger({"head_dim"}, 1, SizeBounds::kHidden, std::max<int64_t>(hidden / heads, 1));
  if (size % 2 == 0 || !config.isSound({"head_dim"}))
    return size;
  if (config.has("head_dim"))
    config.emitError("head_dim") << "is " << size
                                 << ", expected an even size, since rotary positions turn pairs; "
                                 << "the nearest is " << size + 1;
  else
    config.emitError("hidden_size")
        << "is " << hidden << ", which over \"num_attention_heads\" = " << heads
        << " makes heads of " << size
        << ", expected an even size, since rotary positions turn pairs; the nearest is "
        << heads * (size + 1) << ", or give \"head_dim\"";
  return size;
}

static LlamaConfig readConfig(const ConfigReader &config) {
  LlamaConfig c;
  config.checkKeys({getSharedKeys(), kKeys});
  c.vocabulary = config.getInteger({"vocab_size"}, 1, SizeBounds::kVocabulary);
  c.hidden = config.getInteger({"hidden_size"}, 1, SizeBounds::kHidden);
  c.intermediate = config.getInteger({"intermediate_size"}, 1, SizeBounds::kHidden * 8);
  c.layers = config.getInteger({"num_hidden_layers"}, 1, SizeBounds::kLayers);
  c.heads = config.getInteger({"num_attention_heads"}, 1, SizeBounds::kHeads);
  c.keyValueHeads = config.getInteger({"num_key_value_heads"}, 1, SizeBounds::kHeads, c.heads);
  if (!config.isSound({"num_attention_heads", "num_key_value_heads"}))
    c.keyValueHeads = c.heads;
  if (c.heads % c.keyValueHeads != 0) {
    int64_t legal = c.keyValueHeads < c.heads ? c.keyValueHeads : c.heads;
    while (c.heads % legal != 0)
      --legal;
    config.emitError("num_key_value_heads")
        << "is " << c.keyValueHeads << ", which does not divide "
        << "\"num_attention_heads\" = " << c.heads << "; the nearest that does is " << legal;
    c.keyValueHeads = c.heads;
  }
  c.headSize = readHeadSize(config, c.hidden, c.heads);
  c.maxPositions = config.getInteger({"max_position_embeddings"}, 1, SizeBounds::kPositions, 2048);
  c.std = config.getNumber("initializer_range", 0.0, 100.0, /*closed=*/true, 0.02);
  c.epsilon = config.getNumber("rms_norm_eps", 0.0, 1.0, /*closed=*/true, 1e-6);
  c.attentionDropout = config.getNumber("attention_dropout", 0.0, 0.999, /*closed=*/true, 0.0);
  c.isTied = config.getBool("tie_word_embeddings", false);
  c.hasAttentionBias = config.getBool("attention_bias", false);
  c.hasMlpBias = config.getBool("mlp_bias", false);
  c.frequencies = readRopeFrequencies(config, c.headSize);
  return c;
}

namespace {
/// Writes the blocks of one llama.
class LlamaWriter {
public:
  LlamaWriter(const LlamaConfig &c, ModelBuilder &model)
      : c(c), model(model), rows(model.getRows()), seq(model.getSeq()),
        hiddenType(model.getComputeType({rows, seq, c.hidden})) {}

  void write();

private:
  Parameter norm(StringRef name) {
    return {name.str(), {c.hidden}, {"embed"}, model.ones(), {}, false};
  }
  Parameter table(StringRef name) {
    return {name.str(), {c.vocabulary, c.hidden}, {"vocab", "embed"}, model.normal(c.std)};
  }
  Parameter bias(StringRef name, SmallVector<int64_t> shape, SmallVector<StringRef> axes) {
    SmallVector<SmallVector<int64_t>> external(1);
    for (size_t dim = 0; dim < shape.size(); ++dim)
      external[0].push_back(dim);
    if (shape.size() == 1)
      external.clear();
    return {name.str(), std::move(shape), std::move(axes), model.zeros(), external, false};
  }
  /// `value · weight (+ bias)` as the module `name` of layer `*` does it.
  Value project(BlockBuilder &b, StringRef equation, Value value, Value weight, Value bias,
                StringRef name) {
    b.setModule(name);
    Value result = b.einsum(equation, value, weight);
    return bias ? b.addBias(result, bias) : result;
  }
  void writeEmbed(BlockBuilder &b);
  void writeLayer(BlockBuilder &b);
  Value writeAttention(BlockBuilder &b, Value x, Value positions);
  Value writeMlp(BlockBuilder &b, Value x);
  void writeHead(BlockBuilder &b);

  const LlamaConfig &c;
  ModelBuilder &model;
  int64_t rows, seq;
  RankedTensorType hiddenType;
};
} // namespace

static constexpr StringLiteral kLayer = "model.layers.*.";
static std::string inLayer(StringRef name) { return (kLayer + name).str(); }

void LlamaWriter::writeEmbed(BlockBuilder &b) {
  Value tokens = b.addInput(model.getIntegerType({rows, seq}), {"batch", "seq"}, "tokens");
  Value weight = b.addParameter(table("model.embed_tokens.weight"));
  b.setModule("model.embed_tokens");
  b.finish(b.create<uls::EmbeddingOp>(hiddenType, tokens, weight, dist::ShardAttr()).getOutput());
}

Value LlamaWriter::writeAttention(BlockBuilder &b, Value x, Value positions) {
  int64_t kv = c.keyValueHeads, group = c.getGroup(), size = c.headSize;
  Value q = b.addParameter({inLayer("self_attn.q_proj.weight"),
                            {kv, group, size, c.hidden},
                            {"heads", "head_group", "head_dim", "embed"},
                            model.normal(c.std),
                            {{0, 1, 2}, {3}}});
  Value k = b.addParameter({inLayer("self_attn.k_proj.weight"),
                            {kv, size, c.hidden},
                            {"kv_heads", "head_dim", "embed"},
                            model.normal(c.std),
                            {{0, 1}, {2}}});
  Value v = b.addParameter({inLayer("self_attn.v_proj.weight"),
                            {kv, size, c.hidden},
                            {"kv_heads", "head_dim", "embed"},
                            model.normal(c.std),
                            {{0, 1}, {2}}});
  Value o = b.addParameter({inLayer("self_attn.o_proj.weight"),
                            {c.hidden, kv, group, size},
                            {"embed", "heads", "head_group", "head_dim"},
                            model.normal(c.std),
                            {{0}, {1, 2, 3}}});
  Value qBias, kBias, vBias, oBias;
  if (c.hasAttentionBias) {
    qBias = b.addParameter(bias(inLayer("self_attn.q_proj.bias"), {kv, group, size},
                                {"heads", "head_group", "head_dim"}));
    kBias = b.addParameter(
        bias(inLayer("self_attn.k_proj.bias"), {kv, size}, {"kv_heads", "head_dim"}));
    vBias = b.addParameter(
        bias(inLayer("self_attn.v_proj.bias"), {kv, size}, {"kv_heads", "head_dim"}));
    oBias = b.addParameter(bias(inLayer("self_attn.o_proj.bias"), {c.hidden}, {"embed"}));
  }
  Value query = project(b, "bse,hgde->bshgd", x, q, qBias, inLayer("self_attn.q_proj"));
  Value key = project(b, "bse,hde->bshd", x, k, kBias, inLayer("self_attn.k_proj"));
  Value value = project(b, "bse,hde->bshd", x, v, vBias, inLayer("self_attn.v_proj"));
  b.setModule(inLayer("self_attn"));
  OpBuilder attributes(model.getContext());
  auto frequencies = attributes.getDenseF64ArrayAttr(c.frequencies);
  query = b.create<uls::RopeOp>(query.getType(), query, positions, frequencies, UnitAttr());
  key = b.create<uls::RopeOp>(key.getType(), key, positions, frequencies, UnitAttr());
  bool drops = model.hasDropout;
  auto attention = b.create<uls::AttentionOp>(
      query.getType(), model.getFloatType({rows, seq, kv, group}), query, key, value, positions,
      positions, Value(), Value(), drops ? b.getContextArgument() : Value(),
      attributes.getF64FloatAttr(1.0 / std::sqrt(double(size))), attributes.getUnitAttr(),
      drops ? attributes.getStringAttr("attn") : StringAttr(),
      drops ? attributes.getF64FloatAttr(c.attentionDropout) : FloatAttr(), dist::ShardAttr());
  return project(b, "bshgd,ehgd->bse", attention.getOutput(), o, oBias,
                 inLayer("self_attn.o_proj"));
}

Value LlamaWriter::writeMlp(BlockBuilder &b, Value x) {
  auto weight = [&](StringRef name, bool isDown) -> Value {
    if (isDown)
      return b.addParameter(
          {inLayer(name), {c.hidden, c.intermediate}, {"embed", "mlp"}, model.normal(c.std)});
    return b.addParameter(
        {inLayer(name), {c.intermediate, c.hidden}, {"mlp", "embed"}, model.normal(c.std)});
  };
  Value gate = weight("mlp.gate_proj.weight", false), up = weight("mlp.up_proj.weight", false);
  Value down = weight("mlp.down_proj.weight", true);
  Value gateBias, upBias, downBias;
  if (c.hasMlpBias) {
    gateBias = b.addParameter(bias(inLayer("mlp.gate_proj.bias"), {c.intermediate}, {"mlp"}));
    upBias = b.addParameter(bias(inLayer("mlp.up_proj.bias"), {c.intermediate}, {"mlp"}));
    downBias = b.addParameter(bias(inLayer("mlp.down_proj.bias"), {c.hidden}, {"embed"}));
  }
  Value gated = project(b, "bse,me->bsm", x, gate, gateBias, inLayer("mlp.gate_proj"));
  b.setModule(inLayer("mlp.act_fn"));
  gated = b.create<uls::SiluOp>(gated.getType(), gated);
  Value raised = project(b, "bse,me->bsm", x, up, upBias, inLayer("mlp.up_proj"));
  b.setModule(inLayer("mlp"));
  Value product = b.create<uls::MulOp>(gated, raised);
  return project(b, "bsm,em->bse", product, down, downBias, inLayer("mlp.down_proj"));
}

void LlamaWriter::writeLayer(BlockBuilder &b) {
  Value x = b.addInput(hiddenType, {"batch", "seq", "embed"}, "hidden_states");
  Value positions = b.addInput(model.getIntegerType({rows, seq}), {"batch", "seq"}, "positions");
  if (model.hasDropout)
    b.addContext();
  Value inputNorm = b.addParameter(norm(inLayer("input_layernorm.weight")));
  b.setModule(inLayer("input_layernorm"));
  Value normed = b.create<uls::RmsNormOp>(x, inputNorm, c.epsilon).getOutput();
  Value attended = writeAttention(b, normed, positions);
  b.setModule("model.layers.*");
  Value residual = b.create<uls::AddOp>(x, attended);
  Value postNorm = b.addParameter(norm(inLayer("post_attention_layernorm.weight")));
  b.setModule(inLayer("post_attention_layernorm"));
  normed = b.create<uls::RmsNormOp>(residual, postNorm, c.epsilon).getOutput();
  Value raised = writeMlp(b, normed);
  b.setModule("model.layers.*");
  b.finish(b.create<uls::AddOp>(residual, raised).getOutput());
}

void LlamaWriter::writeHead(BlockBuilder &b) {
  Value x = b.addInput(hiddenType, {"batch", "seq", "embed"}, "hidden_states");
  Value targets = b.addInput(model.getIntegerType({rows, seq}), {"batch", "seq"}, "targets");
  Value weight = b.addParameter(norm("model.norm.weight"));
  Value head = b.addParameter(table(c.isTied ? "model.embed_tokens.weight" : "lm_head.weight"));
  b.setModule("model.norm");
  Value normed = b.create<uls::RmsNormOp>(x, weight, c.epsilon).getOutput();
  b.setModule("lm_head");
  Value logits = b.einsum("bse,ve->bsv", normed, head);
  b.setModule("loss");
  b.finish(model.writeLoss(b, logits, targets, c.vocabulary));
}

void LlamaWriter::write() {
  BlockBuilder embed(model, "embed"), layer(model, "layer"), head(model, "head");
  writeEmbed(embed);
  writeLayer(layer);
  writeHead(head);
  model.beginForward();
  Value x = model.call(embed, model.getTokens())[0];
  for (int64_t i = 0; i < c.layers; ++i)
    x = model.call(layer, {x, model.getPositions()}, i)[0];
  model.finishForward(model.call(head, {x, model.getTargets()})[0]);
}

std::optional<ImportedModel> ulsc::frontend::importLlama(const ConfigReader &config,
                                                         MLIRContext *context,
                                                         const ImportOptions &options) {
  bool hasErrors = false;
  ConfigReader reader(config.getFile(), "", hasErrors);
  LlamaConfig c = readConfig(reader);
  checkDtype(reader, options);
  double attention = 2.0 * (c.heads + c.keyValueHeads) * c.headSize * c.hidden;
  checkTotalSize(reader,
                 c.layers * (attention + 3.0 * c.hidden * c.intermediate) +
                     2.0 * c.vocabulary * c.hidden,
                 hasErrors);
  if (options.seq > c.maxPositions && reader.isSound({"max_position_embeddings"}))
    reader.emitWarning("max_position_embeddings")
        << "is " << c.maxPositions << " and the sequence length " << options.seq
        << "; rotary positions go on, but the model was not made for it";
  if (hasErrors)
    return std::nullopt;
  ModelBuilder model(context, options);
  model.hasDropout = options.dropout.value_or(c.attentionDropout > 0);
  LlamaWriter(c, model).write();
  return ImportedModel{model.take(), c.vocabulary, "model."};
}

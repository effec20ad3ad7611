//===- Features.cpp - The table of dimensions and choices --------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------------------------===//

#include "tools/ulsc-legality/Features.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

using namespace ulsc::legality;

//===----------------------------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------------------------===//

static const char *const kGroups =
    R"("groups": [{"match": "{embedding}", "weight_decay": 0}, )"
    R"({"match": "*.1.*", "lr_scale": 0.5, "weight_decay_scale": 2}])";
/// Attention and MLP by themselves, by what all the models call them.
static const char *const kUnits = R"("storage": {"units": ["*attn.*", "*.mlp.*"]})";
static const char *const kPins =
    R"("sharding": [{"match": "*.mlp.*proj.weight", "dims": [null, null]}])";

const std::vector<Dimension> &ulsc::legality::getDimensions() {
  static const std::vector<Dimension> dimensions = {
      {"model",
       "the family and what its members differ in (`test/golden`)",
       ChangesNumbers | Core,
       {{"llama", {}, "", "", "", "model.embed_tokens.weight"},
        {"gpt2", {}, "", "", "", "transformer.wte.weight"},
        {"llama-bias-tied", {}, "", "", "", "model.embed_tokens.weight"}}},
      {"strategy",
       "what data ranks divide",
       Core,
       {{"ddp", {}, "ddp"},
        {"zero1", {}, "zero1"},
        {"zero2", {}, "zero2"},
        {"zero3", {}, "zero3"},
        {"zero3-kept", {"--reshard-after-forward", "false"}, "zero3"},
        {"zero3-parts", {"--reshard-after-forward", "2"}, "zero3"},
        {"zero3-units", {}, "zero3", "", kUnits},
        {"hsdp", {}, "hsdp"}}},
      {"data",
       "the data axes of the mesh",
       Core,
       {{"dp=2", {}, "", "dp=2"},
        {"dp=3", {}, "", "dp=3"},
        {"dp=4", {}, "", "dp=4"},
        {"dp=2x2", {}, "", "dp_replicate=2,dp_shard=2"}}},
      {"tensor",
       "what tensor parallelism divides",
       Core,
       {{"none"}, //
        {"tp=2", {}, "tp", "tp=2"},
        {"tp=2+sp", {}, "tp+sp", "tp=2"}}},
      {"pipeline",
       "stages, and the schedule of their work",
       0,
       {{"none"},
        {"1f1b", {"--pp-schedule", "1f1b"}, "", "pp=2"},
        {"gpipe", {"--pp-schedule", "gpipe"}, "", "pp=2"},
        {"interleaved", {"--pp-schedule", "interleaved", "--pp-chunks", "2"}, "", "pp=2"},
        {"zb-h1", {"--pp-schedule", "zb-h1"}, "", "pp=2"},
        {"zb-h2", {"--pp-schedule", "zb-h2"}, "", "pp=2"},
        {"zbv", {"--pp-schedule", "zbv", "--pp-chunks", "2"}, "", "pp=2"}}},
      {"microbatches",
       "how often a step goes through the model",
       Core,
       {{"1", {"--microbatches", "1"}}, //
        {"2", {"--microbatches", "2"}}}},
      {"dtype",
       "of compute and of stored matrices",
       ChangesNumbers | Narrow,
       {{"f32"}, //
        {"bf16", {"--dtype", "bf16"}},
        {"f16", {"--dtype", "f16"}}}},
      {"state",
       "dtypes of gradients, reductions, masters and moments",
       ChangesNumbers | Narrow,
       {{"f32"},
        {"bf16-reduced", {"--reduce-dtype", "bf16"}},
        {"bf16-gradients", {"--grad-dtype", "bf16"}},
        {"bf16-moments", {"--moment-dtype", "bf16", "--stochastic-rounding", "on"}},
        {"bf16-all",
         {"--grad-dtype", "bf16", "--moment-dtype", "bf16", "--master-dtype", "none",
          "--stochastic-rounding", "on"}}}},
      {"recomputation",
       "what the backward computes again",
       0,
       {{"default"},
        {"none", {"--recompute", "none"}},
        {"selective", {"--recompute", "selective"}},
        {"full", {"--recompute", "full"}},
        {"full:group=2", {"--recompute", "full:group=2"}},
        {"full:layers=1", {"--recompute", "full:layers=1"}},
        {"limit", {"--memory-limit", "{limit}"}}}},
      {"optimizer", "", ChangesNumbers, {{"adamw"}, {"sgd", {"--optimizer", "sgd"}}}},
      {"dropout", "", ChangesNumbers, {{"off"}, {"on", {"--dropout", "on"}}}},
      {"parameters",
       "groups, frozen parameters and pins of the recipe",
       ChangesNumbers,
       {{"alike"},
        {"groups", {}, "", "", kGroups},
        {"frozen", {}, "", "", R"("frozen": ["{embedding}"])"},
        {"pinned", {}, "", "", kPins}}},
  };
  return dimensions;
}

const std::vector<LaterFeature> &ulsc::legality::getLaterFeatures() {
  static const std::vector<LaterFeature> features = {
      {"context parallelism", {"--mesh", "dp=2,cp=2"}},
      {"expert parallelism", {"--mesh", "dp=2", "--strategy", "ddp+ep"}},
      {"the communication contract", {"--mesh", "dp=2"}, R"("allow": ["all_reduce:dp"])"},
      {"cluster descriptions", {"--mesh", "dp=2", "--cluster", "cluster.json"}},
  };
  return features;
}

//===----------------------------------------------------------------------------------------===//
// From choices to commands
//===----------------------------------------------------------------------------------------===//

/// Sizes that every mesh and number of microbatches of the table divides, and that are quick.
static Words makeShape() { return {"--seq", "32", "--batch", "24"}; }

static void append(Words &words, const Words &others) {
  words.insert(words.end(), others.begin(), others.end());
}

static void appendTo(std::string &text, const std::string &separator, const std::string &part) {
  if (!part.empty())
    text += (text.empty() ? "" : separator) + part;
}

static std::string replaceAll(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// The product of the sizes in `dp=2,tp=2`.
static int countRanksOf(const std::string &mesh) {
  int ranks = 1;
  std::istringstream parts(mesh);
  for (std::string part; std::getline(parts, part, ',');)
    ranks *= std::atoi(part.substr(part.find('=') + 1).c_str());
  return ranks;
}

int ulsc::legality::countRanks(const Case &choices) {
  int ranks = 1;
  for (size_t i = 0; i < choices.size(); ++i)
    if (choices[i] < getDimensions()[i].choices.size())
      ranks *= countRanksOf(getChoice(choices, i).mesh);
  return ranks;
}

bool Command::needsLimit() const {
  return std::find(flags.begin(), flags.end(), "{limit}") != flags.end();
}

bool ulsc::legality::isWide(const Case &choices) {
  for (size_t i = 0; i < choices.size(); ++i)
    if (getDimensions()[i].is(Narrow) && choices[i])
      return false;
  return true;
}

const Choice &ulsc::legality::getChoice(const Case &choices, size_t dimension) {
  return getDimensions()[dimension].choices[choices[dimension]];
}

bool ulsc::legality::usesChoice(const Case &choices, const std::string &dimension,
                                const std::string &choice) {
  for (size_t i = 0; i < choices.size(); ++i)
    if (getDimensions()[i].name == dimension)
      return getChoice(choices, i).name == choice;
  return false;
}

std::string ulsc::legality::describe(const Case &choices, const std::string &separator) {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i)
    appendTo(text, separator, getChoice(choices, i).name);
  return text;
}

static Command makeCommandOn(const Case &choices, bool isReference) {
  Command command;
  command.model = getChoice(choices, 0).name;
  command.flags = makeShape();
  std::string mesh, strategy, recipe;
  for (size_t i = 0; i < choices.size(); ++i) {
    const Choice &choice = getChoice(choices, i);
    appendTo(recipe, ", ", choice.recipe);
    if (isReference && !getDimensions()[i].is(ChangesNumbers))
      continue;
    append(command.flags, choice.flags);
    appendTo(mesh, ",", choice.mesh);
    appendTo(strategy, "+", choice.strategy);
  }
  if (!mesh.empty())
    append(command.flags, {"--mesh", mesh});
  if (!strategy.empty())
    append(command.flags, {"--strategy", strategy});
  if (!recipe.empty())
    command.recipe =
        "{" + replaceAll(recipe, "{embedding}", getChoice(choices, 0).embedding) + "}\n";
  command.ranks = countRanksOf(mesh);
  return command;
}

Command ulsc::legality::makeCommand(const Case &choices) { return makeCommandOn(choices, false); }

Command ulsc::legality::makeReference(const Case &choices) { return makeCommandOn(choices, true); }

Command ulsc::legality::makeCommand(const LaterFeature &feature) {
  Command command;
  command.model = getDimensions()[0].choices[0].name;
  command.flags = makeShape();
  append(command.flags, feature.flags);
  if (!feature.recipe.empty())
    command.recipe = "{" + feature.recipe + "}\n";
  return command;
}

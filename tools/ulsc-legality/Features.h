//===- Features.h - What a training program can be made of -*- C++ -*- -------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------------------------===//
//
// The one table of dimensions and choices. The legality matrix (docs/legality.md) and the cases of
// the sweep (test/e2e/state_test.cpp) come from it: a line here is a row and a column there, and
// cases that train.
//
//===----------------------------------------------------------------------------------------===//
#ifndef ULSC_TOOLS_ULSC_LEGALITY_FEATURES_H
#define ULSC_TOOLS_ULSC_LEGALITY_FEATURES_H

#include <string>
#include <vector>

namespace ulsc::legality {

using Words = std::vector<std::string>;

/// What `ulsc compile` gets for one choice. In texts `{embedding}` stands for the model's token
/// table and `{limit}` for a memory limit that needs recomputation.
struct Choice {
  /// Without blanks, unique in its dimension.
  std::string name;
  Words flags = {};
  /// A part of `--strategy`, joined by `+`.
  std::string strategy = "";
  /// A part of `--mesh`, joined by `,`.
  std::string mesh = "";
  /// Members of the recipe.
  std::string recipe = "";
  /// The token table's name; of models only.
  std::string embedding = "";
};

/// What a dimension is, besides a list of choices.
enum Trait : unsigned {
  /// Numbers may differ from choice to choice. Those of other dimensions only say where and when
  /// the
  /// same numbers are computed, so that one rank's are the reference.
  ChangesNumbers = 1,
  /// All choices but the default round to few bits, so that only large errors show.
  Narrow = 2,
  /// The larger list of cases has every combination of it with the others of this trait.
  Core = 4,
};

/// Choices of which a program has one. The first is the default.
struct Dimension {
  std::string name, about;
  unsigned traits;
  std::vector<Choice> choices;

  bool is(Trait trait) const { return traits & trait; }
};

const std::vector<Dimension> &getDimensions();

/// What is refused whatever it is combined with.
struct LaterFeature {
  std::string name;
  Words flags = {};
  std::string recipe = "";
};

const std::vector<LaterFeature> &getLaterFeatures();

/// The index of a choice for each dimension.
using Case = std::vector<size_t>;

/// How a case is compiled and run.
struct Command {
  std::string model;
  Words flags;
  /// Text of the recipe; empty without one.
  std::string recipe;
  int ranks = 1;

  bool needsLimit() const;
};

Command makeCommand(const Case &choices);
/// The same training on one rank, one microbatch, with the default recomputation.
Command makeReference(const Case &choices);
Command makeCommand(const LaterFeature &feature);

/// The ranks of a case, of which some choices may be open (beyond the table).
int countRanks(const Case &choices);
/// What cases have at most, so that a small machine can start them.
constexpr int kMostRanks = 8;
/// Whether a case has the default of all narrow dimensions, so that small errors show.
bool isWide(const Case &choices);
/// Of a choice, by dimension.
const Choice &getChoice(const Case &choices, size_t dimension);
bool usesChoice(const Case &choices, const std::string &dimension, const std::string &choice);
/// The names of all choices, joined.
std::string describe(const Case &choices, const std::string &separator = " ");

} // namespace ulsc::legality

#endif // ULSC_TOOLS_ULSC_LEGALITY_FEATURES_H

//===- Document.cpp - The page of the legality matrix -------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===------------------------------------------------------------------------------------===//

#include "tools/ulsc-legality/Document.h"

#include <algorithm>
#include <set>

using namespace ulsc::legality;

static std::string pad(std::string text, size_t width) {
  text.append(text.size() < width ? width - text.size() : 0, ' ');
  return text;
}

static std::string trim(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

static std::string code(const std::string &text) { return "`" + text + "`"; }

static std::string joinWords(const Words &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

/// What `ulsc compile` gets, as a cell of a table.
static std::string describeOptions(const Choice &choice, bool isModel) {
  std::string text = isModel ? "test/golden/" + choice.name : joinWords(choice.flags);
  auto add = [&](const std::string &part) { text += (text.empty() ? "" : " ") + part; };
  if (!choice.mesh.empty())
    add("--mesh " + choice.mesh);
  if (!choice.strategy.empty())
    add("--strategy " + choice.strategy);
  if (!choice.recipe.empty())
    add("--recipe {" + choice.recipe + "}");
  return text.empty() ? "" : code(text);
}

static void writeChoices(std::ostream &stream) {
  stream << "\n## Choices\n\n"
            "A program has one choice of each dimension; parts of `--mesh` and `--strategy` are "
            "joined. The first is the default.\n\n"
            "| dimension | choice | what `ulsc compile` gets |\n|---|---|---|\n";
  for (const Dimension &dimension : getDimensions())
    for (const Choice &choice : dimension.choices) {
      bool isFirst = &choice == &dimension.choices.front();
      std::string about = dimension.about.empty() ? "" : ": " + dimension.about;
      stream << "| " << (isFirst ? dimension.name + about : "") << " | " << code(choice.name)
             << " | " << describeOptions(choice, &dimension == &getDimensions()[0]) << " |\n";
    }
  stream << "\n`{embedding}` is the model's token table, `{limit}` the bytes half way between what "
            "`--recompute none` and `full` take.\n";
}

//===----------------------------------------------------------------------------------------===//
// The matrix
//===----------------------------------------------------------------------------------------===//

static bool isRefused(const CaseList &list, std::pair<size_t, size_t> a,
                      std::pair<size_t, size_t> b) {
  for (const Conflict &conflict : list.conflicts)
    if (conflict.choices == std::vector{std::min(a, b), std::max(a, b)})
      return true;
  return false;
}

/// Columns are numbered as the rows, 1 to 9 in each dimension.
static void writeMatrix(std::ostream &stream, const CaseList &list) {
  const std::vector<Dimension> &all = getDimensions();
  size_t nameWidth = 0, dimensionWidth = 0;
  for (const Dimension &dimension : all) {
    dimensionWidth = std::max(dimensionWidth, dimension.name.size());
    for (const Choice &choice : dimension.choices)
      nameWidth = std::max(nameWidth, choice.name.size());
  }
  size_t left = dimensionWidth + 1 + 2 + nameWidth;
  auto addCell = [](std::string &row, const Dimension &dimension, const std::string &text) {
    row += "  " + pad(text, std::max(dimension.choices.size(), dimension.name.size()));
  };
  std::string names = pad("", left), numbers = names;
  for (const Dimension &dimension : all) {
    addCell(names, dimension, dimension.name);
    std::string digits;
    for (size_t i = 0; i < dimension.choices.size(); ++i)
      digits += std::to_string(i + 1);
    addCell(numbers, dimension, digits);
  }
  stream << "\n```text\n" << trim(names) << "\n" << trim(numbers) << "\n";
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t a = 0; a < all[i].choices.size(); ++a) {
      std::string row = pad(a ? "" : all[i].name, dimensionWidth) + " " + std::to_string(a + 1) +
                        " " + pad(all[i].choices[a].name, nameWidth);
      for (size_t j = 0; j < all.size(); ++j) {
        std::string marks;
        for (size_t b = 0; b < all[j].choices.size(); ++b)
          marks += i == j ? "." : isRefused(list, {i, a}, {j, b}) ? "x" : "+";
        addCell(row, all[j], marks);
      }
      stream << trim(row) << "\n";
    }
  stream << "```\n";
}

static size_t countPairs() {
  size_t count = 0, before = 0;
  for (const Dimension &dimension : getDimensions()) {
    count += before * dimension.choices.size();
    before += dimension.choices.size();
  }
  return count;
}

static void writeConflict(std::ostream &stream, const Conflict &conflict) {
  bool isFirst = true;
  stream << "- ";
  for (auto [dimension, choice] : conflict.choices) {
    const Dimension &all = getDimensions()[dimension];
    stream << (isFirst ? "" : " with ") << all.name << " " << code(all.choices[choice].name);
    isFirst = false;
  }
  stream << ": " << conflict.error << "\n";
}

static void writeRefused(std::ostream &stream, const CaseList &list) {
  auto isPair = [](const Conflict &conflict) { return conflict.choices.size() == 2; };
  stream << "\n## Refused pairs\n\nWith the compiler's own words:\n\n";
  for (const Conflict &conflict : list.conflicts)
    if (isPair(conflict))
      writeConflict(stream, conflict);
  if (std::all_of(list.conflicts.begin(), list.conflicts.end(), isPair))
    return;
  stream << "\nLegal in pairs, refused together:\n\n";
  for (const Conflict &conflict : list.conflicts)
    if (!isPair(conflict))
      writeConflict(stream, conflict);
}

void ulsc::legality::writeDocument(std::ostream &stream, const CaseList &list,
                                   const std::vector<std::string> &errors) {
  size_t refused = std::count_if(list.conflicts.begin(), list.conflicts.end(),
                                 [](const Conflict &c) { return c.choices.size() == 2; });
  size_t wide = std::count_if(list.pairwise.begin(), list.pairwise.end(), isWide);
  stream
      << "# What composes\n\n"
         "Made by `tools/generate-docs.sh` (`ulsc-legality`), which compiles small models to "
         "their memory plan: a change here is a change of\n"
         "the compiler. The table of choices is `tools/ulsc-legality/Features.cpp`; a line there "
         "is a row, a column and cases here.\n\n"
      << "Of " << countPairs() << " pairs of choices " << countPairs() - refused
      << " are legal, `+`: a program with both was compiled. " << refused
      << " are refused, `x`, with the reason below.\n\n"
      << "`test/e2e/state_test.cpp` trains " << list.pairwise.size()
      << " cases, which meet every `+`, and compares them with one rank: losses, norms, each "
         "gradient of the first\n"
         "step, with SGD the parameters, too; and the memory of each rank with the plan. "
      << wide
      << " of them compute and keep all in f32 and meet every\n"
         "pair that is not about dtypes, with tolerances of 1e-5 and 1e-4. "
         "[legality-cases.txt](legality-cases.txt) lists the cases, and "
      << list.more.size()
      << " more, every\n"
         "combination of models, meshes, strategies and microbatches with the rest at random, "
         "which run with `ULSC_EXHAUSTIVE=1`.\n\n## Pairs\n";
  writeMatrix(stream, list);
  writeRefused(stream, list);
  writeChoices(stream);
  stream << "\n## Not supported yet\n\nRefused whatever it is combined with:\n\n";
  for (size_t i = 0; i < errors.size(); ++i) {
    const LaterFeature &feature = getLaterFeatures()[i];
    std::string flags = joinWords(feature.flags);
    if (!feature.recipe.empty())
      flags += " --recipe {" + feature.recipe + "}";
    stream << "- " << feature.name << ", " << code(flags) << ": " << errors[i] << "\n";
  }
}

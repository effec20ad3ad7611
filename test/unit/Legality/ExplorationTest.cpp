//===- ExplorationTest.cpp - What is refused is found -------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===------------------------------------------------------------------------------------===//
//
// In place of the compiler stands a function that refuses what a test says.
//
//===------------------------------------------------------------------------------------===//

#include "tools/ulsc-legality/Exploration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>

using namespace ulsc::legality;

namespace {

using Choices = std::vector<std::pair<std::string, std::string>>; ///< dimension and choice

bool usesAll(const Case &choices, const Choices &wanted) {
  for (const auto &[dimension, choice] : wanted)
    if (!usesChoice(choices, dimension, choice))
      return false;
  return true;
}

/// Explores with a judge that refuses combinations, and tells what was found.
std::vector<std::string> findConflicts(const std::vector<Choices> &refused, CaseList &list) {
  auto judge = [&](const Case &choices) -> std::optional<std::string> {
    for (const Choices &wanted : refused)
      if (usesAll(choices, wanted))
        return "refused";
    return std::nullopt;
  };
  list = Exploration(judge).run();
  std::vector<std::string> found;
  for (const Conflict &conflict : list.conflicts) {
    std::string text;
    for (auto [dimension, choice] : conflict.choices)
      text += (text.empty() ? "" : " ") + getDimensions()[dimension].choices[choice].name;
    found.push_back(text);
  }
  for (const Case &choices : list.pairwise)
    EXPECT_FALSE(judge(choices)) << describe(choices);
  for (const Case &choices : list.more)
    EXPECT_FALSE(judge(choices)) << describe(choices);
  EXPECT_EQ(list.findUnmetPairs(), std::vector<std::string>());
  return found;
}

TEST(Exploration, AllIsLegal) {
  CaseList list;
  EXPECT_EQ(findConflicts({}, list), std::vector<std::string>());
}

TEST(Exploration, FindsAPair) {
  CaseList list;
  EXPECT_EQ(findConflicts({{{"strategy", "zero1"}, {"dropout", "on"}}}, list),
            std::vector<std::string>{"zero1 on"});
}

TEST(Exploration, FindsDefaultsThatAChoiceIsRefusedWith) {
  CaseList list;
  EXPECT_EQ(findConflicts({{{"strategy", "zero2"}, {"dropout", "off"}},
                           {{"strategy", "zero2"}, {"optimizer", "sgd"}}},
                          list),
            (std::vector<std::string>{"zero2 sgd", "zero2 off"}));
}

/// hsdp and its mesh need one another, so what the one is refused with the other is, too.
TEST(Exploration, FindsWhatPartnersAreRefusedWith) {
  CaseList list;
  std::vector<Choices> refused{{{"strategy", "hsdp"}, {"recomputation", "full"}}};
  // Neither has another partner.
  for (const Dimension &dimension : getDimensions())
    for (const Choice &choice : dimension.choices)
      if (dimension.name == "data" && choice.name != "dp=2x2")
        refused.push_back({{"strategy", "hsdp"}, {"data", choice.name}});
      else if (dimension.name == "strategy" && choice.name != "hsdp")
        refused.push_back({{"strategy", choice.name}, {"data", "dp=2x2"}});
  std::vector<std::string> found = findConflicts(refused, list);
  EXPECT_EQ(found.size(), refused.size() + 1);
  EXPECT_NE(std::find(found.begin(), found.end(), "hsdp full"), found.end());
  EXPECT_NE(std::find(found.begin(), found.end(), "dp=2x2 full"), found.end());
}

TEST(Exploration, FindsThreeThatArePairwiseLegal) {
  CaseList list;
  EXPECT_EQ(findConflicts({{{"dtype", "bf16"}, {"optimizer", "sgd"}, {"dropout", "on"}},
                           {{"microbatches", "2"}, {"optimizer", "sgd"}, {"parameters", "alike"}}},
                          list),
            (std::vector<std::string>{"2 sgd alike", "bf16 sgd on"}));
}

TEST(Exploration, ReportsAChoiceThatIsNeverLegal) {
  Exploration exploration([](const Case &choices) -> std::optional<std::string> {
    if (usesChoice(choices, "dtype", "f16"))
      return "no f16";
    return std::nullopt;
  });
  try {
    exploration.run();
    FAIL();
  } catch (const std::runtime_error &error) {
    EXPECT_NE(std::string(error.what()).find("no f16"), std::string::npos);
  }
}

TEST(CaseListFile, IsReadAsWritten) {
  CaseList list;
  findConflicts({{{"strategy", "zero1"}, {"dropout", "on"}}}, list);
  std::string file = testing::TempDir() + "ulsc-cases.txt", problem;
  {
    std::ofstream stream(file);
    list.write(stream);
  }
  CaseList read = CaseList::read(file, problem);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(read.pairwise, list.pairwise);
  EXPECT_EQ(read.more, list.more);
  ASSERT_EQ(read.conflicts.size(), 1u);
  EXPECT_EQ(read.conflicts[0].choices, list.conflicts[0].choices);
  read.pairwise.resize(read.pairwise.size() / 2);
  EXPECT_FALSE(read.findUnmetPairs().empty());
  std::ofstream(file) << "pairwise llama zero9\n";
  CaseList::read(file, problem);
  EXPECT_NE(problem.find("is stale"), std::string::npos) << problem;
  std::remove(file.c_str());
}

} // namespace

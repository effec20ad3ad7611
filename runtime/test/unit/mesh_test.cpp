// Which ranks talk to each other along mesh axes and parts of them.
#include "core/error.h"
#include "core/manifest.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace ulsc::runtime;

namespace {

using Names = std::vector<std::string>;

const Mesh mesh{{{"pp", 2}, {"dp", 8}, {"tp", 3}}};

/// The ranks of `rank`'s group, by their index in it.
std::vector<int64_t> groupOf(const Names &names, int64_t rank) {
  std::vector<int64_t> members(mesh.sizeOver(names), -1);
  for (int64_t other = 0; other < mesh.ranks(); ++other)
    if (mesh.firstInGroup(names, other) == mesh.firstInGroup(names, rank))
      members.at(mesh.indexOver(names, mesh.coordinates(other))) = other;
  return members;
}

TEST(Mesh, whole_axes) {
  EXPECT_EQ(groupOf({"tp"}, 31), (std::vector<int64_t>{30, 31, 32}));
  EXPECT_EQ(groupOf({"pp", "tp"}, 31), (std::vector<int64_t>{6, 7, 8, 30, 31, 32}));
  EXPECT_EQ(groupOf({}, 31), (std::vector<int64_t>{31}));
}

TEST(Mesh, parts_of_an_axis) {
  // Rank 31 has dp=2, tp=1 of pp=1.
  EXPECT_EQ(groupOf({"dp:(4)2"}, 31), (std::vector<int64_t>{31, 34}));
  EXPECT_EQ(groupOf({"dp:(2)4"}, 31), (std::vector<int64_t>{25, 28, 31, 34}));
  EXPECT_EQ(groupOf({"dp:(1)2"}, 31), (std::vector<int64_t>{31, 43}));
  EXPECT_EQ(groupOf({"dp:(2)2"}, 31), (std::vector<int64_t>{25, 31}));
  EXPECT_EQ(groupOf({"dp:(1)8"}, 31), groupOf({"dp"}, 31));
  EXPECT_EQ(groupOf({"dp:(4)2", "tp"}, 31), (std::vector<int64_t>{30, 31, 32, 33, 34, 35}));
}

/// Every rank is once in one group, whatever the axes.
TEST(Mesh, groups_divide_the_ranks) {
  for (const Names &names : {Names{"dp:(2)2"}, Names{"dp:(4)2", "pp"}, Names{"dp:(1)4", "tp"}})
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      std::vector<int64_t> group = groupOf(names, rank);
      EXPECT_EQ(std::count(group.begin(), group.end(), rank), 1);
      EXPECT_EQ(std::count(group.begin(), group.end(), -1), 0);
    }
}

TEST(Mesh, refuses_what_is_no_part) {
  for (const char *name : {"ep", "dp:", "dp:(2)", "dp:(3)2", "dp:(2)8", "dp:(0)2", "dp:(2)0",
                           "dp:(2)4x", "dp:2", "ep:(1)2", "dp:(9223372036854775807)2"})
    EXPECT_THROW(mesh.findPart(name), Error) << name;
}

} // namespace

// What is concluded of how far another rank says it is.
#include "cuda/collective_log.h"

#include <gtest/gtest.h>

using ulsc::runtime::CollectiveLog;

namespace {

using Arrival = CollectiveLog::Arrival;

// In step 5: of channel "0" four are queued, three have their operands, two have ended.
constexpr const char *text = R"({"step":5,"channels":{"0":[4,3,2],"1: 0 to 1":[1,0,0]}})";

Arrival arrivalAt(int64_t step, const char *channel, int64_t number) {
  return CollectiveLog::readArrival(text, step, channel, number);
}

TEST(CollectiveLog, ArrivalInTheSameStep) {
  EXPECT_EQ(arrivalAt(5, "0", 1), Arrival::Passed);
  EXPECT_EQ(arrivalAt(5, "0", 2), Arrival::There);
  EXPECT_EQ(arrivalAt(5, "0", 3), Arrival::Queued);
  EXPECT_EQ(arrivalAt(5, "0", 4), Arrival::Absent);
  EXPECT_EQ(arrivalAt(5, "1: 0 to 1", 0), Arrival::Queued);
  EXPECT_EQ(arrivalAt(5, "2", 0), Arrival::Absent);
}

TEST(CollectiveLog, ArrivalInOtherSteps) {
  EXPECT_EQ(arrivalAt(4, "0", 7), Arrival::Passed);
  EXPECT_EQ(arrivalAt(6, "0", 0), Arrival::Absent);
}

TEST(CollectiveLog, WhatCantBeReadIsUnknown) {
  for (const char *bad : {"", "x", "[]", "{}", R"({"step":"a"})", R"({"step":5})",
                          R"({"step":5,"channels":{"0":[1]}})", R"({"step":5,"channels":{"0":7}})"})
    EXPECT_EQ(CollectiveLog::readArrival(bad, 5, "0", 0), Arrival::Unknown) << bad;
}

} // namespace

//===- QuantityTest.cpp - Numbers as users write and read them --------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Support/Quantity.h"

#include "gtest/gtest.h"

using namespace ulsc;

namespace {

constexpr int64_t kMost = 1'000'000'000'000'000'000;

std::optional<int64_t> parse(llvm::StringRef text, bool takesUnits = true) {
  std::string problem;
  return parseQuantity(text, kMost, takesUnits, problem);
}

std::string refuse(llvm::StringRef text, bool takesUnits = true) {
  std::string problem;
  return parseQuantity(text, kMost, takesUnits, problem) ? "taken" : problem;
}

} // namespace

TEST(Quantity, digits_points_and_exponents) {
  EXPECT_EQ(parse("1"), 1);
  EXPECT_EQ(parse("70e9"), 70'000'000'000);
  EXPECT_EQ(parse("7.5E+9"), 7'500'000'000);
  EXPECT_EQ(parse("0.5e1"), 5);
  EXPECT_EQ(parse("12000e-3"), 12);
  EXPECT_EQ(parse("1.50"), std::nullopt);
  EXPECT_EQ(parse("2.00"), 2);
  EXPECT_EQ(parse("1e18"), kMost);
}

TEST(Quantity, units) {
  EXPECT_EQ(parse("80GB"), 80'000'000'000);
  EXPECT_EQ(parse("80 GiB"), int64_t(80) << 30);
  EXPECT_EQ(parse("1.5GiB"), 3 * (int64_t(1) << 29));
  EXPECT_EQ(parse("9300.015625GiB"), 9300 * (int64_t(1) << 30) + (int64_t(1) << 24));
  EXPECT_EQ(parse("0.75KiB"), 768);
  EXPECT_EQ(parse("12.5kB"), 12'500);
  EXPECT_EQ(parse("7B"), 7);
  EXPECT_EQ(parse("80GB", /*takesUnits=*/false), std::nullopt);
}

TEST(Quantity, refused_with_the_reason) {
  for (llvm::StringRef text : {"", "-1", "+1", "nan", "inf", "0x10", "1e", "e9", ".5e1", "1.e3",
                               "1e9e9", "1 000", "GB", "80XB", "1e99999999999999999999"})
    EXPECT_TRUE(llvm::StringRef(refuse(text)).starts_with("expected")) << text.str();
  for (llvm::StringRef text :
       {"1e30", "1e19", "99999999999999999999", "2e18", "9999999999TiB", "1e999999"})
    EXPECT_TRUE(llvm::StringRef(refuse(text)).starts_with("which is too large")) << text.str();
  for (llvm::StringRef text : {"0.1", "1e-3", "0.1GiB", "1.5", "1e-999999"})
    EXPECT_TRUE(llvm::StringRef(refuse(text)).starts_with("which is not whole")) << text.str();
  EXPECT_TRUE(llvm::StringRef(refuse("0")).starts_with("expected"));
}

TEST(Quantity, formats) {
  EXPECT_EQ(formatCount(0), "0");
  EXPECT_EQ(formatCount(999), "999");
  EXPECT_EQ(formatCount(1'120), "1,120");
  EXPECT_EQ(formatCount(-70'000'000'000), "-70,000,000,000");
  EXPECT_EQ(formatCount(-700), "-700");
  EXPECT_EQ(formatDecimalBytes(999), "999 B");
  EXPECT_EQ(formatDecimalBytes(327'680), "327.68 kB");
  EXPECT_EQ(formatDecimalBytes(12'345'678), "12.35 MB");
  EXPECT_EQ(formatDecimalBytes(1'120'000'000'000), "1,120 GB");
  EXPECT_EQ(formatDecimalBytes(293'125'000'000), "293.125 GB");
  EXPECT_EQ(formatDecimalBytes(155'312'500'000), "155.3125 GB");
  EXPECT_EQ(formatDecimalBytes(17'638'426'624), "17.64 GB");
  EXPECT_EQ(formatDecimalBytes(8'000'000'001), "8.00 GB");
  EXPECT_EQ(formatDecimalBytes(1'999'999'999), "2.00 GB");
  EXPECT_EQ(formatBinaryBytes(10'737'418'240), "10.00 GiB");
  EXPECT_EQ(formatBinaryBytes(512), "512 B");
}

// Random numbers, number formats, reductions and learning rates.
#include "comm/reduce.h"
#include "core/initial_values.h"
#include "core/numeric.h"
#include "core/options.h"
#include "core/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace ulsc::runtime;

// The known answers that come with Random123.
TEST(Random, philox_known_answers) {
  struct Case {
    uint32_t counter[4], key[2], words[4];
  } cases[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
               {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                {0xffffffff, 0xffffffff},
                {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
               {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                {0xa4093822, 0x299f31d0},
                {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const Case &known : cases) {
    ulsc_random_stream stream{{known.key[0], known.key[1]}, known.counter[2], known.counter[3]};
    uint32_t words[4];
    ulsc_random_words(stream, uint64_t(known.counter[1]) << 32 | known.counter[0], words);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(words[i], known.words[i]);
  }
}

TEST(Random, normal_values_have_their_moments) {
  ulsc_random_stream stream = ulsc_random_stream_of(1, ulsc_random_hash_name("w"), 0, 0);
  double sum = 0, squares = 0;
  const int count = 100000;
  for (int i = 0; i < count; ++i) {
    uint32_t words[4];
    ulsc_random_words(stream, i, words);
    double value = normalFromWords(words);
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.02);
  uint32_t extreme[4] = {0xffffffff, 0, 0, 0};
  EXPECT_EQ(normalFromWords(extreme), 0);
  extreme[0] = 0;
  EXPECT_NEAR(normalFromWords(extreme), 6.66, 0.01);
}

TEST(Numeric, all_16_bit_values_round_trip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float b = bf16ToFloat(bits), f = f16ToFloat(bits);
    if (!std::isnan(b))
      EXPECT_EQ(floatToBf16(b), bits);
    else
      EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(b))));
    if (!std::isnan(f))
      EXPECT_EQ(floatToF16(f), bits);
    else
      EXPECT_TRUE(std::isnan(f16ToFloat(floatToF16(f))));
  }
}

TEST(Numeric, ties_go_to_even) {
  EXPECT_EQ(bf16ToFloat(floatToBf16(1.0f + 0x1p-8f)), 1.0f);
  EXPECT_EQ(bf16ToFloat(floatToBf16(1.0f + 0x3p-8f)), 1.0f + 0x1p-6f);
  EXPECT_EQ(f16ToFloat(floatToF16(1.0f + 0x1p-11f)), 1.0f);
  EXPECT_EQ(f16ToFloat(floatToF16(65519.0f)), 65504.0f);
  EXPECT_TRUE(std::isinf(f16ToFloat(floatToF16(65520.0f))));
  EXPECT_EQ(f16ToFloat(floatToF16(0x1.8p-25f)), 0x1p-24f);
}

TEST(Reduce, sums_of_16_bit_values_are_formed_in_f32) {
  // In bf16, 256 + 1 would round to 256 each time.
  std::vector<uint16_t> blocks = {floatToBf16(256), floatToBf16(1), floatToBf16(1), floatToBf16(0)};
  uint16_t sum;
  reduceBlocks(blocks.data(), 4, 1, &sum, ULSC_BF16, ULSC_SUM);
  EXPECT_EQ(bf16ToFloat(sum), 258);
  float values[] = {1, 5, 3, 2}, largest[2];
  reduceBlocks(values, 2, 2, largest, ULSC_F32, ULSC_MAX);
  EXPECT_EQ(largest[0], 3);
  EXPECT_EQ(largest[1], 5);
  float withNan[] = {1, NAN}, result;
  reduceBlocks(withNan, 2, 1, &result, ULSC_F32, ULSC_MAX);
  EXPECT_TRUE(std::isnan(result));
}

TEST(Schedule, warmup_then_decay) {
  Schedule schedule{"linear", 1.0, 0.2, 4, 12};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.25);
  EXPECT_DOUBLE_EQ(schedule.at(3), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(4), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(8), 0.6);
  EXPECT_DOUBLE_EQ(schedule.at(12), 0.2);
  schedule.kind = "cosine";
  EXPECT_DOUBLE_EQ(schedule.at(8), 0.6);
  EXPECT_DOUBLE_EQ(schedule.at(100), 0.2);
  schedule.kind = "constant";
  EXPECT_DOUBLE_EQ(schedule.at(11), 1.0);
  EXPECT_DOUBLE_EQ((Schedule{"cosine", 1.0, 0, 5, 3}.at(2)), 0.6); // warmup longer than the run
}

TEST(Options, nearest_word) {
  EXPECT_EQ(nearest("--stesp", {"--seed", "--steps", "--save"}), "--steps");
  EXPECT_EQ(nearest("x", {}), "");
}

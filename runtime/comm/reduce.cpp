#include "comm/reduce.h"

#include "core/error.h"
#include "core/numeric.h"

#include <algorithm>

namespace ulsc::runtime {

namespace {

// Values are accumulated in small pieces that stay in the first-level cache.
constexpr int64_t piece = 1024;

template <typename Element, typename Sum, typename Load, typename Store>
void reduceTyped(const Element *blocks, int64_t ranks, int64_t count, Element *target, bool isMax,
                 Load load, Store store) {
  Sum sums[piece];
  for (int64_t begin = 0; begin < count; begin += piece) {
    int64_t size = std::min(piece, count - begin);
    for (int64_t i = 0; i < size; ++i)
      sums[i] = load(blocks[begin + i]);
    for (int64_t rank = 1; rank < ranks; ++rank) {
      const Element *block = blocks + rank * count + begin;
      if (isMax)
        for (int64_t i = 0; i < size; ++i) // keeps a NaN of either side
          sums[i] = load(block[i]) > sums[i] || load(block[i]) != load(block[i]) ? load(block[i])
                                                                                 : sums[i];
      else
        for (int64_t i = 0; i < size; ++i)
          sums[i] += load(block[i]);
    }
    for (int64_t i = 0; i < size; ++i)
      target[begin + i] = store(sums[i]);
  }
}

template <typename Element>
void reducePlain(const void *blocks, int64_t ranks, int64_t count, void *target, bool isMax) {
  auto same = [](Element value) { return value; };
  reduceTyped<Element, Element>(static_cast<const Element *>(blocks), ranks, count,
                                static_cast<Element *>(target), isMax, same, same);
}

} // namespace

void reduceBlocks(const void *blocks, int64_t ranks, int64_t count, void *target, int32_t dtype,
                  int32_t reduction) {
  bool isMax = reduction == ULSC_MAX;
  auto half = static_cast<const uint16_t *>(blocks);
  switch (dtype) {
  case ULSC_F32:
    return reducePlain<float>(blocks, ranks, count, target, isMax);
  case ULSC_I32:
    return reducePlain<int32_t>(blocks, ranks, count, target, isMax);
  case ULSC_I64:
    return reducePlain<int64_t>(blocks, ranks, count, target, isMax);
  case ULSC_BF16:
    return reduceTyped<uint16_t, float>(half, ranks, count, static_cast<uint16_t *>(target), isMax,
                                        bf16ToFloat, floatToBf16);
  case ULSC_F16:
    return reduceTyped<uint16_t, float>(half, ranks, count, static_cast<uint16_t *>(target), isMax,
                                        f16ToFloat, floatToF16);
  }
  endJob("reduction", concat("unknown dtype ", dtype));
}

} // namespace ulsc::runtime

// Collectives element by element, in pieces that stay in the cache.
#include "simulator/nccl/exchange.h"

#include "core/numeric.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace ulsc::simulator {

namespace {

constexpr int64_t piece = 4096; // elements

/// The elements [begin, begin + count) of all contributions, reduced.
struct Reduction {
  uint32_t operation; ///< nccl::Reduction
  int ranks;
  int64_t begin, count;
  const ReadContribution &read;
};

/// Integers wrap around, which only unsigned ones may do in C++.
template <typename Value>
using Wrapping = typename std::conditional_t<std::is_integral_v<Value>, std::make_unsigned<Value>,
                                             std::common_type<Value>>::type;

template <typename Value>
Value combine(uint32_t operation, Value left, Value right) {
  using Wide = Wrapping<Value>;
  switch (operation) {
  case nccl::Product:
    // Short unsigned values would be multiplied as int.
    if constexpr (std::is_integral_v<Value>)
      return static_cast<Value>(static_cast<uint64_t>(left) * static_cast<uint64_t>(right));
    else
      return left * right;
  case nccl::Max: // as the device's fmax: a NaN loses
    if constexpr (std::is_floating_point_v<Value>)
      return std::fmax(left, right);
    else
      return std::max(left, right);
  case nccl::Min:
    if constexpr (std::is_floating_point_v<Value>)
      return std::fmin(left, right);
    else
      return std::min(left, right);
  default:
    return static_cast<Value>(static_cast<Wide>(left) + static_cast<Wide>(right));
  }
}

/// Averages: floating-point values are scaled before they are added, integer sums divided after.
template <typename Value>
Value scaled(const Reduction &reduction, Value value) {
  if (std::is_floating_point_v<Value> && reduction.operation == nccl::Average)
    return static_cast<Value>(value * (Value(1) / static_cast<Value>(reduction.ranks)));
  return value;
}

template <typename Element, typename Value, typename Load, typename Store>
void reduceWith(const Reduction &reduction, Element *target, Load load, Store store) {
  Element elements[piece];
  Value values[piece];
  for (int64_t begin = 0; begin < reduction.count; begin += piece) {
    int64_t count = std::min(piece, reduction.count - begin);
    for (int rank = 0; rank < reduction.ranks; ++rank) {
      reduction.read(rank, static_cast<uint64_t>(reduction.begin + begin) * sizeof(Element),
                     static_cast<uint64_t>(count) * sizeof(Element), elements);
      for (int64_t i = 0; i < count; ++i) {
        Value value = scaled(reduction, static_cast<Value>(load(elements[i])));
        values[i] = rank ? combine(reduction.operation, values[i], value) : value;
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      Value value = values[i];
      if constexpr (std::is_integral_v<Value>)
        if (reduction.operation == nccl::Average)
          value = static_cast<Value>(value / static_cast<Value>(reduction.ranks));
      target[begin + i] = store(value);
    }
  }
}

template <typename Element>
void reducePlain(const Reduction &reduction, void *target) {
  auto same = [](Element value) { return value; };
  reduceWith<Element, Element>(reduction, static_cast<Element *>(target), same, same);
}

void reduce(uint32_t type, const Reduction &reduction, void *target) {
  auto half = static_cast<uint16_t *>(target);
  switch (type) {
  case nccl::TypeInt8:
    return reducePlain<int8_t>(reduction, target);
  case nccl::TypeUint8:
    return reducePlain<uint8_t>(reduction, target);
  case nccl::TypeInt32:
    return reducePlain<int32_t>(reduction, target);
  case nccl::TypeUint32:
    return reducePlain<uint32_t>(reduction, target);
  case nccl::TypeInt64:
    return reducePlain<int64_t>(reduction, target);
  case nccl::TypeUint64:
    return reducePlain<uint64_t>(reduction, target);
  case nccl::TypeFloat32:
    return reducePlain<float>(reduction, target);
  case nccl::TypeFloat64:
    return reducePlain<double>(reduction, target);
  case nccl::TypeFloat16:
    return reduceWith<uint16_t, float>(reduction, half, runtime::f16ToFloat, runtime::floatToF16);
  case nccl::TypeBfloat16:
    return reduceWith<uint16_t, float>(reduction, half, runtime::bf16ToFloat, runtime::floatToBf16);
  }
}

} // namespace

int64_t contributionBytes(const CallRecord &record, int ranks, int rank) {
  int64_t bytes = static_cast<int64_t>(record.count) * elementBytes(record.type);
  switch (record.kind) {
  case CallKind::ReduceScatter:
  case CallKind::AllToAll:
    return bytes * ranks;
  case CallKind::Broadcast:
    return rank == record.peer ? bytes : 0;
  case CallKind::Receive:
    return 0;
  default:
    return bytes;
  }
}

int64_t resultBytes(const CallRecord &record, int ranks, int rank) {
  int64_t bytes = static_cast<int64_t>(record.count) * elementBytes(record.type);
  switch (record.kind) {
  case CallKind::AllGather:
  case CallKind::AllToAll:
    return bytes * ranks;
  case CallKind::Reduce:
    return rank == record.peer ? bytes : 0;
  case CallKind::Send:
    return 0;
  default:
    return bytes;
  }
}

void receive(const CallRecord &record, int rank, int ranks, void *target,
             const ReadContribution &read) {
  auto count = static_cast<int64_t>(record.count);
  auto bytes = record.count * static_cast<uint64_t>(elementBytes(record.type));
  auto *bytesOut = static_cast<char *>(target);
  if (!resultBytes(record, ranks, rank))
    return;
  switch (record.kind) {
  case CallKind::AllReduce:
  case CallKind::Reduce:
    return reduce(record.type, {record.reduction, ranks, 0, count, read}, target);
  case CallKind::ReduceScatter:
    return reduce(record.type, {record.reduction, ranks, rank * count, count, read}, target);
  case CallKind::AllGather:
    for (int other = 0; other < ranks; ++other)
      read(other, 0, bytes, bytesOut + static_cast<uint64_t>(other) * bytes);
    return;
  case CallKind::AllToAll:
    for (int other = 0; other < ranks; ++other)
      read(other, static_cast<uint64_t>(rank) * bytes, bytes,
           bytesOut + static_cast<uint64_t>(other) * bytes);
    return;
  case CallKind::Broadcast:
  case CallKind::Receive:
    read(record.peer, 0, bytes, target);
    return;
  case CallKind::Send:
    return;
  }
}

} // namespace ulsc::simulator

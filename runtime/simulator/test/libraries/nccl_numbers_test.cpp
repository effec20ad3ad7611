// Collectives of the simulated NCCL: all kinds, types, reductions and numbers of ranks.
#include "core/numeric.h"
#include "rank_processes.h"
#include "simulator/core/memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ulsc::simulator::test {
namespace {

using namespace nccl;

const DataType allTypes[] = {TypeInt8,   TypeUint8,   TypeInt32,   TypeUint32,  TypeInt64,
                             TypeUint64, TypeFloat16, TypeFloat32, TypeFloat64, TypeBfloat16};
const Reduction allReductions[] = {Sum, Product, Max, Min, Average};

size_t sizeOf(DataType type) {
  if (type == TypeInt8 || type == TypeUint8)
    return 1;
  if (type == TypeFloat16 || type == TypeBfloat16)
    return 2;
  return type == TypeInt32 || type == TypeUint32 || type == TypeFloat32 ? 4 : 8;
}

bool isSigned(DataType type) {
  return type != TypeUint8 && type != TypeUint32 && type != TypeUint64;
}

template <typename Value>
void put(void *target, double value) {
  auto typed = static_cast<Value>(value);
  std::memcpy(target, &typed, sizeof(typed));
}
template <typename Value>
double get(const void *source) {
  Value typed;
  std::memcpy(&typed, source, sizeof(typed));
  return static_cast<double>(typed);
}

void store(DataType type, void *target, double value) {
  switch (type) {
  case TypeInt8:
    return put<int8_t>(target, value);
  case TypeUint8:
    return put<uint8_t>(target, value);
  case TypeInt32:
    return put<int32_t>(target, value);
  case TypeUint32:
    return put<uint32_t>(target, value);
  case TypeInt64:
    return put<int64_t>(target, value);
  case TypeUint64:
    return put<uint64_t>(target, value);
  case TypeFloat32:
    return put<float>(target, value);
  case TypeFloat64:
    return put<double>(target, value);
  case TypeFloat16: {
    uint16_t bits = runtime::floatToF16(static_cast<float>(value));
    std::memcpy(target, &bits, 2);
    return;
  }
  default: {
    uint16_t bits = runtime::floatToBf16(static_cast<float>(value));
    std::memcpy(target, &bits, 2);
  }
  }
}

double load(DataType type, const void *source) {
  switch (type) {
  case TypeInt8:
    return get<int8_t>(source);
  case TypeUint8:
    return get<uint8_t>(source);
  case TypeInt32:
    return get<int32_t>(source);
  case TypeUint32:
    return get<uint32_t>(source);
  case TypeInt64:
    return get<int64_t>(source);
  case TypeUint64:
    return get<uint64_t>(source);
  case TypeFloat32:
    return get<float>(source);
  case TypeFloat64:
    return get<double>(source);
  default:
    uint16_t bits;
    std::memcpy(&bits, source, 2);
    return type == TypeFloat16 ? runtime::f16ToFloat(bits) : runtime::bf16ToFloat(bits);
  }
}

/// Small numbers whose reductions over 8 ranks are exact in every type: products of ones and twos.
double element(DataType type, Reduction reduction, int rank, int64_t index) {
  if (reduction == Product)
    return (index + rank) % 4 == 0 ? 2 : 1;
  double value = static_cast<double>((index * 7 + rank * 3) % 13);
  return isSigned(type) ? value - 6 : value;
}

double reduced(DataType type, Reduction reduction, int ranks, int64_t index) {
  double result = element(type, reduction, 0, index);
  for (int rank = 1; rank < ranks; ++rank) {
    double value = element(type, reduction, rank, index);
    if (reduction == Product)
      result *= value;
    else if (reduction == Max)
      result = std::max(result, value);
    else if (reduction == Min)
      result = std::min(result, value);
    else
      result += value;
  }
  bool isInteger = type <= TypeUint64;
  if (reduction == Average)
    result = isInteger ? std::trunc(result / ranks) : result / ranks;
  return result;
}

/// A buffer of a collective on the device.
struct Buffer {
  Buffer(DataType type, int64_t count) : type(type), count(count) {
    data = static_cast<char *>(deviceBytes(static_cast<size_t>(count) * sizeOf(type)));
  }
  static Buffer filled(DataType type, int64_t count, const std::function<double(int64_t)> &value) {
    std::vector<char> bytes(static_cast<size_t>(count) * sizeOf(type));
    for (int64_t i = 0; i < count; ++i)
      store(type, bytes.data() + static_cast<size_t>(i) * sizeOf(type), value(i));
    Buffer buffer(type, count);
    std::memcpy(buffer.data, bytes.data(), bytes.size());
    markValues(buffer.data, static_cast<int64_t>(bytes.size()));
    return buffer;
  }
  char *at(int64_t index) const { return data + index * static_cast<int64_t>(sizeOf(type)); }
  void expect(const char *what, const std::function<double(int64_t)> &value,
              double tolerance = 0) const {
    for (int64_t i = 0; i < count; ++i) {
      double found = load(type, at(i));
      require(std::fabs(found - value(i)) <= tolerance,
              std::string(what) + " of type " + std::to_string(type) + ", element " +
                  std::to_string(i) + ": " + std::to_string(found) + ", expected " +
                  std::to_string(value(i)));
    }
  }

  DataType type;
  int64_t count;
  char *data = nullptr;
};

constexpr int64_t count = 37;

void checkReductions(const RankContext &context, Comm comm, nccl::Stream stream, DataType type,
                     Reduction op) {
  int ranks = context.ranks, rank = context.rank;
  // Averages of integers divided by a number that isn't a power of two, and 16-bit roundings.
  double tolerance = op == Average && type > TypeUint64 ? 0.05 : 0;
  auto input = [&](int64_t i) { return element(type, op, rank, i); };
  auto output = [&](int64_t i) { return reduced(type, op, ranks, i); };
  Buffer send = Buffer::filled(type, count, input), receive(type, count);
  Buffer inPlace = Buffer::filled(type, count, input);
  Buffer large = Buffer::filled(type, count * ranks, input), block(type, count);
  Buffer largeInPlace = Buffer::filled(type, count * ranks, input);
  Buffer rooted(type, count);
  int root = ranks - 1;
  requireSuccess(ncclAllReduce(send.data, receive.data, count, type, op, comm, stream), "all");
  requireSuccess(ncclAllReduce(inPlace.data, inPlace.data, count, type, op, comm, stream), "all");
  requireSuccess(ncclReduceScatter(large.data, block.data, count, type, op, comm, stream), "rs");
  char *own = largeInPlace.at(rank * count);
  requireSuccess(ncclReduceScatter(largeInPlace.data, own, count, type, op, comm, stream), "rs");
  requireSuccess(ncclReduce(send.data, rank == root ? rooted.data : nullptr, count, type, op, root,
                            comm, stream),
                 "reduce");
  synchronizeDevice();
  receive.expect("all-reduce", output, tolerance);
  inPlace.expect("all-reduce in place", output, tolerance);
  auto blockOutput = [&](int64_t i) { return output(rank * count + i); };
  block.expect("reduce-scatter", blockOutput, tolerance);
  Buffer view = block;
  view.data = own;
  view.expect("reduce-scatter in place", blockOutput, tolerance);
  if (rank == root)
    rooted.expect("reduce", output, tolerance);
}

void checkCopies(const RankContext &context, Comm comm, nccl::Stream stream, DataType type) {
  int ranks = context.ranks, rank = context.rank;
  auto of = [&](int owner, int64_t i) { return element(type, Sum, owner, i); };
  Buffer send = Buffer::filled(type, count, [&](int64_t i) { return of(rank, i); });
  Buffer gathered(type, count * ranks), gatheredInPlace(type, count * ranks);
  Buffer gatherSource = Buffer::filled(type, count, [&](int64_t i) { return of(rank, i); });
  char *own = gatheredInPlace.at(rank * count);
  Buffer blocks =
      Buffer::filled(type, count * ranks, [&](int64_t i) { return of(rank, i * 3 + rank); });
  Buffer exchanged(type, count * ranks);
  std::vector<Buffer> broadcast;
  requireSuccess(ncclAllGather(send.data, gathered.data, count, type, comm, stream), "gather");
  // The own block gets its values on the device, as another operation would write them.
  requireSuccess(ncclBroadcast(gatherSource.data, own, count, type, 0, comm, stream), "broadcast");
  requireSuccess(ncclAllGather(own, gatheredInPlace.data, count, type, comm, stream), "gather");
  requireSuccess(ncclAlltoAll(blocks.data, exchanged.data, count, type, comm, stream), "alltoall");
  for (int root = 0; root < ranks; ++root) {
    broadcast.emplace_back(type, count);
    requireSuccess(ncclBroadcast(rank == root ? send.data : nullptr, broadcast.back().data, count,
                                 type, root, comm, stream),
                   "broadcast");
  }
  synchronizeDevice();
  gathered.expect("all-gather", [&](int64_t i) { return of(int(i / count), i % count); });
  gatheredInPlace.expect("all-gather in place", [&](int64_t i) { return of(0, i % count); });
  exchanged.expect("all-to-all", [&](int64_t i) {
    int from = int(i / count);
    return of(from, (rank * count + i % count) * 3 + from);
  });
  for (int root = 0; root < ranks; ++root)
    broadcast[size_t(root)].expect("broadcast", [&](int64_t i) { return of(root, i); });
}

class NcclNumbers : public testing::TestWithParam<int> {};

TEST_P(NcclNumbers, ReductionsOfAllTypes) {
  expectRanksPass(GetParam(), [](const RankContext &context) {
    Comm comm = context.world();
    nccl::Stream stream = makeStream();
    for (DataType type : allTypes)
      for (Reduction reduction : allReductions)
        checkReductions(context, comm, stream, type, reduction);
    requireSuccess(ncclCommDestroy(comm), "destroy");
  });
}

TEST_P(NcclNumbers, CopiesOfAllTypes) {
  expectRanksPass(GetParam(), [](const RankContext &context) {
    Comm comm = context.world();
    nccl::Stream stream = makeStream();
    for (DataType type : allTypes)
      checkCopies(context, comm, stream, type);
    requireSuccess(ncclCommDestroy(comm), "destroy");
  });
}

/// Values whose sums depend on their order.
std::vector<float> wildValues(int seed, int64_t size) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<float> values;
  std::vector<float> result;
  for (int64_t i = 0; i < size; ++i)
    result.push_back(std::ldexp(values(random), int(random() % 24)));
  return result;
}

// All-reduce, and reduce-scatter with all-gather, give the same bits on all ranks: those of a sum
// in rank order, in f32 and rounded once where the values have 16 bits.
TEST_P(NcclNumbers, SumsAreInRankOrder) {
  expectRanksPass(GetParam(), [](const RankContext &context) {
    Comm comm = context.world();
    nccl::Stream stream = makeStream();
    int64_t block = 5000, size = block * context.ranks; // several pieces
    for (DataType type : {TypeFloat32, TypeBfloat16, TypeFloat16}) {
      auto valueOf = [&](const std::vector<float> &values, int64_t i) {
        char bytes[8];
        store(type, bytes, values[size_t(i)] * (type == TypeFloat16 ? 1e-4f : 1.0f));
        return static_cast<float>(load(type, bytes));
      };
      std::vector<float> sums(size_t(size), 0.0f);
      for (int rank = 0; rank < context.ranks; ++rank) {
        std::vector<float> values = wildValues(rank, size);
        for (int64_t i = 0; i < size; ++i)
          sums[size_t(i)] = rank ? sums[size_t(i)] + valueOf(values, i) : valueOf(values, i);
      }
      std::vector<float> own = wildValues(context.rank, size);
      Buffer send = Buffer::filled(type, size, [&](int64_t i) { return valueOf(own, i); });
      Buffer whole(type, size), part(type, block), gathered(type, size);
      ncclAllReduce(send.data, whole.data, size_t(size), type, Sum, comm, stream);
      ncclReduceScatter(send.data, part.data, size_t(block), type, Sum, comm, stream);
      ncclAllGather(part.data, gathered.data, size_t(block), type, comm, stream);
      synchronizeDevice();
      require(!std::memcmp(whole.data, gathered.data, size_t(size) * sizeOf(type)),
              "reduce-scatter and all-gather differ from all-reduce");
      whole.expect("sum in rank order", [&](int64_t i) {
        char bytes[8];
        store(type, bytes, sums[size_t(i)]);
        return load(type, bytes);
      });
    }
    requireSuccess(ncclCommDestroy(comm), "destroy");
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, NcclNumbers, testing::Values(1, 2, 4, 8));

} // namespace
} // namespace ulsc::simulator::test

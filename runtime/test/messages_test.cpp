// Sends and receives on real ranks: several under way at a time, together with collectives, waited
// for in any order. Run under mpirun; ends the job at the first difference.
#include "comm/communicator.h"
#include "comm/mpi_library.h"
#include "core/clock.h"
#include "core/error.h"

#include <deque>

using namespace ulsc::runtime;

namespace {

constexpr int slots = 8;

/// What a rank sends to its neighbour: the `number`-th message, of two operands of other dtypes.
struct Message {
  std::vector<int64_t> elements;
  std::vector<float> first;
  std::vector<uint16_t> second;
  std::vector<void *> buffers;
  ulsc_collective_desc desc;

  Message(int kind, int64_t peer, int64_t count)
      : elements{count, count % 7}, first(count), second(count % 7),
        buffers{first.data(), second.data()} {
    static const int32_t dtypes[] = {ULSC_F32, ULSC_BF16};
    desc = {kind, ULSC_SUM, 0, 2, elements.data(), dtypes, kind, nullptr, peer};
  }
  Message(Message &&) = default; // the buffers stay where they are

  static float valueOf(int rank, int number, int64_t index) {
    return static_cast<float>(rank * 1000 + number * 100 + index % 97);
  }
  void fill(int rank, int number) {
    for (size_t i = 0; i < first.size(); ++i)
      first[i] = valueOf(rank, number, static_cast<int64_t>(i));
    for (size_t i = 0; i < second.size(); ++i)
      second[i] = static_cast<uint16_t>(rank * 100 + number);
  }
  void expect(int rank, int number) const {
    for (size_t i = 0; i < first.size(); ++i)
      if (first[i] != valueOf(rank, number, static_cast<int64_t>(i)))
        endJob("messages test", concat("message ", number, " from rank ", rank, " has ", first[i],
                                       " at element ", i));
    for (uint16_t value : second)
      if (value != rank * 100 + number)
        endJob("messages test", concat("message ", number, " has ", value, " behind"));
  }
};

class Neighbours {
public:
  Neighbours(Communicator &communicator, Collectives &collectives)
      : collectives(collectives), rank(communicator.rank()), ranks(communicator.ranks()) {}

  /// Each rank sends one message of each size around the ring; `order` is that of the waits, in
  /// which an even number is a send and an odd one a receive.
  void exchange(const std::vector<int64_t> &sizes, const std::vector<int> &order) {
    int previous = (rank + ranks - 1) % ranks;
    std::deque<Message> sends, receives; // a started one stays where it is
    for (size_t i = 0; i < sizes.size(); ++i) {
      sends.emplace_back(ULSC_SEND, (rank + 1) % ranks, sizes[i]);
      sends.back().fill(rank, static_cast<int>(i));
      receives.emplace_back(ULSC_RECEIVE, previous, sizes[i]);
      start(sends.back(), 2 * static_cast<int>(i));
      start(receives.back(), 2 * static_cast<int>(i) + 1);
    }
    collectives.progress();
    for (int slot : order)
      collectives.wait(slot);
    for (size_t i = 0; i < sizes.size(); ++i)
      receives[i].expect(previous, static_cast<int>(i));
  }

  /// Messages under way on both sides of an all-reduce that is, too.
  void exchangeDuringReduction() {
    std::vector<float> sum(300000, static_cast<float>(rank));
    void *buffer = sum.data();
    int64_t elements = static_cast<int64_t>(sum.size());
    int32_t dtype = ULSC_F32;
    ulsc_collective_desc desc = {ULSC_ALL_REDUCE, ULSC_SUM, 0,       1, &elements,
                                 &dtype,          2,        nullptr, -1};
    collectives.start(desc, &buffer, &buffer, 6);
    exchange({200000, 3}, {1, 3, 0, 2});
    collectives.wait(6);
    for (float value : sum)
      if (value != static_cast<float>(ranks * (ranks - 1)) / 2)
        endJob("messages test", concat("the sum is ", value));
  }

  /// `progress` alone takes what comes in, although a slot before it has a send that is done.
  void arriveByProgress() {
    bool isFirst = rank == 0;
    if (rank > 1)
      return;
    Message small(isFirst ? ULSC_SEND : ULSC_RECEIVE, 1 - rank, 1);
    Message large(isFirst ? ULSC_RECEIVE : ULSC_SEND, 1 - rank, 1 << 20);
    if (!isFirst)
      large.fill(rank, 0);
    start(small, 0);
    start(large, 1);
    const volatile float &last = large.first.back();
    double begin = secondsNow();
    while (isFirst && last == 0) {
      collectives.progress();
      if (secondsNow() - begin > 20)
        endJob("messages test", "progress takes no message");
    }
    collectives.wait(0);
    collectives.wait(1);
    if (isFirst)
      large.expect(1, 0);
  }

  /// Ranks that run different programs, and wait for one reduction before or after the next starts.
  void reduceInOwnWay() {
    constexpr int count = 2;
    std::vector<float> sums[count];
    ulsc_collective_desc descs[count];
    static const int64_t elements = 1000000; // several pieces
    static const int32_t dtype = ULSC_F32;
    for (int i = 0; i < count; ++i) {
      sums[i].assign(elements, static_cast<float>(rank + i));
      descs[i] = {ULSC_ALL_REDUCE, ULSC_SUM, 0, 1, &elements, &dtype, 2, nullptr, -1};
      void *buffer = sums[i].data();
      collectives.start(descs[i], &buffer, &buffer, i);
      if (rank == 0)
        collectives.wait(i);
    }
    for (int i = 0; i < count && rank > 0; ++i)
      collectives.wait(i);
    for (int i = 0; i < count; ++i)
      for (float value : sums[i])
        if (value != static_cast<float>(ranks * (ranks - 1)) / 2 + static_cast<float>(i * ranks))
          endJob("messages test", concat("sum ", i, " is ", value));
  }

private:
  void start(Message &message, int slot) {
    bool isSend = message.desc.kind == ULSC_SEND;
    void *const *buffers = message.buffers.data();
    collectives.start(message.desc, isSend ? buffers : nullptr, isSend ? nullptr : buffers, slot);
  }

  Collectives &collectives;
  int rank, ranks;
};

} // namespace

int main(int argc, char **argv) {
  std::unique_ptr<Communicator> communicator = createMpiCommunicator(linkedMpi(), &argc, &argv);
  std::unique_ptr<Collectives> collectives = createMpiCollectives();
  Manifest manifest;
  manifest.mesh.axes = {{"dp", communicator->ranks()}};
  manifest.groups = {{"dp"}};
  Stage stage;
  stage.collectiveSlots = slots;
  stage.stagingBytes = slots * (int64_t(1) << 20);
  manifest.stages = {stage};
  std::vector<char> staging(stage.stagingBytes);
  collectives->createGroups(manifest, staging.data());
  Neighbours neighbours(*communicator, *collectives);
  neighbours.exchange({5}, {0, 1});
  // Order among messages of one size, and of others.
  neighbours.exchange({1000, 1000, 1000}, {5, 3, 1, 4, 2, 0});
  neighbours.exchange({0, 70001, 3}, {1, 0, 5, 4, 3, 2});
  // More than MPI takes as one block.
  neighbours.exchange({17 << 20}, {1, 0});
  neighbours.exchangeDuringReduction();
  neighbours.arriveByProgress();
  neighbours.reduceInOwnWay();
  communicator->finish();
  return 0;
}

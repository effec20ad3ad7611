// Every kind of collective on real ranks, against what the data of all ranks gives. Run under
// mpirun; exits with 1 on the first difference. With a number of megabytes as argument it measures
// an all-reduce instead.
#include "comm/communicator.h"
#include "comm/mpi_library.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/numeric.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace ulsc::runtime;

namespace {

// Element i of rank r's operand: small integers, so that sums are exact in every dtype.
float valueOf(int rank, int64_t index) {
  return static_cast<float>((index * 7 + rank * 13) % 9 - 4);
}

struct Buffer {
  std::vector<char> bytes;
  int32_t dtype;

  Buffer(int64_t elements, int32_t dtype)
      : bytes(elements * dtypeSize(dtype), char(0x7e)), dtype(dtype) {}
  void set(int64_t index, float value) {
    char *place = bytes.data() + index * dtypeSize(dtype);
    if (dtype == ULSC_I32)
      *reinterpret_cast<int32_t *>(place) = static_cast<int32_t>(value);
    else if (dtype == ULSC_I64)
      *reinterpret_cast<int64_t *>(place) = static_cast<int64_t>(value);
    else
      fromFloat(&value, place, dtype, 1);
  }
  float at(int64_t index) const {
    const char *place = bytes.data() + index * dtypeSize(dtype);
    float value;
    if (dtype == ULSC_I32)
      return static_cast<float>(*reinterpret_cast<const int32_t *>(place));
    if (dtype == ULSC_I64)
      return static_cast<float>(*reinterpret_cast<const int64_t *>(place));
    toFloat(place, dtype, &value, 1);
    return value;
  }
};

struct Case {
  int kind, reduction, group;
  std::vector<int64_t> elements; // of a rank's block, per operand
  std::vector<int32_t> dtypes;
  bool inPlace;
};

class Check {
public:
  Check(Communicator &communicator, Collectives &collectives, const Manifest &manifest)
      : communicator(communicator), collectives(collectives), manifest(manifest),
        coordinates(manifest.mesh.coordinates(communicator.rank())) {
    for (int group = 0; group < 3; ++group)
      groups[group] = findMembers(group);
  }

  void run(const Case &test, int slot) {
    begin(test, slot);
    finish(test, slot);
  }

  void finish(const Case &test, int slot) {
    collectives.wait(slot);
    compare(test, slot);
  }

  void begin(const Case &test, int slot) {
    State &state = states[slot];
    state = State();
    for (size_t i = 0; i < test.elements.size(); ++i) {
      bool blocks = test.kind == ULSC_REDUCE_SCATTER || test.kind == ULSC_ALL_TO_ALL;
      int64_t ranks = members(test.group).size();
      int64_t in = test.elements[i] * (blocks ? ranks : 1);
      int64_t out = test.elements[i] *
                    (test.kind == ULSC_ALL_GATHER || test.kind == ULSC_ALL_TO_ALL ? ranks : 1);
      state.elements.push_back(in);
      state.inputs.emplace_back(in, test.dtypes[i]);
      state.outputs.emplace_back(out, test.dtypes[i]);
      for (int64_t j = 0; j < in; ++j)
        state.inputs[i].set(j, valueOf(communicator.rank(), j + i));
    }
    for (size_t i = 0; i < test.elements.size(); ++i) {
      char *output = state.outputs[i].bytes.data(), *input = state.inputs[i].bytes.data();
      if (test.inPlace && test.kind == ULSC_ALL_REDUCE)
        output = input;
      if (test.inPlace && test.kind == ULSC_ALL_GATHER) {
        char *own = output + position(test.group) * state.inputs[i].bytes.size();
        std::memcpy(own, input, state.inputs[i].bytes.size());
        input = own;
      }
      state.inputPointers.push_back(input);
      state.outputPointers.push_back(output);
    }
    state.desc = {test.kind,
                  test.reduction,
                  test.group,
                  int32_t(test.elements.size()),
                  state.elements.data(),
                  test.dtypes.data(),
                  slot,
                  nullptr,
                  -1};
    for (int64_t i = 0, ranks = members(test.group).size(); i < ranks; ++i)
      state.destinations.push_back(destination(test, i));
    if (test.kind == ULSC_PERMUTE)
      state.desc.destinations = state.destinations.data();
    collectives.start(state.desc, state.inputPointers.data(), state.outputPointers.data(), slot);
  }

  void compare(const Case &test, int slot) {
    State &state = states[slot];
    for (size_t i = 0; i < test.elements.size(); ++i) {
      bool usesInput = test.inPlace && test.kind == ULSC_ALL_REDUCE;
      const Buffer &result = usesInput ? state.inputs[i] : state.outputs[i];
      int64_t count = result.bytes.size() / dtypeSize(result.dtype);
      for (int64_t j = 0; j < count; ++j) {
        float want = expected(test, i, j);
        if (result.at(j) != want)
          endJob("collectives test",
                 concat("kind ", test.kind, " group ", test.group, " operand ", i, " element ", j,
                        " is ", result.at(j), ", not ", want));
      }
    }
  }

private:
  struct State {
    std::vector<Buffer> inputs, outputs;
    std::vector<int64_t> elements, destinations;
    std::vector<void *> inputPointers, outputPointers;
    ulsc_collective_desc desc;
  };

  // The ranks of this rank's group, in order.
  std::vector<int> findMembers(int group) const {
    std::vector<int> result;
    for (int rank = 0; rank < communicator.ranks(); ++rank) {
      Shape other = manifest.mesh.coordinates(rank);
      bool isMember = true;
      for (size_t axis = 0; axis < other.size(); ++axis) {
        bool isAxis = false;
        for (const std::string &name : manifest.groups[group])
          isAxis |= name == manifest.mesh.axes[axis].name;
        isMember &= isAxis || other[axis] == coordinates[axis];
      }
      if (isMember)
        result.push_back(rank);
    }
    return result;
  }
  const std::vector<int> &members(int group) const { return groups[group]; }
  int64_t position(int group) const {
    const std::vector<int> &ranks = members(group);
    for (size_t i = 0; i < ranks.size(); ++i)
      if (ranks[i] == communicator.rank())
        return i;
    return -1;
  }

  // Shifted by one, or for maxima (whose combiner a permute ignores) mirrored, with a fixed point
  // among an odd number of ranks.
  int64_t destination(const Case &test, int64_t from) const {
    int64_t ranks = members(test.group).size();
    return test.reduction == ULSC_SUM ? (from + 1) % ranks : ranks - 1 - from;
  }

  float expected(const Case &test, int64_t operand, int64_t index) const {
    const std::vector<int> &ranks = members(test.group);
    int64_t block = test.elements[operand], own = position(test.group);
    if (test.kind == ULSC_ALL_GATHER)
      return valueOf(ranks[index / block], index % block + operand);
    if (test.kind == ULSC_ALL_TO_ALL)
      return valueOf(ranks[index / block], own * block + index % block + operand);
    if (test.kind == ULSC_PERMUTE) {
      size_t source = 0;
      while (destination(test, source) != own)
        ++source;
      return valueOf(ranks[source], index + operand);
    }
    if (test.kind == ULSC_REDUCE_SCATTER)
      index += own * block;
    float result = test.reduction == ULSC_SUM ? 0 : -100;
    for (int rank : ranks) {
      float value = valueOf(rank, index + operand);
      result = test.reduction == ULSC_SUM ? result + value : std::max(result, value);
    }
    return result;
  }

  Communicator &communicator;
  Collectives &collectives;
  const Manifest &manifest;
  Shape coordinates;
  std::vector<int> groups[3];
  State states[3];
};

void checkAll(Check &check) {
  const int kinds[] = {ULSC_ALL_REDUCE, ULSC_ALL_GATHER, ULSC_REDUCE_SCATTER, ULSC_ALL_TO_ALL,
                       ULSC_PERMUTE};
  const std::vector<int32_t> all = {ULSC_F32, ULSC_BF16, ULSC_F16, ULSC_I32, ULSC_I64};
  for (int group = 0; group < 3; ++group)
    for (int kind : kinds)
      for (int reduction : {ULSC_SUM, ULSC_MAX})
        for (bool inPlace : {false, true}) {
          if (inPlace && kind != ULSC_ALL_REDUCE && kind != ULSC_ALL_GATHER)
            continue;
          check.run({kind, reduction, group, {1, 17, 5, 1000, 3}, all, inPlace}, 0);
        }
  // More pieces than are in flight at a time, and of uneven size.
  for (int kind : kinds) {
    check.run({kind, ULSC_SUM, 0, {700007}, {ULSC_F32}, false}, 0);
    check.run({kind, ULSC_SUM, 1, {700007, 0, 9}, {ULSC_BF16, ULSC_F32, ULSC_I64}, false}, 0);
  }
  // Three at a time, waited for in another order.
  Case first{ULSC_ALL_REDUCE, ULSC_SUM, 0, {600001}, {ULSC_F32}, true};
  Case second{ULSC_REDUCE_SCATTER, ULSC_SUM, 0, {300001}, {ULSC_BF16}, false};
  Case third{ULSC_ALL_GATHER, ULSC_SUM, 1, {70001}, {ULSC_I32}, false};
  check.begin(first, 0);
  check.begin(second, 1);
  check.begin(third, 2);
  check.finish(second, 1);
  check.finish(third, 2);
  check.finish(first, 0);
  // Messages of two permutes of one group that are under way together, in several pieces.
  Case shift{ULSC_PERMUTE, ULSC_SUM, 0, {3000001}, {ULSC_F32}, false};
  Case mirror{ULSC_PERMUTE, ULSC_MAX, 0, {3000001}, {ULSC_F32}, false};
  check.begin(shift, 0);
  check.begin(mirror, 1);
  check.finish(mirror, 1);
  check.finish(shift, 0);
}

void measure(Communicator &communicator, Collectives &collectives, int64_t megabytes) {
  int64_t elements = megabytes << 18;
  std::vector<float> values(elements, 0);
  void *buffer = values.data();
  int32_t dtype = ULSC_F32;
  ulsc_collective_desc desc = {ULSC_ALL_REDUCE, ULSC_SUM, 0, 1, &elements, &dtype, 0, nullptr, -1};
  for (int kind : {ULSC_ALL_REDUCE, ULSC_REDUCE_SCATTER}) {
    desc.kind = kind;
    double best = 1e9;
    for (int i = 0; i < 8; ++i) {
      communicator.barrier();
      double begin = secondsNow();
      collectives.start(desc, &buffer, &buffer, 0);
      collectives.wait(0);
      best = std::min(best, communicator.maximum(secondsNow() - begin));
    }
    if (communicator.rank() == 0)
      std::printf("kind %d, %lld MB on %d ranks: %.1f ms\n", kind,
                  static_cast<long long>(megabytes), communicator.ranks(), best * 1e3);
  }
}

} // namespace

int main(int argc, char **argv) {
  std::unique_ptr<Communicator> communicator = createMpiCommunicator(linkedMpi(), &argc, &argv);
  std::unique_ptr<Collectives> collectives = createMpiCollectives();
  Manifest manifest;
  int64_t ranks = communicator->ranks();
  manifest.mesh.axes = ranks % 2 ? std::vector<MeshAxis>{{"dp", ranks}}
                                 : std::vector<MeshAxis>{{"dp", ranks / 2}, {"tp", 2}};
  std::string last = manifest.mesh.axes.back().name;
  manifest.groups = {{}, {"dp"}, {last}};
  for (const MeshAxis &axis : manifest.mesh.axes)
    manifest.groups[0].push_back(axis.name);
  Stage stage;
  stage.collectiveSlots = 3;
  // Two pieces of a mebibyte in flight a slot.
  stage.stagingBytes = stage.collectiveSlots * (int64_t(2) << 20);
  manifest.stages = {stage};
  std::vector<char> staging(stage.stagingBytes);
  collectives->createGroups(manifest, staging.data());
  if (argc > 1) {
    measure(*communicator, *collectives, std::atoll(argv[1]));
  } else {
    Check check(*communicator, *collectives, manifest);
    checkAll(check);
  }
  communicator->finish();
  return 0;
}

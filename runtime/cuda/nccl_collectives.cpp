#include "cuda/nccl_collectives.h"

#include "core/error.h"
#include "core/numeric.h"
#include "cuda/nccl_library.h"

#include <set>

namespace ulsc::runtime {

using namespace nccl;

namespace {

nccl::DataType typeOf(int32_t dtype) {
  switch (dtype) {
  case ULSC_BF16:
    return TypeBfloat16;
  case ULSC_F16:
    return TypeFloat16;
  case ULSC_I32:
    return TypeInt32;
  case ULSC_I64:
    return TypeInt64;
  default:
    return TypeFloat32;
  }
}

} // namespace

NcclCollectives::NcclCollectives(const CudaDriver &driver, cuda::Stream compute, Communicator &host,
                                 double timeoutSeconds)
    : driver(driver), compute(compute), host(host), timeoutSeconds(timeoutSeconds), log(driver) {}

NcclCollectives::~NcclCollectives() {
  host.setTeller(nullptr);
  watch.reset();
  for (Slot &slot : slots) {
    driver.cuEventDestroy_v2(slot.ready);
    driver.cuEventDestroy_v2(slot.done);
  }
  for (auto &[pair, channel] : messages)
    library->ncclCommDestroy(channel.comm);
  for (Channel &channel : groups)
    library->ncclCommDestroy(channel.comm);
  if (world)
    library->ncclCommDestroy(world);
}

//===---------------------------------------------------------------------------------------===//
// Beginning
//===---------------------------------------------------------------------------------------===//

NcclCollectives::Channel NcclCollectives::split(int color, int key) {
  Channel channel;
  library->check(
      library->ncclCommSplit(world, color < 0 ? splitNoColor : color, key, &channel.comm, nullptr),
      "group creation", world);
  if (!channel.comm)
    return channel;
  library->check(library->ncclCommUserRank(channel.comm, &channel.rank), "group creation");
  library->check(library->ncclCommCount(channel.comm, &channel.ranks), "group creation");
  driver.check(driver.cuStreamCreate(&channel.stream, cuda::StreamNonBlocking), "cuStreamCreate");
  return channel;
}

void NcclCollectives::createGroups(const Manifest &program, char *) {
  manifest = &program;
  Shape coordinates = manifest->mesh.coordinates(host.rank());
  slots.resize(manifest->stageOf(coordinates).collectiveSlots);
  for (Slot &slot : slots)
    for (cuda::Event *event : {&slot.ready, &slot.done})
      driver.check(driver.cuEventCreate(event, cuda::EventDisableTiming), "cuEventCreate");
  if (host.ranks() == 1)
    return;
  library = std::make_unique<Library>();
  startWatch();
  watch->beginOther("joining the job's GPUs");
  std::string id(sizeof(UniqueId), '\0');
  if (host.rank() == 0)
    library->check(library->ncclGetUniqueId(reinterpret_cast<UniqueId *>(id.data())),
                   "ncclGetUniqueId");
  host.broadcast(id);
  library->check(library->ncclCommInitRank(&world, host.ranks(),
                                           *reinterpret_cast<UniqueId *>(id.data()), host.rank()),
                 "joining the job's GPUs");
  for (size_t group = 0; group < manifest->groups.size(); ++group) {
    const std::vector<std::string> &axes = manifest->groups[group];
    groups.push_back(split(static_cast<int>(manifest->mesh.firstInGroup(axes, host.rank())),
                           static_cast<int>(manifest->mesh.indexOver(axes, coordinates))));
    groups.back().name = concat(group);
    groups.back().members = membersOf(axes);
    createMessages(*manifest, coordinates, static_cast<int>(group));
  }
  watch->end();
}

std::vector<int> NcclCollectives::membersOf(const std::vector<std::string> &axes) const {
  std::vector<int> members;
  for (int rank = 0; rank < host.ranks(); ++rank)
    if (manifest->mesh.firstInGroup(axes, rank) == manifest->mesh.firstInGroup(axes, host.rank()))
      members.push_back(rank);
  return members;
}

/// All ranks read the same pairs from the manifest, in one order.
void NcclCollectives::createMessages(const Manifest &manifest, const Shape &coordinates,
                                     int group) {
  const std::vector<std::string> &axes = manifest.groups[group];
  std::set<std::pair<int64_t, int64_t>> pairs;
  for (const CollectiveInfo &info : manifest.collectives)
    if (info.kind == "send" && info.axes == axes)
      for (int64_t sender : info.senders)
        pairs.emplace(sender, info.peer);
  int64_t position = manifest.mesh.indexOver(axes, coordinates);
  auto color = static_cast<int>(manifest.mesh.firstInGroup(axes, host.rank()));
  for (auto [from, to] : pairs) {
    bool isOneOf = position == from || position == to;
    Channel channel = split(isOneOf ? color : -1, position == from ? 0 : 1);
    if (!isOneOf)
      continue;
    channel.name = concat(group, ": ", from, " to ", to);
    for (int rank : groups.back().members)
      if (int64_t other = manifest.mesh.indexOver(axes, manifest.mesh.coordinates(rank));
          other == from || other == to)
        channel.members.push_back(rank);
    messages[{group, from, to}] = channel;
  }
}

//===---------------------------------------------------------------------------------------===//
// Steps
//===---------------------------------------------------------------------------------------===//

std::string NcclCollectives::nameOf(int64_t identifier) const {
  if (identifier < 0 || identifier >= static_cast<int64_t>(manifest->collectives.size()))
    return concat("collective ", identifier);
  const CollectiveInfo &info = manifest->collectives[identifier];
  return info.source.empty() ? info.kind : info.kind + " of " + info.source;
}

void NcclCollectives::beginStep(int64_t step) {
  log.beginStep(step);
  if (watch)
    watch->beginStep();
}

void NcclCollectives::endStep() {
  if (watch)
    watch->end();
}

NcclCollectives::Channel &NcclCollectives::channelOf(const ulsc_collective_desc &desc,
                                                     const std::string &name) {
  if (desc.group < 0 || desc.group >= static_cast<int>(groups.size()))
    endJob(name, concat("group ", desc.group, " is not in the manifest"));
  if (desc.kind != ULSC_SEND && desc.kind != ULSC_RECEIVE)
    return groups[desc.group];
  int64_t own = groups[desc.group].rank;
  bool isSend = desc.kind == ULSC_SEND;
  auto found = messages.find({desc.group, isSend ? own : desc.peer, isSend ? desc.peer : own});
  if (found == messages.end())
    endJob(name, concat("no messages between positions ", own, " and ", desc.peer, " of group ",
                        desc.group, " are in the manifest"));
  return found->second;
}

void NcclCollectives::start(const ulsc_collective_desc &desc, void *const *inputs,
                            void *const *outputs, int number) {
  std::string name = nameOf(desc.identifier);
  if (number < 0 || number >= static_cast<int>(slots.size()))
    endJob(name, concat("slot ", number, " is not in the manifest"));
  Slot &slot = slots[number];
  if (slot.isBusy)
    endJob(name, concat("slot ", number, " holds another collective"));
  slot.isBusy = true;
  driver.announce(name.c_str());
  if (host.ranks() == 1) { // a group of one: what it gets is what it gives
    for (int i = 0; i < desc.operands; ++i)
      if (inputs[i] != outputs[i])
        driver.check(driver.cuMemcpyDtoDAsync_v2(reinterpret_cast<cuda::DevicePointer>(outputs[i]),
                                                 reinterpret_cast<cuda::DevicePointer>(inputs[i]),
                                                 desc.elements[i] * dtypeSize(desc.dtypes[i]),
                                                 compute),
                     "cuMemcpyDtoDAsync");
    return;
  }
  Channel &channel = channelOf(desc, name);
  const StartedCollective &logged = log.at(log.add(desc.identifier, channel.name));
  driver.recordForHost(logged.ready, compute);
  driver.check(driver.cuEventRecord(slot.ready, compute), "cuEventRecord");
  driver.check(driver.cuStreamWaitEvent(channel.stream, slot.ready, 0), "cuStreamWaitEvent");
  library->check(library->ncclGroupStart(), name);
  for (int i = 0; i < desc.operands; ++i)
    enqueue(desc, channel, inputs ? inputs[i] : nullptr, outputs ? outputs[i] : nullptr,
            desc.elements[i], desc.dtypes[i]);
  library->check(library->ncclGroupEnd(), name, channel.comm);
  driver.recordForHost(logged.done, channel.stream);
  driver.check(driver.cuEventRecord(slot.done, channel.stream), "cuEventRecord");
  log.publish();
}

void NcclCollectives::enqueue(const ulsc_collective_desc &desc, const Channel &channel,
                              const void *input, void *output, int64_t elements, int32_t dtype) {
  auto count = static_cast<size_t>(elements);
  auto ranks = static_cast<size_t>(channel.ranks);
  nccl::DataType type = typeOf(dtype);
  Reduction reduction = desc.reduction == ULSC_MAX ? Max : Sum;
  Result result = Success;
  switch (desc.kind) {
  case ULSC_ALL_REDUCE:
    result =
        library->ncclAllReduce(input, output, count, type, reduction, channel.comm, channel.stream);
    break;
  case ULSC_ALL_GATHER:
    result = library->ncclAllGather(input, output, count, type, channel.comm, channel.stream);
    break;
  case ULSC_REDUCE_SCATTER:
    result = library->ncclReduceScatter(input, output, count / ranks, type, reduction, channel.comm,
                                        channel.stream);
    break;
  case ULSC_SEND:
    result = library->ncclSend(input, count, type, /*peer=*/1, channel.comm, channel.stream);
    break;
  case ULSC_RECEIVE:
    result = library->ncclRecv(output, count, type, /*peer=*/0, channel.comm, channel.stream);
    break;
  default:
    return exchange(desc, channel, static_cast<const char *>(input), static_cast<char *>(output),
                    elements, dtype);
  }
  library->check(result, nameOf(desc.identifier), channel.comm);
}

/// All-to-all and permutations are messages of one group of calls.
void NcclCollectives::exchange(const ulsc_collective_desc &desc, const Channel &channel,
                               const char *input, char *output, int64_t elements, int32_t dtype) {
  nccl::DataType type = typeOf(dtype);
  auto send = [&](const char *from, int64_t count, int peer) {
    library->check(library->ncclSend(from, static_cast<size_t>(count), type, peer, channel.comm,
                                     channel.stream),
                   nameOf(desc.identifier), channel.comm);
  };
  auto receive = [&](char *to, int64_t count, int peer) {
    library->check(
        library->ncclRecv(to, static_cast<size_t>(count), type, peer, channel.comm, channel.stream),
        nameOf(desc.identifier), channel.comm);
  };
  if (desc.kind == ULSC_ALL_TO_ALL) {
    int64_t block = elements / channel.ranks;
    for (int peer = 0; peer < channel.ranks; ++peer) {
      send(input + peer * block * dtypeSize(dtype), block, peer);
      receive(output + peer * block * dtypeSize(dtype), block, peer);
    }
    return;
  }
  send(input, elements, static_cast<int>(desc.destinations[channel.rank]));
  for (int peer = 0; peer < channel.ranks; ++peer)
    if (desc.destinations[peer] == channel.rank)
      receive(output, elements, peer);
}

void NcclCollectives::wait(int number) {
  if (number < 0 || number >= static_cast<int>(slots.size()))
    endJob("collective_wait", concat("slot ", number, " is not in the manifest"));
  if (host.ranks() > 1) // a lone rank's are done in their start
    driver.check(driver.cuStreamWaitEvent(compute, slots[number].done, 0), "cuStreamWaitEvent");
  slots[number].isBusy = false;
}

} // namespace ulsc::runtime

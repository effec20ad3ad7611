// Announcing, arriving, running.
#include "simulator/nccl/communicator.h"

#include "simulator/core/memory.h"
#include "simulator/core/report.h"
#include "simulator/core/settings.h"
#include "simulator/nccl/checks.h"
#include "simulator/nccl/exchange.h"

#include <algorithm>
#include <cstring>

namespace ulsc::simulator {

namespace {

// A rank's memory file: records from 0 on, contributions behind.
constexpr uint64_t dataBegin = uint64_t(1) << 40;
constexpr uint64_t keptBytes = 256 << 20; // of contributions, once they are consumed
constexpr uint64_t logPage = 1 << 20;
constexpr uint64_t keptRecords = 64; // for reports about what was before

void copyText(char *target, size_t bytes, const std::string &source) {
  size_t length = std::min(bytes - 1, source.size());
  std::memcpy(target, source.data(), length);
  target[length] = 0;
}

/// Whether another process is in both communicators.
bool shareRanks(const Clique &left, const Clique &right) {
  for (int l = 0; l < left.size(); ++l)
    for (int r = 0; r < right.size(); ++r)
      if (left.state(l).process == right.state(r).process &&
          left.state(l).process != left.own().process)
        return true;
  return false;
}

/// Whether this is the launch of the process that is to fail.
bool isToFail() {
  static uint64_t launches = 0;
  return ++launches == settings().ncclError;
}

void noteNeighbours(CallRecord &record, const Communicator &own) {
  for (auto &other : communicators()) {
    if (other.get() == &own || !shareRanks(own.clique, other->clique))
      continue;
    if (record.neighbours == std::size(record.neighbour)) {
      Finding finding{"unsupported",
                      text("NCCL: a rank in more than ", record.neighbours + 1,
                           " communicators that share ranks is not simulated"),
                      {{"communicator", own.title}},
                      "fewer communicators at a time"};
      report(finding);
    }
    record.neighbour[record.neighbours++] = {other->clique.id(), other->launched()};
  }
}

} // namespace

std::recursive_mutex &ncclMutex() {
  static auto *mutex = new std::recursive_mutex;
  return *mutex;
}

std::vector<std::shared_ptr<Communicator>> &communicators() {
  static auto *all = new std::vector<std::shared_ptr<Communicator>>;
  return *all;
}

void Communicator::start() {
  logs.resize(static_cast<size_t>(size()));
  for (auto &counts : messages)
    counts.assign(static_cast<size_t>(size()), 0);
}

/// Numbers and completes a call's record, and writes it to the log.
void Communicator::append(CallRecord record, const std::string &source) {
  if (isCollective(record.kind)) {
    record.sequence = ++collectives;
  } else {
    auto &counts = messages[record.kind == CallKind::Receive];
    record.sequence = ++counts[static_cast<size_t>(record.peer)];
  }
  record.launch = launches;
  noteNeighbours(record, *this);
  copyText(record.source, sizeof(record.source), source);
  uint64_t index = log(rank()).end();
  clique.writeFile(index * sizeof(record), &record, sizeof(record));
  logs[static_cast<size_t>(rank())].add(record, rank());
}

void Communicator::announce(const std::shared_ptr<Launch> &launch, const Operation &operation) {
  NcclLock lock(ncclMutex());
  if (isDestroyed)
    reportDestroyed(*this, describeCall(launch->calls.front().record));
  uint64_t first = log(rank()).end();
  launch->instances.push_back({first, false, isToFail()});
  order.push_back(launch.get());
  uint32_t groupSize = 0, groupIndex = 0;
  for (const Call &call : launch->calls)
    groupSize += isCollective(call.record.kind);
  for (const Call &call : launch->calls) {
    CallRecord record = call.record;
    if (isCollective(record.kind)) {
      record.groupIndex = groupIndex++;
      record.groupSize = groupSize;
    }
    copyText(record.stream, sizeof(record.stream), launch->streamName);
    append(record, operation.source);
  }
  ++launches;
  // The whole group at once, and before this rank may find a mismatch and end: the others must see
  // it.
  clique.own().published.store(log(rank()).end(), std::memory_order_release);
  for (uint64_t index = first; index < log(rank()).end(); ++index)
    checkAgainstOthers(*this, log(rank()).at(index));
  readLogs();
}

void Communicator::readLogs() {
  for (int other = 0; other < size(); ++other) {
    RankLog &theirs = logs[static_cast<size_t>(other)];
    if (other == rank())
      continue;
    uint64_t published = clique.state(other).published.load(std::memory_order_acquire);
    while (theirs.end() < published) {
      CallRecord record;
      clique.readFile(other, theirs.end() * sizeof(record), &record, sizeof(record));
      theirs.add(record, other);
      checkAgainstOwn(*this, record, other);
    }
    clique.own().read[other].store(theirs.end(), std::memory_order_release);
  }
}

bool Communicator::isReady(Launch &launch) {
  NcclLock lock(ncclMutex());
  if (isAborted)
    return true;
  readLogs();
  if (order.front() != &launch)
    return false;
  LaunchInstance &instance = launch.instances.front();
  if (instance.fails) {
    asyncError = nccl::SystemError;
    lastError = "an error that ULSC_SIMULATOR_NCCL_ERROR asked for";
    return false;
  }
  if (!instance.hasArrived)
    arrive(launch, instance);
  return missingRanks().empty();
}

void Communicator::arrive(Launch &launch, LaunchInstance &instance) {
  uint64_t index = instance.firstRecord;
  const RankLog &ownLog = log(rank());
  while (!placed.empty() &&
         (placed.front().record < ownLog.begin() || isConsumed(ownLog.at(placed.front().record))))
    placed.pop_front();
  if (placed.empty() && placedEnd > keptBytes) {
    clique.discard(dataBegin + keptBytes, placedEnd - keptBytes);
    placedEnd = 0;
  }
  for (const Call &call : launch.calls) {
    CallRecord &record = logs[static_cast<size_t>(rank())].at(index);
    record.dataBytes = static_cast<uint64_t>(contributionBytes(record, size(), rank()));
    if (record.dataBytes) {
      std::string what = text(describe(record), " reads its send buffer:");
      checkBounds(call.send, static_cast<int64_t>(record.dataBytes), what.c_str());
      record.dataOffset = place(call.send, record.dataBytes, index);
    }
    clique.writeFile(index * sizeof(record), &record, sizeof(record));
    ++index;
  }
  instance.hasArrived = true;
  clique.own().arrived.store(index, std::memory_order_release);
}

uint64_t Communicator::place(const void *data, uint64_t bytes, uint64_t record) {
  // The first gap that is large enough: ranks are seldom more than a launch apart, so that the
  // memory of what they have read is used again.
  std::vector<std::pair<uint64_t, uint64_t>> used;
  for (const Placed &each : placed)
    used.push_back({each.offset, each.offset + each.bytes});
  std::sort(used.begin(), used.end());
  uint64_t offset = 0;
  for (auto [begin, end] : used) {
    if (offset + bytes <= begin)
      break;
    offset = (end + 4095) / 4096 * 4096;
  }
  clique.writeFile(dataBegin + offset, data, bytes);
  placed.push_back({record, offset, bytes});
  placedEnd = std::max(placedEnd, offset + bytes);
  return dataBegin + offset;
}

bool Communicator::isConsumed(const CallRecord &record) const {
  CallKey key = keyOfMatch(record, rank());
  for (int other = 0; other < size(); ++other) {
    if (!isCollective(record.kind) && other != record.peer)
      continue;
    uint64_t index = log(other).find(key);
    if (index == log(other).end() ||
        index >= clique.state(other).completed.load(std::memory_order_acquire))
      return false;
  }
  return true;
}

std::vector<int> Communicator::missingRanks() const {
  std::vector<int> missing;
  if (order.empty())
    return missing;
  const Launch &launch = *order.front();
  uint64_t index = launch.instances.front().firstRecord;
  std::vector<bool> isMissing(static_cast<size_t>(size()), false);
  for (size_t i = 0; i < launch.calls.size(); ++i) {
    const CallRecord &record = log(rank()).at(index + i);
    CallKey key = keyOfMatch(record, rank());
    for (int other = 0; other < size(); ++other) {
      if (!isCollective(record.kind) && other != record.peer)
        continue;
      uint64_t arrived = clique.state(other).arrived.load(std::memory_order_acquire);
      uint64_t found = log(other).find(key);
      if (found == log(other).end() || found >= arrived)
        isMissing[static_cast<size_t>(other)] = true;
    }
  }
  for (int other = 0; other < size(); ++other)
    if (isMissing[static_cast<size_t>(other)])
      missing.push_back(other);
  return missing;
}

const CallRecord *Communicator::current(int other) const {
  uint64_t completed = clique.state(other).completed.load(std::memory_order_acquire);
  const RankLog &theirs = log(other);
  return completed >= theirs.begin() && completed < theirs.end() ? &theirs.at(completed) : nullptr;
}

bool Communicator::waitsFor(int waiting, int other) const {
  const CallRecord *first = current(waiting), *theirs = current(other);
  if (!first || !theirs || waiting == other)
    return false;
  const RankLog &from = log(waiting), &to = log(other);
  uint64_t index = clique.state(waiting).completed.load(std::memory_order_acquire);
  for (; index < from.end() && from.at(index).launch == first->launch; ++index) {
    const CallRecord &record = from.at(index);
    if (!isCollective(record.kind) && record.peer != other)
      continue;
    uint64_t match = to.find(keyOfMatch(record, waiting));
    if (match == to.end() || to.at(match).launch > theirs->launch)
      return true;
  }
  return false;
}

CallRecord Communicator::matchOf(const CallRecord &record, int other) const {
  // Read again: where the contribution lies was unknown when the record was announced.
  uint64_t index = log(other).find(keyOfMatch(record, rank()));
  CallRecord match;
  clique.readFile(other, index * sizeof(match), &match, sizeof(match));
  return match;
}

void Communicator::exchange(const Call &call, const CallRecord &record) {
  std::vector<uint64_t> offsets(static_cast<size_t>(size()), 0);
  for (int other = 0; other < size(); ++other)
    if (isCollective(record.kind) || other == record.peer)
      offsets[static_cast<size_t>(other)] = matchOf(record, other).dataOffset;
  receive(record, rank(), size(), call.receive,
          [&](int other, uint64_t begin, uint64_t bytes, void *target) {
            clique.readFile(other, offsets[static_cast<size_t>(other)] + begin, target, bytes);
          });
}

void Communicator::run(Launch &launch) {
  NcclLock lock(ncclMutex());
  LaunchInstance instance = launch.instances.front();
  launch.instances.pop_front();
  order.erase(std::find(order.begin(), order.end(), &launch));
  uint64_t end = instance.firstRecord + launch.calls.size();
  if (!isAborted) {
    for (size_t i = 0; i < launch.calls.size(); ++i)
      exchange(launch.calls[i], log(rank()).at(instance.firstRecord + i));
    clique.own().completed.store(end, std::memory_order_release);
    forgetOldRecords();
  }
}

bool Communicator::isForgotten(const CallRecord &record, int other) const {
  uint64_t launchedHere = isCollective(record.kind)
                              ? collectives
                              : messages[record.kind == CallKind::Send][static_cast<size_t>(other)];
  const RankLog &own = log(rank());
  return record.sequence <= launchedHere && own.find(keyOfMatch(record, other)) == own.end();
}

void Communicator::forgetOldRecords() {
  uint64_t ownCompleted = clique.own().completed.load(std::memory_order_relaxed);
  uint64_t leastRead = ownCompleted;
  RankLog &own = logs[static_cast<size_t>(rank())];
  while (own.begin() + keptRecords < ownCompleted && isConsumed(own.at(own.begin())))
    own.removeFirst(rank());
  for (int other = 0; other < size(); ++other) {
    if (other == rank())
      continue;
    RankLog &theirs = logs[static_cast<size_t>(other)];
    uint64_t completed = clique.state(other).completed.load(std::memory_order_acquire);
    leastRead = std::min(leastRead, clique.state(other).read[rank()].load());
    // What says that a record of this rank is consumed is kept longer than that record.
    while (theirs.begin() + keptRecords < std::min(completed, theirs.end())) {
      const CallRecord &record = theirs.at(theirs.begin());
      bool concernsUs = isCollective(record.kind) || record.peer == rank();
      if (concernsUs && !isForgotten(record, other))
        break;
      theirs.removeFirst(other);
    }
  }
  // The shared log behind what everyone has read; a reader of contributions reads records again.
  uint64_t unneeded = std::min(leastRead, log(rank()).begin()) * sizeof(CallRecord);
  if (unneeded >= discardedLog + logPage) {
    clique.discard(discardedLog, unneeded / 4096 * 4096 - discardedLog);
    discardedLog = unneeded / 4096 * 4096;
  }
}

} // namespace ulsc::simulator

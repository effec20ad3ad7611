//===- Transfers.cpp - Where sends and receives start and end
//------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/PipelineTransfers.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace ulsc;
using namespace ulsc::pipeline;

namespace {
/// One flow's value of one microbatch. Places are numbers of entries: what happens at place k
/// happens before entry k of its rank.
struct Transfer {
  int64_t flow, microbatch;
  int64_t sender, receiver;
  size_t sendPlace = 0, sendWait = 0, receivePlace = 0, receiveWait = 0;
};

class Planner {
public:
  Planner(const Schedule &schedule, llvm::ArrayRef<Flow> flows, const Costs &costs)
      : schedule(schedule), flows(flows), timing(simulate(schedule, costs)) {
    for (const std::vector<Entry> &entries : schedule.ranks)
      for (auto [place, entry] : llvm::enumerate(entries))
        places[getKey(entry.work, entry.chunk, entry.microbatch)] = place;
  }

  std::vector<std::vector<Event>> run() {
    collect();
    orderReceives();
    placeWaits();
    return write();
  }

private:
  using Key = std::tuple<bool, bool, int64_t, int64_t>;

  static Key getKey(Work work, int64_t chunk, int64_t microbatch) {
    return {work == Work::Forward, work == Work::BackwardWeight, chunk, microbatch};
  }

  size_t getPlace(const ChunkWork &work, int64_t microbatch) const {
    return places.at(getKey(work.work, work.chunk, microbatch));
  }

  /// When a rank is done with all entries before a place.
  double getTime(int64_t rank, size_t place) const {
    return place == 0 ? 0 : timing.ranks[rank][place - 1].end;
  }

  void collect() {
    for (auto [index, flow] : llvm::enumerate(flows))
      for (int64_t i = 0; i < schedule.shape.microbatches; ++i) {
        Transfer transfer{int64_t(index), i, schedule.rankOf[flow.from.chunk],
                          schedule.rankOf[flow.to.front().chunk]};
        transfer.sendPlace = getPlace(flow.from, i) + 1;
        transfer.receiveWait = schedule.ranks[transfer.receiver].size();
        for (const ChunkWork &user : flow.to)
          transfer.receiveWait = std::min(transfer.receiveWait, getPlace(user, i));
        transfer.receivePlace = transfer.receiveWait == 0 ? 0 : transfer.receiveWait - 1;
        transfers.push_back(transfer);
      }
  }

  /// Along each channel receives start in the order of the sends: none later than one behind it.
  void orderReceives() {
    for (Transfer &transfer : transfers)
      channels[{transfer.sender, transfer.receiver}].push_back(&transfer);
    for (auto &[_, channel] : channels) {
      llvm::stable_sort(channel, [](const Transfer *a, const Transfer *b) {
        return std::tie(a->sendPlace, a->flow) < std::tie(b->sendPlace, b->flow);
      });
      size_t latest = schedule.ranks[channel.front()->receiver].size();
      for (Transfer *transfer : llvm::reverse(channel))
        latest = transfer->receivePlace = std::min(latest, transfer->receivePlace);
    }
  }

  void placeWaits() {
    for (Transfer &transfer : transfers) {
      double posted = getTime(transfer.receiver, transfer.receivePlace);
      // It travels while the next work computes.
      size_t last = schedule.ranks[transfer.sender].size();
      transfer.sendWait = std::min(transfer.sendPlace + 1, last);
      while (transfer.sendWait < last && getTime(transfer.sender, transfer.sendWait) < posted)
        ++transfer.sendWait;
    }
  }

  /// At one place: sends, receives, waits for sends, waits for receives.
  std::vector<std::vector<Event>> write() {
    using Kind = Event::Kind;
    std::vector<std::vector<Event>> ranks(schedule.ranks.size());
    std::vector<std::map<size_t, std::map<Kind, std::vector<Event>>>> at(ranks.size());
    auto add = [&](int64_t rank, size_t place, Kind kind, const Transfer &transfer) {
      at[rank][place][kind].push_back({kind, {}, transfer.flow, transfer.microbatch});
    };
    for (auto &[_, channel] : channels)
      for (const Transfer *transfer : channel) {
        add(transfer->sender, transfer->sendPlace, Kind::StartSend, *transfer);
        add(transfer->receiver, transfer->receivePlace, Kind::StartReceive, *transfer);
        add(transfer->sender, transfer->sendWait, Kind::WaitSend, *transfer);
        add(transfer->receiver, transfer->receiveWait, Kind::WaitReceive, *transfer);
      }
    for (auto [rank, entries] : llvm::enumerate(schedule.ranks))
      for (size_t place = 0; place <= entries.size(); ++place) {
        for (Kind kind : {Kind::StartSend, Kind::StartReceive, Kind::WaitSend, Kind::WaitReceive})
          llvm::append_range(ranks[rank], at[rank][place][kind]);
        if (place < entries.size())
          ranks[rank].push_back({Kind::Compute, entries[place]});
      }
    return ranks;
  }

  const Schedule &schedule;
  llvm::ArrayRef<Flow> flows;
  Timing timing;
  std::map<Key, size_t> places;
  std::vector<Transfer> transfers;
  std::map<std::pair<int64_t, int64_t>, std::vector<Transfer *>> channels;
};
} // namespace

std::vector<std::vector<Event>>
pipeline::planTransfers(const Schedule &schedule, llvm::ArrayRef<Flow> flows, const Costs &costs) {
  return Planner(schedule, flows, costs).run();
}

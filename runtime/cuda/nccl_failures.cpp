// What NcclCollectives says when a collective can't go on. Called by its watching thread.
#include "comm/join.h"
#include "core/error.h"
#include "cuda/nccl_collectives.h"
#include "cuda/nccl_library.h"

namespace ulsc::runtime {

// Whoever does not answer in this time counts as stuck, too.
static constexpr double answerSeconds = 10;

void NcclCollectives::startWatch() {
  host.setTeller([this] {
    driver.makeCurrent();
    return log.tell();
  });
  NcclWatch::Actions actions;
  actions.checkErrors = [this] { checkErrors(); };
  actions.endStuck = [this](const CollectiveLog::Unfinished &stuck) { endStuck(stuck); };
  actions.endLate = [this](const std::string &what) {
    endJob(what, concat("not all ranks have come within ", timeoutSeconds,
                        " s (--collective-timeout); look at what the others print, and with "
                        "NCCL_DEBUG=INFO at what NCCL does"));
  };
  watch = std::make_unique<NcclWatch>(driver, log, timeoutSeconds, std::move(actions));
}

void NcclCollectives::checkErrors() {
  for (const Channel &channel : groups)
    checkErrorOf(channel.comm, &channel);
  for (const auto &[pair, channel] : messages)
    checkErrorOf(channel.comm, &channel);
  checkErrorOf(world, nullptr);
}

void NcclCollectives::checkErrorOf(nccl::Comm comm, const Channel *channel) {
  nccl::Result error = nccl::Success;
  nccl::Result asked = library->ncclCommGetAsyncError(comm, &error);
  if (asked == nccl::Success && (error == nccl::Success || error == nccl::InProgress))
    return;
  std::string reason = concat("NCCL: ", library->ncclGetErrorString(asked ? asked : error), ": ",
                              library->ncclGetLastError(comm));
  std::optional<CollectiveLog::Unfinished> stuck;
  if (channel)
    stuck = log.firstUnfinished(channel->name);
  if (!stuck) {
    // A rank that has ended is an error of NCCL's, too. Its connection says which one it was and
    // where, and who asks over it comes to know that first.
    host.askAll(answerSeconds);
    endJob("communication between GPUs", reason);
  }
  endJob(nameOf(stuck->collective.identifier), concat(reason, describeAbsent(*stuck)));
}

void NcclCollectives::endStuck(const CollectiveLog::Unfinished &stuck) {
  endJob(nameOf(stuck.collective.identifier),
         concat("has not ended within ", timeoutSeconds, " s (--collective-timeout)",
                describeAbsent(stuck)));
}

const NcclCollectives::Channel *NcclCollectives::findChannel(const std::string &name) const {
  for (const Channel &channel : groups)
    if (channel.name == name)
      return &channel;
  for (const auto &[pair, channel] : messages)
    if (channel.name == name)
      return &channel;
  return nullptr;
}

/// Who has not come to the collective, and why it is there.
std::string NcclCollectives::describeAbsent(const CollectiveLog::Unfinished &stuck) {
  using Arrival = CollectiveLog::Arrival;
  const StartedCollective &collective = stuck.collective;
  std::string text = concat("; in step ", stuck.step + 1);
  const Channel *channel = findChannel(collective.channel);
  std::vector<std::string> answers = host.askAll(answerSeconds);
  std::map<Arrival, std::vector<int>> ranks;
  for (int rank : channel ? channel->members : std::vector<int>())
    if (rank != host.rank() && !answers.empty())
      ranks[CollectiveLog::readArrival(answers[rank], stuck.step, collective.channel,
                                       collective.number)]
          .push_back(rank);
  for (auto [arrival, one, many] :
       {std::tuple(Arrival::Unknown, " does not answer", " do not answer"),
        {Arrival::Absent, " has not started it", " have not started it"},
        {Arrival::Queued, " has not come to it on its GPU", " have not come to it on their GPUs"},
        {Arrival::There, " waits in it, too", " wait in it, too"},
        {Arrival::Passed, " has ended it", " have ended it"}})
    if (const std::vector<int> &list = ranks[arrival]; !list.empty())
      text += concat("; ", listRanks(list), list.size() == 1 ? one : many);
  bool isKnown = collective.identifier >= 0 &&
                 collective.identifier < static_cast<int64_t>(manifest->collectives.size());
  if (isKnown && !manifest->collectives[collective.identifier].cause.empty())
    text += concat("; cause: ", manifest->collectives[collective.identifier].cause);
  return text;
}

} // namespace ulsc::runtime

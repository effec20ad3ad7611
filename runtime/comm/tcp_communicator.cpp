// The backend of Communicator for ranks that find each other without MPI. What travels here is
// little: the beginning, checks, ends, and what is gathered on rank 0; collectives of steps are the
// device's.
#include "comm/communicator.h"
#include "comm/job_secret.h"
#include "comm/tcp_links.h"
#include "core/error.h"

#include <algorithm>
#include <cstring>

namespace ulsc::runtime {

namespace {

// A rank sends at most so many pieces before the first of them was taken: what nobody wants yet
// stays on its own side.
constexpr int64_t piecesAhead = 8;

TcpLinks *jobLinks = nullptr;

void abortAll(int exitCode, const std::string &reason) {
  if (jobLinks)
    jobLinks->abort(reason);
}

class TcpCommunicator final : public Communicator {
public:
  TcpCommunicator(const Launch &launch, const JoinOptions &options)
      : worldRank(launch.rank), worldRanks(launch.ranks), ahead(launch.ranks) {
    setMessageRank(worldRank, worldRanks);
    if (worldRanks > 1)
      links = std::make_unique<TcpLinks>(worldRank, joinJob(launch, options));
    jobLinks = links.get();
    setAbort(abortAll);
    countLocalRanks(launch);
  }

  ~TcpCommunicator() override {
    setAbort(nullptr);
    jobLinks = nullptr;
  }

  int rank() const override { return worldRank; }
  int ranks() const override { return worldRanks; }
  int localRanks() const override { return machineRanks; }
  int localRank() const override { return machineRank; }

  void barrier() override { gather(0); }

  int64_t minimum(int64_t value) override {
    std::vector<uint64_t> all = gather(static_cast<uint64_t>(value));
    for (uint64_t one : all)
      value = std::min(value, static_cast<int64_t>(one));
    return value;
  }

  double maximum(double value) override {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    for (uint64_t one : gather(bits)) {
      double other;
      std::memcpy(&other, &one, sizeof(other));
      value = std::max(value, other);
    }
    return value;
  }

  std::vector<uint64_t> gather(uint64_t value) override {
    std::vector<uint64_t> values(worldRanks, value);
    size_t bytes = values.size() * sizeof(value);
    if (worldRanks == 1)
      return values;
    if (worldRank != 0) {
      links->send(Frame::Shared, 0, &value, sizeof(value));
      copyChecked(links->receive(Frame::Shared, 0), values.data(), bytes);
      return values;
    }
    for (int peer = 1; peer < worldRanks; ++peer)
      copyChecked(links->receive(Frame::Shared, peer), &values[peer], sizeof(value));
    for (int peer = 1; peer < worldRanks; ++peer)
      links->send(Frame::Shared, peer, values.data(), bytes);
    return values;
  }

  void send(const void *data, int64_t bytes, int destination) override {
    for (int64_t begin = 0; begin < bytes; begin += Frame::mostBytes) {
      if (ahead[destination] == piecesAhead) {
        links->receive(Frame::Received, destination);
        --ahead[destination];
      }
      ++ahead[destination];
      links->send(Frame::Message, destination, static_cast<const char *>(data) + begin,
                  static_cast<size_t>(std::min<int64_t>(Frame::mostBytes, bytes - begin)));
    }
  }

  void receive(void *data, int64_t bytes, int source) override {
    for (int64_t begin = 0; begin < bytes; begin += Frame::mostBytes) {
      copyChecked(links->receive(Frame::Message, source), static_cast<char *>(data) + begin,
                  static_cast<size_t>(std::min<int64_t>(Frame::mostBytes, bytes - begin)));
      links->send(Frame::Received, source, nullptr, 0);
    }
  }

  void broadcast(std::string &text) override {
    if (worldRanks == 1)
      return;
    uint64_t size = gather(text.size())[0];
    text.resize(size);
    for (int peer = 1; worldRank == 0 && peer < worldRanks; ++peer)
      send(text.data(), static_cast<int64_t>(size), peer);
    if (worldRank != 0)
      receive(text.data(), static_cast<int64_t>(size), 0);
  }

  void setTeller(std::function<std::string()> teller) override {
    if (links)
      links->setTeller(std::move(teller));
  }

  std::vector<std::string> askAll(double seconds) override {
    return links ? links->askAll(seconds) : std::vector<std::string>(1);
  }

  void finish() override {
    jobLinks = nullptr;
    if (links)
      links->finish();
  }

private:
  void countLocalRanks(const Launch &launch) {
    machineRank = 0;
    machineRanks = 0;
    for (int rank = 0; links && rank < worldRanks; ++rank)
      if (links->members()[rank].host == links->members()[worldRank].host) {
        machineRank += rank < worldRank;
        ++machineRanks;
      }
    if (!links)
      machineRanks = 1;
    if (launch.localRank >= 0)
      machineRank = launch.localRank;
    if (launch.localRanks > 0)
      machineRanks = launch.localRanks;
  }

  /// What comes has the size that the program expects, or its ranks have lost their common way.
  static void copyChecked(const std::string &text, void *data, size_t bytes) {
    if (text.size() != bytes)
      endJob("communication of ranks",
             concat("a message has ", text.size(), " bytes, but ", bytes, " were expected"));
    std::memcpy(data, text.data(), bytes);
  }

  int worldRank, worldRanks, machineRanks = 1, machineRank = 0;
  std::vector<int64_t> ahead; // pieces sent to each rank and not taken yet
  std::unique_ptr<TcpLinks> links;
};

} // namespace

std::unique_ptr<Communicator> createTcpCommunicator(const Launch &launch,
                                                    const JoinOptions &options) {
  return std::make_unique<TcpCommunicator>(launch, options);
}

} // namespace ulsc::runtime

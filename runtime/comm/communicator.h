// What ranks say to each other. One implementation file per backend.
#ifndef ULSC_RUNTIME_COMM_COMMUNICATOR_H
#define ULSC_RUNTIME_COMM_COMMUNICATOR_H

#include "comm/collectives.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ulsc::runtime {

/// What happens around the steps, on all ranks of the job.
class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Ranks on this machine, and which of them this one is.
  virtual int localRanks() const = 0;
  virtual int localRank() const = 0;

  /// Those of steps on this communicator's own backend, whose buffers the host can address.
  virtual Collectives &collectives() = 0;

  virtual void barrier() = 0;
  virtual int64_t minimum(int64_t value) = 0;
  virtual double maximum(double value) = 0;
  /// All ranks' values in rank order, on all ranks.
  virtual std::vector<uint64_t> gather(uint64_t value) = 0;
  virtual void send(const void *data, int64_t bytes, int destination) = 0;
  virtual void receive(void *data, int64_t bytes, int source) = 0;
  virtual void broadcast(std::string &text) = 0;
  /// Ends in order; nothing may be called after it.
  virtual void finish() = 0;
};

/// Joins the job that a launcher started, or makes one of a single rank.
std::unique_ptr<Communicator> createMpiCommunicator(int *argc, char ***argv);

/// Runs `work` on all ranks; if it throws on any, throws on all. The lowest failing rank keeps its
/// message, the others throw an Error without one, so that each problem is printed once.
void onAllRanks(Communicator &communicator, const std::function<void()> &work);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_COMM_COMMUNICATOR_H

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

  virtual void barrier() = 0;
  virtual int64_t minimum(int64_t value) = 0;
  virtual double maximum(double value) = 0;
  /// All ranks' values in rank order, on all ranks.
  virtual std::vector<uint64_t> gather(uint64_t value) = 0;
  virtual void send(const void *data, int64_t bytes, int destination) = 0;
  virtual void receive(void *data, int64_t bytes, int source) = 0;
  virtual void broadcast(std::string &text) = 0;
  /// How a rank tells others how far it is, and what each says, empty for who does not within
  /// `seconds`. Other threads may ask and tell. Where ranks can't, there are no answers.
  virtual void setTeller(std::function<std::string()>) {}
  virtual std::vector<std::string> askAll(double) { return {}; }
  /// Ends in order; nothing may be called after it.
  virtual void finish() = 0;
};

struct JoinOptions;
struct Launch;
struct MpiLibrary;

/// Joins the job that an MPI launcher started, or makes one of a single rank.
std::unique_ptr<Communicator> createMpiCommunicator(const MpiLibrary &library, int *argc,
                                                    char ***argv);

/// Those of steps through MPI, whose buffers the host can address; after createMpiCommunicator with
/// the linked library.
std::unique_ptr<Collectives> createMpiCollectives();

/// Joins the job of another launcher, whose ranks meet at rank 0 (comm/join.h), or makes one of a
/// single rank. Throws an Error where the ranks don't come together.
std::unique_ptr<Communicator> createTcpCommunicator(const Launch &launch,
                                                    const JoinOptions &options);

/// Runs `work` on all ranks; if it throws on any, throws on all. The lowest failing rank keeps its
/// message, the others throw an Error without one, so that each problem is printed once.
void onAllRanks(Communicator &communicator, const std::function<void()> &work);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_COMM_COMMUNICATOR_H

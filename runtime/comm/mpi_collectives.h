// Collectives on buffers through MPI's non-blocking calls, in pieces.
//
// Reductions are an exchange of blocks, a sum in rank order and, for all-reduce, a gathering of the
// sums: the same bytes on the wire as MPI_Allreduce, with 16-bit sums in f32, one order of
// summation whatever MPI chooses, and no temporary buffers inside MPI (which cost most of a large
// MPI_Allreduce on one machine).
//
// MPI matches non-blocking collectives by their order on a communicator. So every rank issues its
// calls at fixed places (the start, and fixed points of the wait), never when something happens to
// be complete. What starts issue and what waits issue have a communicator each: ranks that run
// different programs, as stages do, need one order of starts and one of waits, however these mix.
//
// A send is one message, however many operands it has (mpi_messages.cpp).
#ifndef ULSC_RUNTIME_COMM_MPI_COLLECTIVES_H
#define ULSC_RUNTIME_COMM_MPI_COLLECTIVES_H

#include "comm/mpi_library.h"
#include "ulsc/RuntimeABI.h"

#include <deque>
#include <string>
#include <vector>

namespace ulsc::runtime {

/// Ranks that reduce, gather or exchange together.
struct MpiGroup {
  MPI_Comm communicator = MPI_COMM_NULL, waitCommunicator = MPI_COMM_NULL;
  int rank = 0, ranks = 1;
};

/// One collective between its start and its wait.
class MpiSlot {
public:
  /// Pieces of a reduction that are exchanged at a time; each is received in its part of the
  /// staging.
  static constexpr int64_t piecesInFlight = 2;

  MpiSlot(char *staging, int64_t stagingBytes)
      : staging(staging), pieceBytes(stagingBytes / piecesInFlight) {}

  void start(const ulsc_collective_desc &desc, void *const *inputs, void *const *outputs,
             const MpiGroup &group, const std::string &name);
  void wait();
  /// Lets MPI go on with what is under way. False if nothing is: all that was started has arrived.
  bool progress();
  bool isBusy() const { return busy; }

private:
  // A v-collective's counts must outlive the call, hence the deques of stable elements.
  struct Exchange {
    std::vector<int> sendCounts, sendOffsets, receiveCounts, receiveOffsets;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Piece {
    int64_t operand;
    int64_t offset,
        count; // in elements of the operand (all-reduce) or of a rank's block (reduce-scatter)
    Exchange exchange, gathering;
  };

  void startDirect();
  void startGather(int64_t operand);
  void startAllToAll(int64_t operand);
  void startPermute(int64_t operand);
  void startMessage();
  void finishReceive(Exchange &exchange);
  void cutReductions();
  void startExchange(size_t piece, MPI_Comm communicator);
  void finishExchange(size_t piece);
  void copyLocally();
  int64_t blockBegin(const Piece &piece, int rank) const;
  char *stagingOf(size_t piece) const;
  int checkedOffset(int64_t elements) const;
  void announce(int level) const;

  char *staging;
  int64_t pieceBytes;
  bool busy = false;
  const ulsc_collective_desc *desc = nullptr;
  std::vector<char *> inputs, outputs;
  MpiGroup group;
  std::string name;
  std::deque<Exchange> direct;
  std::deque<Piece> pieces;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_COMM_MPI_COLLECTIVES_H

// The connections of a job that was joined without MPI, and the thread that reads them.
//
// Rank 0 has a connection to each rank, and the others have one to rank 0, which passes on what
// they say to each other. A thread of each rank reads all the time: a rank that ends without a
// goodbye is seen at once, whatever its main thread waits for, and what others send never waits
// until somebody wants it.
#ifndef ULSC_RUNTIME_COMM_TCP_LINKS_H
#define ULSC_RUNTIME_COMM_TCP_LINKS_H

#include "comm/join.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace ulsc::runtime {

struct Frame {
  enum Kind : uint32_t {
    Message = 1, // a piece of what one rank sends another
    Received,    // that a piece was taken
    Shared,      // of what all ranks do together
    Abort,       // the job ends; the text says why
    Goodbye,     // nothing more comes
    Question,    // what the sender should be told
    Reply,
    LastKind = Reply,
  };
  uint32_t kind, source, destination, bytes;

  static constexpr uint32_t mostBytes = 1 << 20;
};

class TcpLinks {
public:
  /// What a rank says when another asks how far it is. Called by the reading thread.
  using Teller = std::function<std::string()>;

  TcpLinks(int rank, JoinedJob job);
  ~TcpLinks();

  void send(Frame::Kind kind, int destination, const void *data, size_t bytes);
  /// The next frame of that kind from that rank; waits for it.
  std::string receive(Frame::Kind kind, int source);
  /// Says goodbye, waits until all have, and closes.
  void finish();
  /// Tells all ranks why the job ends. Nothing may follow but the end of the process.
  void abort(const std::string &cause);
  void setTeller(Teller newTeller);
  /// What each rank tells, empty where it does not within `seconds`.
  std::vector<std::string> askAll(double seconds);

  const std::vector<Member> &members() const { return job.members; }

private:
  struct Reading {
    std::string received; // of the frame under way, its head included
    bool saidGoodbye = false;
  };

  int ranks() const { return static_cast<int>(job.members.size()); }
  /// The place in `job.links` of the way to a rank.
  size_t linkTo(int destination) const { return rank == 0 ? size_t(destination) : 0; }
  int peerOf(size_t link) const { return rank == 0 ? static_cast<int>(link) : 0; }
  std::string nameOf(int peer) const;

  /// Nothing where none comes before `deadline`.
  std::optional<std::string> receiveBefore(Frame::Kind kind, int source,
                                           Clock::time_point deadline);
  void write(size_t link, const Frame &head, const void *data);
  void readAll();
  void readFrom(size_t link);
  void take(size_t link, const Frame &head, std::string text);
  void takeAbort(const Frame &head, const std::string &text);
  bool isPlausible(size_t link, const Frame &head) const;
  /// The connection broke or the bytes make no sense: the job can't go on.
  [[noreturn]] void lose(size_t link, const std::string &how);
  /// The first who calls this ends the process; others wait for that end. From here on nothing
  /// takes longer than a while.
  void claimEnd();
  [[noreturn]] void endProcess();

  int rank;
  JoinedJob job;
  std::vector<Reading> readings; // by link
  std::deque<std::timed_mutex> writing;
  std::mutex mutex; // guards what follows
  std::condition_variable changed;
  std::map<std::pair<uint32_t, int>, std::deque<std::string>> inbox; // by kind and source
  Teller teller;
  std::atomic<bool> isEnding{false};
  Socket wake, sleeper; // a pipe that ends the thread
  std::thread reader;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_COMM_TCP_LINKS_H

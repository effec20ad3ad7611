// How the ranks of a job meet without MPI: rank 0 listens, the others come to it, and both sides
// prove that they know the job's secret before either believes what the other says.
//
//   rank 0                                        rank r
//     challenge: job, nonce 0            ------>
//                 <------   request: nonce r, who it is; HMAC(secret, "rank", nonce 0, request)
//     answer; HMAC(secret, "rank 0", nonce 0, nonce r, answer)            ------>
//     … until all are there …
//     answer: who all are, or why the job ends; HMAC(…)                   ------>
//
// The secret never travels, and what is sent in one connection proves nothing in another. What
// follows in the connection is neither encrypted nor authenticated, as NCCL's own is not
// (docs/rationale/cuda.md).
#ifndef ULSC_RUNTIME_COMM_JOIN_H
#define ULSC_RUNTIME_COMM_JOIN_H

#include "comm/launcher.h"
#include "comm/tcp_socket.h"

#include <string>
#include <vector>

namespace ulsc::runtime {

/// What all ranks have to have alike, and how it is called in messages.
struct ProgramIdentity {
  std::string digest; // SHA-256 of the manifest, in hexadecimal digits
  std::string title;  // "llama-small on mesh dp=2"
};

/// A process that has joined.
struct Member {
  std::string host;
  int process = 0;

  std::string text() const;
};

struct JoinOptions {
  ProgramIdentity program;
  std::string secret; // empty: none, and then only ranks of this machine can join
  double timeoutSeconds = 600;
};

/// The connections of a job that is complete.
struct JoinedJob {
  std::vector<Member> members; // by rank
  /// On rank 0 one to each rank, by rank; on others one, to rank 0. Its own place is closed.
  std::vector<Socket> links;
};

/// Joins the job of this launch. Throws an Error, the same on all ranks that have joined, where
/// ranks are still missing after the time-out; it names them.
JoinedJob joinJob(const Launch &launch, const JoinOptions &options);

// The two sides of it.
JoinedJob gatherRanks(const Launch &launch, const JoinOptions &options, bool onlyLoopback);
JoinedJob goToFirstRank(const Launch &launch, const JoinOptions &options, bool onlyLoopback);

/// "rank 2", or "ranks 2, 5 to 7".
std::string listRanks(const std::vector<int> &ranks);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_COMM_JOIN_H

// The bytes that a joining rank and rank 0 send each other (comm/join.h).
#ifndef ULSC_RUNTIME_COMM_JOIN_MESSAGES_H
#define ULSC_RUNTIME_COMM_JOIN_MESSAGES_H

#include "comm/job_secret.h"
#include "comm/join.h"

#include <optional>
#include <string>

namespace ulsc::runtime {

/// Whoever connects gets this first. Of fixed size.
struct Challenge {
  Digest job{};   // of Launch::job
  Digest nonce{}; // rank 0's
  bool hasSecret = false;

  static constexpr size_t bytes = 8 + 4 + 4 + 32 + 32;
  std::string encode() const;
  /// Nothing where the bytes are not a challenge of this protocol; `problem` says what they are.
  static std::optional<Challenge> decode(const std::string &text, std::string &problem);
};

/// What a rank says about itself.
struct JoinRequest {
  int rank = 0, ranks = 0;
  ProgramIdentity program;
  Member member;
};

/// A request or an answer: four bytes that count the rest, then a nonce (of a request), the body,
/// and what proves that the sender knows the secret.
inline constexpr size_t prefixBytes = 4;
/// Before a process has proved that it belongs to the job, no more is read of what it sends.
inline constexpr size_t mostRequestBytes = 4096;
inline constexpr size_t mostAnswerBytes = size_t(64) << 20;
size_t decodeSize(const char *prefix);

std::string encodeRequest(const JoinRequest &request, const std::string &secret,
                          const Digest &firstNonce, const Digest &ownNonce);

enum class RequestFault { None, Malformed, WrongSecret };
/// `text` is what follows the size. Nothing is read of a body that isn't authentic.
RequestFault decodeRequest(const std::string &text, const std::string &secret,
                           const Digest &firstNonce, Digest &nonce, JoinRequest &request);

struct Answer {
  enum Kind : char {
    Accepted = 'a',    // waits for the others now
    Refused = 'r',     // `text` says why
    WrongSecret = 's', // not authentic, since there is no secret that both know
    Started = 'g',     // `text` has all members
    Failed = 'f',      // the job ends, `text` says why
  };
  Kind kind = Refused;
  std::string text;
};

std::string encodeAnswer(const Answer &answer, const std::string &secret, const Digest &firstNonce,
                         const Digest &nonce);
/// Nothing where it is not authentic, except of WrongSecret.
std::optional<Answer> decodeAnswer(const std::string &text, const std::string &secret,
                                   const Digest &firstNonce, const Digest &nonce);

std::string encodeMembers(const std::vector<Member> &members);
std::vector<Member> decodeMembers(const std::string &text);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_COMM_JOIN_MESSAGES_H

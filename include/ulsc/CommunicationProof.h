//===- CommunicationProof.h - That ranks' communication comes to an end ------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// The programs of all stages, reduced to their communication, followed side by side: what one
/// sends another receives, in order and of the same type; collectives of several stages come in one
/// order on all of them; nobody waits for what waits for him; a slot holds one thing at a time.
/// Ranks of one stage run one program without branches, so that what they do among themselves
/// matches; one rank stands for all of its stage.
///
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_COMMUNICATIONPROOF_H
#define ULSC_COMMUNICATIONPROOF_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ulsc::proof {

/// What a rank takes part in.
struct Communication {
  enum class Kind : uint8_t { Send, Receive, Collective };
  Kind kind = Kind::Collective;
  /// "send", "all_reduce", with its reduction.
  std::string name;
  /// The mesh axes of the group.
  std::string axes;
  /// Whether the group has ranks of several stages.
  bool joinsStages = false;
  /// Of sends and receives: the other stage.
  int64_t peer = -1;
  /// What travels: "1024 x f32, 64 x f32".
  std::string operands;
  /// The source model's op, and, in a pipeline, whose value it is; -1 where it is of no chunk.
  std::string source;
  int64_t chunk = -1, microbatch = -1;
};

struct Event {
  /// The start of a communication in a slot, or the wait for what the slot holds.
  bool isStart = true;
  int64_t slot = 0;
  Communication what;
};

/// The communication of one rank of each stage, in program order. Empty if all is well, else what
/// is wrong, with both sides named. A send counts as complete when its receive has started, a
/// collective when all stages have come to their waits for it: a reduction's second half is made
/// there.
std::string checkCommunication(llvm::ArrayRef<std::vector<Event>> stages);

} // namespace ulsc::proof

#endif // ULSC_COMMUNICATIONPROOF_H

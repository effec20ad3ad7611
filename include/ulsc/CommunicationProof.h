//===- CommunicationProof.h - That ranks' communication comes to an end ------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
///
/// \file
/// The programs of all stages, reduced to their communication, followed side by side: what one
/// sends another receives, in order and of the same type; collectives that join stages come in one
/// order on all of them, and are waited for in one order; nobody waits for what waits for him; a
/// slot holds one thing at a time.
///
/// Assumed, and why it may be:
/// - Ranks of one stage run one program without branches (the collection of events refuses others),
///   so what they do among themselves comes in one order, and one rank stands for all of its stage.
///   This holds however the groups interleave: give each event of a stage the moment at which the
///   followed rank is done with it. On each rank of the real program the same event waits for
///   nothing but events of an earlier moment, of its own rank, of the same stage's or of a peer's,
///   and for others of its stage to come to the same event, which they do for the same reason. So
///   all ranks are done with all events, by induction over the moments. The order of all
///   collectives, those inside stages included, is one, too: between two that join stages lie only
///   those of ranks that agree on theirs.
/// - The messages of two stages match by their order, as do the collectives of a group; a rank that
///   waits for one lets all that it started go on.
/// - A transfer's peer is the stage, the position along the pipeline's axis; functions without a
///   body don't communicate.
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
  /// What travels: "2x16xf32, f32".
  std::string operands;
  /// The source model's op, and, in a pipeline, whose value it is; -1 where it is of no chunk.
  std::string source;
  int64_t chunk = -1, microbatch = -1;
  /// For messages, where there is no source: "line 7".
  std::string place;
};

struct Event {
  /// The start of a communication in a slot, or the wait for what the slot holds.
  bool isStart = true;
  int64_t slot = 0;
  Communication what;
};

/// "send to stage 1 of 2x16xf32 at model.layers.0, chunk 0, microbatch 3".
std::string describe(const Communication &what);

/// The communication of one rank of each stage, in program order. Empty if all is well, else what
/// is wrong, with both sides named. A send counts as complete when its receive has started. A
/// collective between stages holds up all that a rank starts after it until the other stages have
/// started it, as where what is launched runs in its order, and is complete when all have come to
/// their waits for it: a reduction's second half is made there.
std::string checkCommunication(llvm::ArrayRef<std::vector<Event>> stages);

} // namespace ulsc::proof

#endif // ULSC_COMMUNICATIONPROOF_H

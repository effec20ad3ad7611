//===- Simulate.cpp - A discrete-event run of a program ---------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Timeline/Timeline.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace ulsc;
using namespace ulsc::timeline;

namespace {
constexpr double kNever = -1;

/// A communication of a rank that has started.
struct Post {
  size_t rank = 0, communication = 0;
  double time = 0;
};

/// Messages from one rank to another, in the order of their starts.
struct Channel {
  std::vector<Post> sends, receives;
  size_t matched = 0;
  double free = 0;
};

struct RankState {
  size_t next = 0;
  double now = 0;
  /// By lane: when the last that was started there has travelled.
  std::vector<double> free;
  std::optional<Span> call;
  /// How many collectives of all stages it has started.
  size_t joined = 0;
  /// By action.
  std::vector<double> starts, ends;
};

class Simulator {
public:
  explicit Simulator(Program &&program) {
    timeline.program = std::move(program);
    for (const RankProgram &rank : ranks()) {
      RankState &state = states.emplace_back();
      state.free.assign(rank.lanes.size(), 0);
      state.starts.resize(rank.actions.size());
      state.ends.resize(rank.actions.size());
      RankTimeline &own = timeline.ranks.emplace_back();
      for (const Communication &communication : rank.communications)
        own.communications.push_back({communication.label, kNever, kNever});
    }
  }

  /// Each rank as far as it comes. Times don't depend on whose turn it is: they follow from starts.
  bool run() {
    bool progresses = true;
    while (progresses) {
      progresses = false;
      for (size_t rank = 0; rank < states.size(); ++rank)
        while (states[rank].next < ranks()[rank].actions.size() && advance(rank))
          progresses = true;
    }
    for (size_t rank = 0; rank < states.size(); ++rank)
      if (states[rank].next < ranks()[rank].actions.size())
        return false;
    return true;
  }

  /// After `run`: what each rank that is stuck waits for.
  std::string describeWaits() const {
    std::string text;
    for (size_t rank = 0; rank < states.size(); ++rank) {
      const RankProgram &program = timeline.program.ranks[rank];
      if (states[rank].next == program.actions.size())
        continue;
      const Label &label =
          program.communications[program.actions[states[rank].next].communication].label;
      text += (text.empty() ? "stage " : "; stage ") + std::to_string(rank) + " waits for its " +
              timeline.program.texts[label.name];
      if (label.cause)
        text += ", " + timeline.program.texts[label.cause];
      if (label.microbatch >= 0)
        text += ", microbatch " + std::to_string(label.microbatch);
    }
    return text;
  }

  Timeline finish();

private:
  const std::vector<RankProgram> &ranks() const { return timeline.program.ranks; }

  bool advance(size_t rank);
  void compute(size_t rank, const Action &action);
  void start(size_t rank, size_t communication);
  bool wait(size_t rank, size_t communication);
  void match(Channel &channel);
  void join(const std::vector<Post> &posts);
  void travel(const Post &post, double begin, double end) {
    Span &span = timeline.ranks[post.rank].communications[post.communication];
    span.start = begin;
    span.end = end;
  }

  Timeline timeline;
  std::vector<RankState> states;
  std::map<std::pair<int64_t, int64_t>, Channel> channels;
  /// Collectives of all stages, in their order.
  std::vector<std::vector<Post>> joints;
};
} // namespace

bool Simulator::advance(size_t rank) {
  RankState &state = states[rank];
  const Action &action = ranks()[rank].actions[state.next];
  double before = state.now;
  switch (action.type) {
  case Action::Type::Compute:
    compute(rank, action);
    break;
  case Action::Type::BeginCall:
    state.call = Span{action.label, state.now, state.now};
    break;
  case Action::Type::EndCall:
    state.call->end = state.now;
    timeline.ranks[rank].work.push_back(*state.call);
    state.call.reset();
    break;
  case Action::Type::Start:
    start(rank, action.communication);
    break;
  case Action::Type::Wait:
    if (!wait(rank, action.communication))
      return false;
    break;
  }
  state.starts[state.next] = before;
  state.ends[state.next] = state.now;
  ++state.next;
  return true;
}

void Simulator::compute(size_t rank, const Action &action) {
  RankState &state = states[rank];
  if (!state.call && action.us > 0)
    timeline.ranks[rank].work.push_back({action.label, state.now, state.now + action.us});
  state.now += action.us;
}

void Simulator::start(size_t rank, size_t index) {
  RankState &state = states[rank];
  const Communication &communication = ranks()[rank].communications[index];
  Post post{rank, index, state.now};
  if (communication.peer >= 0) {
    bool isSend = communication.label.kind == Kind::Send;
    Channel &channel =
        isSend ? channels[{rank, communication.peer}] : channels[{communication.peer, rank}];
    (isSend ? channel.sends : channel.receives).push_back(post);
    return match(channel);
  }
  if (communication.joinsStages) {
    if (state.joined == joints.size())
      joints.emplace_back();
    std::vector<Post> &posts = joints[state.joined++];
    posts.push_back(post);
    if (posts.size() == states.size())
      join(posts);
    return;
  }
  double begin = std::max(state.now, state.free[communication.lane]);
  state.free[communication.lane] = begin + communication.us;
  travel(post, begin, begin + communication.us);
}

/// A message travels once both sides have started it and the one before has travelled.
void Simulator::match(Channel &channel) {
  while (channel.matched < std::min(channel.sends.size(), channel.receives.size())) {
    const Post &send = channel.sends[channel.matched], &receive = channel.receives[channel.matched];
    ++channel.matched;
    double begin = std::max({send.time, receive.time, channel.free});
    channel.free = begin + ranks()[send.rank].communications[send.communication].us;
    travel(send, begin, channel.free);
    travel(receive, begin, channel.free);
    timeline.ranks[send.rank].receivedAs.push_back({send.communication, receive.communication});
  }
}

void Simulator::join(const std::vector<Post> &posts) {
  double begin = 0, us = 0;
  for (const Post &post : posts) {
    const Communication &communication = ranks()[post.rank].communications[post.communication];
    begin = std::max({begin, post.time, states[post.rank].free[communication.lane]});
    us = std::max(us, communication.us);
  }
  for (const Post &post : posts) {
    states[post.rank].free[ranks()[post.rank].communications[post.communication].lane] = begin + us;
    travel(post, begin, begin + us);
  }
}

bool Simulator::wait(size_t rank, size_t index) {
  RankState &state = states[rank];
  double end = timeline.ranks[rank].communications[index].end;
  if (end == kNever)
    return false;
  if (end > state.now)
    timeline.ranks[rank].waits.push_back({index, state.now, end, state.call.has_value()});
  state.now = std::max(state.now, end);
  return true;
}

//===---------------------------------------------------------------------------------------===//
// Results
//===---------------------------------------------------------------------------------------===//

static bool isCall(Kind kind) { return kind <= Kind::Recompute; }

static void sumTimes(const RankProgram &program, RankTimeline &rank) {
  double first = kNever, last = 0, busy = 0;
  for (const Span &span : rank.work) {
    rank.workUs += span.end - span.start;
    if (!isCall(span.label.kind))
      continue;
    first = first == kNever ? span.start : first;
    last = span.end;
  }
  for (const Span &span : rank.work)
    if (span.start >= first && span.end <= last)
      busy += span.end - span.start;
  if (first != kNever && last > first)
    rank.idleShare = std::max(0.0, (last - first - busy) / (last - first));
  rank.waitedUs.resize(rank.communications.size());
  for (const Wait &wait : rank.waits) {
    rank.waitedUs[wait.communication] += wait.end - wait.start;
    bool isTransfer = program.communications[wait.communication].peer >= 0;
    (wait.isInCall ? rank.callWaitUs
     : isTransfer  ? rank.transferWaitUs
                   : rank.collectiveWaitUs) += wait.end - wait.start;
  }
}

/// A chunk's activations of a microbatch are held until its last backward is done.
static int64_t countInFlight(const std::vector<Span> &work) {
  using Key = std::pair<int64_t, int64_t>;
  std::map<Key, size_t> lastBackward;
  for (size_t i = 0; i < work.size(); ++i)
    if (Kind kind = work[i].label.kind; isCall(kind) && kind != Kind::Forward)
      lastBackward[{work[i].label.chunk, work[i].label.microbatch}] = i;
  std::set<Key> held;
  size_t most = 0;
  for (size_t i = 0; i < work.size(); ++i) {
    Key key{work[i].label.chunk, work[i].label.microbatch};
    if (work[i].label.kind == Kind::Forward)
      held.insert(key);
    most = std::max(most, held.size());
    auto it = lastBackward.find(key);
    if (it != lastBackward.end() && it->second == i)
      held.erase(key);
  }
  return int64_t(most);
}

static int64_t sum(const Bytes &bytes) {
  int64_t total = 0;
  for (int64_t value : bytes)
    total += value;
  return total;
}

/// Bytes whenever they change. What is freed at a time is gone before what is taken then: a value
/// that takes another's place does not count twice.
static void addMemory(const RankProgram &program, const RankState &state, RankTimeline &rank) {
  struct Change {
    double time;
    Category category;
    int64_t bytes;
  };
  std::vector<Change> changes;
  for (const Allocation &allocation : program.allocations) {
    changes.push_back({state.starts[allocation.first], allocation.category, allocation.bytes});
    changes.push_back({state.ends[allocation.last], allocation.category, -allocation.bytes});
  }
  llvm::sort(changes, [](const Change &a, const Change &b) {
    return std::make_pair(a.time, a.bytes > 0) < std::make_pair(b.time, b.bytes > 0);
  });
  MemoryPoint point{0, program.persistent};
  rank.memory.push_back(point);
  for (size_t i = 0; i < changes.size(); ++i) {
    point.time = changes[i].time;
    point.bytes[size_t(changes[i].category)] += changes[i].bytes;
    if (i + 1 < changes.size() && changes[i + 1].time == point.time)
      continue;
    if (rank.memory.back().time == point.time)
      rank.memory.back() = point;
    else if (rank.memory.back().bytes != point.bytes)
      rank.memory.push_back(point);
  }
  for (const MemoryPoint &each : rank.memory)
    if (sum(each.bytes) > sum(rank.peak.bytes))
      rank.peak = each;
}

Timeline Simulator::finish() {
  for (size_t i = 0; i < states.size(); ++i) {
    RankTimeline &rank = timeline.ranks[i];
    sumTimes(ranks()[i], rank);
    rank.inFlight = countInFlight(rank.work);
    addMemory(ranks()[i], states[i], rank);
    timeline.makespan = std::max(timeline.makespan, states[i].now);
    timeline.idleShare = std::max(timeline.idleShare, rank.idleShare);
  }
  return std::move(timeline);
}

std::optional<Timeline> timeline::simulate(Program program, std::string &problem) {
  Simulator simulator(std::move(program));
  if (simulator.run())
    return simulator.finish();
  problem = simulator.describeWaits();
  return std::nullopt;
}

mlir::FailureOr<Timeline> timeline::makeTimeline(mlir::ModuleOp module,
                                                 const cost::Cluster &cluster) {
  mlir::FailureOr<Program> program = readProgram(module, cluster);
  if (mlir::failed(program))
    return mlir::failure();
  std::string problem;
  std::optional<Timeline> made = simulate(std::move(*program), problem);
  if (!made)
    return module.emitError() << "pipeline stages wait for each other for ever: " << problem
                              << "; take another schedule";
  return std::move(*made);
}

// Control flow of a warp. Of the lanes that may run, those at the lowest address run together until
// they reach others: code as compilers lay it out converges again where its branches join.
#include "simulator/ptx/warp.h"

#include "simulator/core/report.h"

#include <algorithm>

namespace ulsc::simulator::ptx {

namespace {

template <typename F>
void forMask(uint32_t mask, F f) {
  for (; mask; mask &= mask - 1)
    f(uint32_t(__builtin_ctz(mask)));
}

} // namespace

void Warp::setPcs(uint32_t mask, uint32_t value) {
  forMask(mask, [&](uint32_t lane) { pcs[lane] = value; });
}

bool Warp::chooseGroup() {
  if (!alive) {
    state = Finished;
    return false;
  }
  uint32_t runnable = alive & ~parked;
  if (!runnable) {
    // Lanes that others waited for may have exited meanwhile.
    if (wokenFor == alive)
      reportStuck();
    wokenFor = alive;
    parked = 0;
    runnable = alive;
  }
  pc = UINT32_MAX;
  mergeAt = UINT32_MAX;
  forMask(runnable, [&](uint32_t lane) { pc = std::min(pc, pcs[lane]); });
  group = 0;
  forMask(runnable, [&](uint32_t lane) {
    if (pcs[lane] == pc)
      group |= 1u << lane;
    else
      mergeAt = std::min(mergeAt, pcs[lane]);
  });
  return true;
}

void Warp::run() {
  state = Running;
  const Instruction *code = launch->kernel->code.data();
  uint64_t executed = 0;
  while (state == Running && chooseGroup()) {
    for (;;) {
      const Instruction &in = code[pc];
      exec = group;
      if (in.guard != noPlace)
        exec &= in.isGuardNegated ? ~predicateOf(in.guard) : predicateOf(in.guard);
      executed += uint32_t(__builtin_popcount(exec));
      if (in.control == Control::Straight) {
        if (exec)
          in.run(*this, in);
        ++pc;
      } else if (!control(in)) {
        break;
      }
      if (pc >= mergeAt) {
        setPcs(group, pc);
        break;
      }
    }
  }
  launch->laneInstructions += executed;
}

/// True: the group goes on at `pc`. False: `pcs` hold where its lanes are.
bool Warp::control(const Instruction &in) {
  switch (in.control) {
  case Control::Branch:
    return branch(exec, in.target);
  case Control::IndexedBranch:
    indexedBranch(in);
    return false;
  case Control::Call:
    forMask(exec, [&](uint32_t lane) { returns[lane].push_back(pc + 1); });
    return branch(exec, in.target);
  case Control::Return:
    setPcs(group & ~exec, pc + 1);
    forMask(exec, [&](uint32_t lane) {
      pcs[lane] = returns[lane].back();
      returns[lane].pop_back();
    });
    return false;
  case Control::Exit:
    alive &= ~exec;
    setPcs(group & ~exec, pc + 1);
    return false;
  case Control::Barrier:
    return arriveAtBarrier(in);
  default:
    return converge(in);
  }
}

bool Warp::branch(uint32_t taken, uint32_t target) {
  if (taken == group) {
    pc = target;
    return true;
  }
  if (taken == 0) {
    ++pc;
    return true;
  }
  setPcs(taken, target);
  setPcs(group & ~taken, pc + 1);
  return false;
}

void Warp::indexedBranch(const Instruction &in) {
  const auto &table = launch->kernel->branchTables[in.target];
  const auto *index = read<uint32_t>(in.source[0]);
  setPcs(group & ~exec, pc + 1);
  forMask(exec, [&](uint32_t lane) {
    if (index[lane] >= table.size())
      reportThread(*this, lane, "branch",
                   text("brx.idx with index ", index[lane], " into ", table.size(), " targets"), "",
                   "indices below the number of targets");
    pcs[lane] = table[index[lane]];
  });
}

/// Lanes whose guard is false don't take part in a synchronisation: they go on. True if that split
/// the group, which then comes back here.
bool Warp::splitByGuard() {
  if (exec == group)
    return false;
  setPcs(group & ~exec, pc + 1);
  setPcs(exec, pc);
  return true;
}

bool Warp::converge(const Instruction &in) {
  if (splitByGuard())
    return false;
  const auto *masks = read<uint32_t>(in.source[3]);
  uint32_t mask = masks[__builtin_ctz(group)], same = 0;
  forMask(group, [&](uint32_t lane) {
    if (!((masks[lane] >> lane) & 1))
      reportThread(*this, lane, "inactive-lane",
                   text("a thread is not in its own mask ", std::hex, masks[lane]), "",
                   "masks that name every thread that executes the instruction");
    if (masks[lane] == mask)
      same |= 1u << lane;
  });
  forMask(parked, [&](uint32_t lane) {
    if (pcs[lane] == pc && masks[lane] == mask)
      same |= 1u << lane;
  });
  setPcs(group | same, pc);
  if (mask & alive & ~same) {
    parked |= same;
    return false;
  }
  parked &= ~same;
  wokenFor = 0;
  exec = same;
  in.run(*this, in);
  setPcs(same, pc + 1);
  return false;
}

/// Barriers are simulated per warp: all its lanes come together, then the warp waits.
bool Warp::arriveAtBarrier(const Instruction &in) {
  if (splitByGuard())
    return false;
  setPcs(group, pc);
  uint32_t here = group;
  forMask(parked, [&](uint32_t lane) {
    if (pcs[lane] == pc)
      here |= 1u << lane;
  });
  if (here != alive) {
    parked |= here;
    return false;
  }
  parked = 0;
  wokenFor = 0;
  group = exec = here;
  if (in.isStrong && alive != lanes) {
    auto gone = uint32_t(__builtin_ctz(lanes & ~alive));
    reportDivergence(describeThread(*this, gone) + " has exited");
  }
  atBarrier = &in;
  state = AtBarrier;
  setPcs(here, pc + 1);
  return false;
}

void Warp::reportDivergence(const std::string &other) {
  const Instruction &in = instruction();
  auto lane = uint32_t(__builtin_ctz(exec));
  bool isBarrier = in.control == Control::Barrier;
  Finding finding{"divergence",
                  isBarrier
                      ? "threads of one warp come to a barrier without the others"
                      : "threads of one warp wait in an instruction for others that don't come",
                  {},
                  ""};
  finding.details = {{"operation", currentOperation()},
                     {"waits", text(describeThread(*this, lane), " at ",
                                    describeInstruction(*launch->kernel, pc))},
                     {"other", other}};
  finding.legal = isBarrier ? "barriers where all threads of the block take the same way"
                            : "masks that name the threads that come to the instruction";
  report(finding);
}

void Warp::reportStuck() {
  auto first = uint32_t(__builtin_ctz(parked));
  pc = pcs[first];
  exec = 1u << first;
  std::string other = "none: the mask names threads that have exited";
  forMask(parked, [&](uint32_t lane) {
    if (pcs[lane] != pcs[first])
      other = text(describeThread(*this, lane), " at ",
                   describeInstruction(*launch->kernel, pcs[lane]));
  });
  reportDivergence(other);
}

} // namespace ulsc::simulator::ptx

// The algorithms that the simulated heuristic proposes. They stand for what differs between real
// ones: the alignment of operands they rely on, and whether they need a workspace.
#ifndef ULSC_RUNTIME_SIMULATOR_CUBLASLT_ALGORITHMS_H
#define ULSC_RUNTIME_SIMULATOR_CUBLASLT_ALGORITHMS_H

#include "simulator/cublaslt/problem.h"

#include <array>
#include <vector>

namespace ulsc::simulator {

/// The pointers of a product. `workspace` may be null where none is needed.
struct Operands {
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void *d = nullptr;
  void *workspace = nullptr;
  size_t workspaceBytes = 0;
};

/// What an algorithm relies on.
struct Requirements {
  std::array<uint32_t, 4> alignment{}; ///< of A, B, C, D: pointers, runs and batches; bytes
  size_t workspaceBytes = 0;
};

/// The proposals for a problem, best first. Those with a workspace come before those without: real
/// libraries use what they are given, and two streams that share one are found.
std::vector<cublaslt::HeuristicResult> propose(const Problem &problem,
                                               const PreferenceState &preference);

/// What `algorithm` relies on for this problem; null stands for the best that fits the operands as
/// they are. Refuses an algorithm that was chosen for another kind of product.
Outcome requirementsOf(const cublaslt::Algorithm *algorithm, const Problem &problem,
                       const Operands &operands, Requirements &requirements);

/// Whether the operands are as the algorithm relies on.
Outcome checkOperands(const Problem &problem, const Requirements &requirements,
                      const Operands &operands);

} // namespace ulsc::simulator

#endif // ULSC_RUNTIME_SIMULATOR_CUBLASLT_ALGORITHMS_H

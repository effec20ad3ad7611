// The simulated heuristic.
#include "simulator/cublaslt/algorithms.h"

#include "simulator/core/report.h"

#include <algorithm>

namespace ulsc::simulator {

namespace {

using namespace cublaslt;

constexpr uint64_t magic = 0x756c73632d6c74; // "ulsc-lt"
constexpr uint32_t vectorBytes = 16;         // what a vectorised load takes
constexpr uint64_t mostWorkspace = 32 << 20;
constexpr uint32_t reductionInWorkspace = 2; // CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE

/// How an Algorithm's words are used.
struct Contents {
  uint64_t magic;
  uint64_t kind; ///< of product: types, transpositions, orders, epilogue
  uint32_t alignment[4];
  uint64_t workspaceLimit; ///< 0: works without
};
static_assert(sizeof(Contents) <= sizeof(Algorithm));

uint64_t kindOf(const Problem &p) {
  uint64_t kind = p.matmul.epilogue;
  for (uint64_t part : {uint64_t(p.matmul.compute), uint64_t(p.a.type), uint64_t(p.d.type)})
    kind = kind << 8 | part;
  for (bool part : {p.transposeA, p.transposeB, p.a.isRowMajor, p.b.isRowMajor, p.d.isRowMajor})
    kind = kind << 1 | part;
  return kind;
}

std::array<const Matrix *, 4> matrices(const Problem &p) { return {&p.a, &p.b, &p.c, &p.d}; }

/// Workspace for partial sums of the whole result, as far as the limit goes.
uint64_t workspaceFor(const Problem &p, uint64_t limit) {
  uint64_t wanted = static_cast<uint64_t>(p.batch * p.m * p.n) * 4;
  return std::min({(wanted + 255) / 256 * 256, limit / 256 * 256, mostWorkspace});
}

/// What the strides leave of an alignment of the pointer.
uint32_t alignmentOf(const Matrix &matrix, uint64_t pointerAlignment) {
  uint64_t alignment = std::min<uint64_t>(pointerAlignment, 256);
  auto limitBy = [&](int64_t elements) {
    uint64_t bytes = static_cast<uint64_t>(elements < 0 ? -elements : elements) *
                     static_cast<uint64_t>(matrix.elementBytes());
    while (bytes % alignment)
      alignment /= 2;
  };
  if (matrix.runs() > 1)
    limitBy(matrix.leadingDimension);
  if (matrix.batch > 1)
    limitBy(matrix.batchStride);
  return static_cast<uint32_t>(alignment);
}

/// The alignments that an algorithm relies on where pointers are aligned as given: vectors if all
/// operands allow them, else single elements.
std::array<uint32_t, 4> choose(const Problem &p, const std::array<uint64_t, 4> &pointers) {
  bool isVectorised = true;
  auto all = matrices(p);
  for (size_t i = 0; i < all.size(); ++i)
    isVectorised &= alignmentOf(*all[i], pointers[i]) >= vectorBytes;
  std::array<uint32_t, 4> alignment;
  for (size_t i = 0; i < all.size(); ++i)
    alignment[i] = isVectorised ? vectorBytes : static_cast<uint32_t>(all[i]->elementBytes());
  return alignment;
}

HeuristicResult proposal(const Problem &p, const std::array<uint32_t, 4> &alignment,
                         uint64_t workspaceLimit) {
  HeuristicResult result{};
  Contents contents{magic, kindOf(p), {}, workspaceLimit};
  std::copy(alignment.begin(), alignment.end(), contents.alignment);
  std::copy_n(reinterpret_cast<const char *>(&contents), sizeof(contents),
              reinterpret_cast<char *>(&result.algorithm));
  result.workspaceBytes = workspaceFor(p, workspaceLimit);
  result.state = StatusSuccess;
  result.waves = 1;
  return result;
}

uint64_t alignmentOfPointer(const void *pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  return address ? address & (~address + 1) : 256;
}

} // namespace

std::vector<HeuristicResult> propose(const Problem &p, const PreferenceState &preference) {
  std::array<uint64_t, 4> pointers;
  for (size_t i = 0; i < pointers.size(); ++i) {
    pointers[i] = std::max<uint32_t>(preference.alignment[i], 1);
    // An alignment that isn't a power of two promises its largest power of two.
    pointers[i] = pointers[i] & (~pointers[i] + 1);
    if (pointers[i] < static_cast<uint64_t>(matrices(p)[i]->elementBytes()))
      return {};
  }
  std::array<uint32_t, 4> alignment = choose(p, pointers);
  std::vector<HeuristicResult> results;
  if (preference.maxWorkspaceBytes >= 256 && preference.reductionMask & reductionInWorkspace)
    results.push_back(proposal(p, alignment, preference.maxWorkspaceBytes));
  results.push_back(proposal(p, alignment, 0));
  return results;
}

Outcome requirementsOf(const Algorithm *algorithm, const Problem &p, const Operands &operands,
                       Requirements &requirements) {
  if (!algorithm) {
    requirements.alignment =
        choose(p, {alignmentOfPointer(operands.a), alignmentOfPointer(operands.b),
                   alignmentOfPointer(operands.c), alignmentOfPointer(operands.d)});
    requirements.workspaceBytes = operands.workspace ? workspaceFor(p, operands.workspaceBytes) : 0;
    return {};
  }
  Contents contents;
  std::copy_n(reinterpret_cast<const char *>(algorithm), sizeof(contents),
              reinterpret_cast<char *>(&contents));
  if (contents.magic != magic)
    return invalid("the algorithm was not made by cublasLtMatmulAlgoGetHeuristic");
  if (contents.kind != kindOf(p))
    return invalid(text("the algorithm was chosen for other types, transpositions, orders or "
                        "another epilogue than ",
                        describe(p)));
  std::copy_n(contents.alignment, 4, requirements.alignment.begin());
  requirements.workspaceBytes = workspaceFor(p, contents.workspaceLimit);
  return {};
}

Outcome checkOperands(const Problem &p, const Requirements &requirements,
                      const Operands &operands) {
  const char *names[] = {"A", "B", "C", "D"};
  const void *pointers[] = {operands.a, operands.b, operands.c, operands.d};
  for (size_t i = 0; i < 4; ++i) {
    if (!pointers[i])
      return invalid(text(names[i], " is null"));
    uint32_t found = alignmentOf(*matrices(p)[i], alignmentOfPointer(pointers[i]));
    if (found < requirements.alignment[i])
      return invalid(text(names[i], " is aligned to ", found, " bytes (pointer ", pointers[i],
                          ", leading dimension, batch stride), the algorithm was chosen for ",
                          requirements.alignment[i]));
  }
  if (operands.c == operands.d && !(p.c == p.d))
    return invalid("C and D are one pointer with different layouts");
  if (operands.workspaceBytes < requirements.workspaceBytes)
    return invalid(text("the workspace has ", operands.workspaceBytes,
                        " bytes, the algorithm needs ", requirements.workspaceBytes));
  if (requirements.workspaceBytes && !operands.workspace)
    return invalid(
        text("the workspace is null, the algorithm needs ", requirements.workspaceBytes, " bytes"));
  if (reinterpret_cast<uintptr_t>(operands.workspace) % 256)
    return invalid("the workspace isn't aligned to 256 bytes");
  return {};
}

} // namespace ulsc::simulator

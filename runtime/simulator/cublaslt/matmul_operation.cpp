// What a product reads and writes, and its run.
#include "simulator/cublaslt/matmul_operation.h"

#include "simulator/core/report.h"
#include "simulator/cublaslt/matrix_ranges.h"
#include "simulator/cublaslt/product.h"

#include <cstring>

namespace ulsc::simulator {

namespace {

std::vector<Use> readsOf(const Problem &p, const Operands &operands, bool readsC) {
  std::vector<Use> uses{{"A", rangesOf(p.a, operands.a)}, {"B", rangesOf(p.b, operands.b)}};
  if (readsC)
    uses.push_back({"C", rangesOf(p.c, operands.c)});
  if (p.epilogue.addsBias)
    uses.push_back({"the bias", rangesOfVectors(p.matmul.bias, p.biasLength, p.batch,
                                                p.matmul.biasBatchStride, p.d.elementBytes())});
  if (p.epilogue.readsAux())
    uses.push_back({"the aux matrix", rangesOf(p.aux, p.matmul.aux)});
  return uses;
}

/// `overlap` gets the name of a result whose own elements overlap.
std::vector<Use> writesOf(const Problem &p, const Operands &operands,
                          const Requirements &requirements, const char *&overlap) {
  bool overlaps = false;
  std::vector<Use> uses{{"D", rangesOf(p.d, operands.d, &overlaps)}};
  if (overlaps)
    overlap = "D";
  if (p.epilogue.storesAux) {
    uses.push_back({"the aux matrix", rangesOf(p.aux, p.matmul.aux, &overlaps)});
    if (overlaps)
      overlap = "the aux matrix";
  }
  if (p.epilogue.writesBias())
    uses.push_back(
        {"the bias gradient", rangesOfVectors(p.matmul.bias, p.biasLength, p.batch,
                                              p.matmul.biasBatchStride, p.d.elementBytes())});
  if (requirements.workspaceBytes)
    uses.push_back({"the workspace",
                    {{operands.workspace, static_cast<int64_t>(requirements.workspaceBytes)}}});
  return uses;
}

[[noreturn]] void reportOverlap(const Problem &p, const Use &written, const Use &other) {
  Finding finding;
  finding.kind = "overlap";
  finding.summary = text("cublasLtMatmul writes ", written.name, " where it has ", other.name);
  finding.details = {{"product", describe(p)},
                     {written.name, text("from ", written.ranges.front().begin)},
                     {other.name, text("from ", other.ranges.front().begin)}};
  finding.legal = "results apart from everything else; D may be C itself with C's layout";
  report(finding);
}

void checkOverlaps(const Problem &p, const Operands &operands, const std::vector<Use> &reads,
                   const std::vector<Use> &writes) {
  auto isInPlace = [&](const Use &written, const Use &read) {
    return operands.c == operands.d && written.name == "D" && read.name == "C";
  };
  if (auto overlap = findOverlap(reads, writes, isInPlace))
    reportOverlap(p, overlap->first, overlap->second);
}

} // namespace

Outcome makeOperation(const Problem &p, const Operands &operands, const Requirements &requirements,
                      const void *alpha, const void *beta, Operation &operation) {
  bool isOnDevice = p.matmul.pointerMode == cublaslt::PointerModeDevice;
  float hostAlpha = 0, hostBeta = 0;
  if (!isOnDevice) {
    std::memcpy(&hostAlpha, alpha, 4);
    std::memcpy(&hostBeta, beta, 4);
  }
  const char *overlap = nullptr;
  std::vector<Use> reads = readsOf(p, operands, isOnDevice || hostBeta != 0);
  std::vector<Use> writes = writesOf(p, operands, requirements, overlap);
  if (overlap)
    return invalid(text("the elements of ", overlap, " overlap in a batch"));
  checkOverlaps(p, operands, reads, writes);
  operation.name = text("cublasLtMatmul (", describe(p), ")");
  operation.reads = joined(reads);
  operation.writes = joined(writes);
  if (isOnDevice) {
    operation.reads.push_back({alpha, 4});
    operation.reads.push_back({beta, 4});
  }
  operation.run = [=] {
    float alphaNow = hostAlpha, betaNow = hostBeta;
    if (isOnDevice) {
      std::memcpy(&alphaNow, alpha, 4);
      std::memcpy(&betaNow, beta, 4);
    }
    multiply(p, operands, alphaNow, betaNow);
    // What a workspace holds afterwards is nobody's business: whoever reads it gets NaNs.
    if (requirements.workspaceBytes)
      std::memset(operands.workspace, 0xff, requirements.workspaceBytes);
  };
  return {};
}

} // namespace ulsc::simulator

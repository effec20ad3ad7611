#include "cuda/attention.h"

#include "core/error.h"
#include "ulsc/AttentionWorkspace.h"

#include <limits>
#include <optional>

namespace ulsc::runtime {

using namespace cudnn;

namespace {

std::string nameOf(const ulsc_attention_desc &desc) {
  return desc.name && desc.name[0] ? desc.name : "attention";
}

int64_t id(AttentionTensor tensor) { return static_cast<int64_t>(tensor); }

/// From 9.12 on the forward stores lse by its strides.
constexpr size_t oldestVersion = versionCode(9, 12, 0);
/// Up to this one the gradient is wrong where the keys aren't a multiple of 128.
constexpr size_t lastNeedingWholeKeys = versionCode(9, 15, 0);
/// From this one on all kernels of the gradient read lse by its strides.
constexpr size_t firstReadingLseByStrides = versionCode(9, 26, 0);

} // namespace

struct CudaAttention::Plan {
  std::optional<CudnnPlan> lseCopy;
  std::optional<CudnnPlan> attention;
  // Where the parts of the workspace begin, from its first aligned byte on.
  int64_t qGradSums = 0, rowSums = 0, lseByHeads = 0, library = 0;
  float scale = 0, masked = -std::numeric_limits<float>::infinity(), one = 1;
};

CudaAttention::CudaAttention(Stream stream, int computeCapability)
    : stream(stream), computeCapability(computeCapability) {}

CudaAttention::~CudaAttention() {
  plans.clear();
  if (handle)
    library->cudnnDestroy(handle);
}

void CudaAttention::load(const ulsc_attention_desc &desc) {
  if (handle)
    return;
  library = std::make_unique<CudnnLibrary>(nameOf(desc));
  library->check(library->cudnnCreate(&handle),
                 concat("'", nameOf(desc), "' is left to cuDNN, but cudnnCreate").c_str());
  library->check(library->cudnnSetStream(handle, stream), "cudnnSetStream");
}

void CudaAttention::requireVersion(const ulsc_attention_desc &desc, bool isGradient) const {
  size_t version = library->cudnnGetVersion();
  if (version < oldestVersion)
    raise("'", nameOf(desc), "' is left to cuDNN, which is ", cudnnVersionText(version),
          " here, but the program needs 9.12 or later; install a newer nvidia-cudnn-cu13 or "
          "libcudnn9-cuda-13, or compile with --attention own");
  if (isGradient && version <= lastNeedingWholeKeys && desc.keys % 128 != 0)
    raise("'", nameOf(desc), "' has ", desc.keys, " keys, but cuDNN ", cudnnVersionText(version),
          " computes its gradient only for multiples of 128; install 9.15.1 or later of "
          "nvidia-cudnn-cu13 or libcudnn9-cuda-13, or compile with --attention own");
}

bool CudaAttention::readsLseByHeads() const {
  int generation = computeCapability / 10;
  return library->cudnnGetVersion() < firstReadingLseByStrides && generation != 9 &&
         generation != 10;
}

const CudaAttention::Plan &CudaAttention::planOf(const ulsc_attention_desc &desc, bool isGradient) {
  Key key{{desc.batch, desc.queries, desc.keys, desc.kv_heads, desc.group, desc.head_size},
          desc.dtype,
          desc.causal,
          desc.scale,
          desc.workspace_bytes,
          isGradient};
  std::unique_ptr<Plan> &kept = plans[key];
  if (kept)
    return *kept;
  requireVersion(desc, isGradient);
  auto plan = std::make_unique<Plan>();
  plan->scale = static_cast<float>(desc.scale);
  CudnnTarget target{handle};
  CudnnGraph graph(*library);
  if (isGradient) {
    int64_t rows = desc.batch * desc.queries * desc.kv_heads * desc.group;
    plan->rowSums = ulsc_attention_aligned(rows * desc.head_size * 4);
    plan->lseByHeads = plan->rowSums + ulsc_attention_aligned(rows * 4);
    plan->library = ulsc_attention_graph_bytes(desc.batch, desc.queries, desc.kv_heads, desc.group,
                                               desc.head_size);
    if (readsLseByHeads()) {
      CudnnGraph copy(*library);
      buildLseCopy(copy, desc);
      copy.finalize(handle);
      plan->lseCopy.emplace(*library, copy, target, CudnnWorkspace{}, nameOf(desc));
    }
    buildAttentionGrad(graph, desc, plan->lseCopy ? LseOrder::Heads : LseOrder::Queries);
  } else {
    buildAttention(graph, desc);
  }
  graph.finalize(handle);
  // Up to its begin's alignment a workspace may be lost.
  CudnnWorkspace workspace{desc.workspace_bytes,
                           plan->library + ulsc_attention_workspace_alignment};
  plan->attention.emplace(*library, graph, target, workspace, nameOf(desc));
  kept = std::move(plan);
  return *kept;
}

/// The copy of lse for kernels that take it head by head.
const void *CudaAttention::copyLse(const ulsc_attention_desc &desc, const Plan &plan,
                                   const void *lse, char *workspace) const {
  char *copy = workspace + plan.lseByHeads;
  int64_t bytes = desc.queries * desc.kv_heads * desc.group * 4;
  for (int64_t i = 0; i < desc.batch; ++i)
    plan.lseCopy->execute(handle,
                          {{id(AttentionTensor::Lse), static_cast<const char *>(lse) + i * bytes},
                           {id(AttentionTensor::RowSums), copy + i * bytes}},
                          nullptr);
  return copy;
}

void CudaAttention::run(const ulsc_attention_desc &desc, const Operands &operands,
                        void *workspace) {
  load(desc);
  const Plan &plan = planOf(desc, operands.outGrad);
  auto *begin =
      reinterpret_cast<char *>(ulsc_attention_aligned(reinterpret_cast<intptr_t>(workspace)));
  const void *lse = plan.lseCopy ? copyLse(desc, plan, operands.lse, begin) : operands.lse;
  std::vector<CudnnPlan::Binding> bindings{
      {id(AttentionTensor::Q), operands.q}, {id(AttentionTensor::K), operands.k},
      {id(AttentionTensor::V), operands.v}, {id(AttentionTensor::Out), operands.out},
      {id(AttentionTensor::Lse), lse},      {id(AttentionTensor::Scale), &plan.scale},
  };
  if (desc.causal)
    bindings.push_back({id(AttentionTensor::Masked), &plan.masked});
  if (operands.outGrad)
    bindings.insert(bindings.end(), {{id(AttentionTensor::OutGrad), operands.outGrad},
                                     {id(AttentionTensor::QGrad), operands.qGrad},
                                     {id(AttentionTensor::KGrad), operands.kGrad},
                                     {id(AttentionTensor::VGrad), operands.vGrad},
                                     {id(AttentionTensor::QGradSums), begin + plan.qGradSums},
                                     {id(AttentionTensor::RowSums), begin + plan.rowSums},
                                     {id(AttentionTensor::One), &plan.one}});
  plan.attention->execute(handle, bindings, begin + plan.library);
}

} // namespace ulsc::runtime

// ulsc_attention and ulsc_attention_grad on a CUDA device, by cuDNN.
#ifndef ULSC_RUNTIME_CUDA_ATTENTION_H
#define ULSC_RUNTIME_CUDA_ATTENTION_H

#include "cuda/attention_graph.h"
#include "cuda/cudnn_plan.h"

#include <array>
#include <map>
#include <memory>
#include <tuple>

namespace ulsc::runtime {

/// The library is loaded by the first call: programs that don't call it do without.
class CudaAttention {
public:
  /// `computeCapability` is the GPU's, 90 for 9.0.
  CudaAttention(cudnn::Stream stream, int computeCapability);
  ~CudaAttention();

  struct Operands {
    const void *q, *k, *v, *out, *lse;
    const void *outGrad = nullptr, *qGrad = nullptr, *kGrad = nullptr, *vGrad = nullptr;
  };
  /// Enqueues attention or, with an outGrad, the gradient. How the like is computed is kept.
  void run(const ulsc_attention_desc &desc, const Operands &operands, void *workspace);

private:
  struct Plan;
  /// What a plan depends on: layers alike share one, since the library takes a second to make it.
  using Key = std::tuple<std::array<int64_t, 6>, int32_t, int32_t, double, int64_t, bool>;
  void load(const ulsc_attention_desc &desc);
  void requireVersion(const ulsc_attention_desc &desc, bool isGradient) const;
  const Plan &planOf(const ulsc_attention_desc &desc, bool isGradient);
  const void *copyLse(const ulsc_attention_desc &desc, const Plan &plan, const void *lse,
                      char *workspace) const;
  /// Whether the gradient's kernels for this GPU take lse head by head, whatever its strides.
  bool readsLseByHeads() const;

  cudnn::Stream stream;
  int computeCapability;
  std::unique_ptr<CudnnLibrary> library;
  cudnn::Handle handle = nullptr;
  std::map<Key, std::unique_ptr<Plan>> plans;
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_ATTENTION_H

// Attention and its gradient in the operations that cuDNN's flash-attention kernels take.
#ifndef ULSC_RUNTIME_CUDA_ATTENTION_GRAPH_H
#define ULSC_RUNTIME_CUDA_ATTENTION_GRAPH_H

#include "cuda/cudnn_graph.h"
#include "ulsc/RuntimeABI.h"

namespace ulsc::runtime {

/// The identifiers of what the graphs find in memory and are given as values.
enum class AttentionTensor : int64_t {
  Q = 1,
  K,
  V,
  Out,
  Lse,
  OutGrad,
  QGrad,
  KGrad,
  VGrad,
  /// Of the gradient, in the workspace: the rows' sums of dout * out, and dq before it is rounded.
  RowSums,
  QGradSums,
  /// Values.
  Scale,
  Masked,
  One,
};

/// The order of lse in memory: the buffer's, or head by head.
enum class LseOrder { Queries, Heads };

void buildAttention(CudnnGraph &graph, const ulsc_attention_desc &desc);
void buildAttentionGrad(CudnnGraph &graph, const ulsc_attention_desc &desc, LseOrder order);
/// Of one batch entry, from the tensor Lse to the tensor RowSums: lse head by head.
void buildLseCopy(CudnnGraph &graph, const ulsc_attention_desc &desc);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_ATTENTION_GRAPH_H

// How much memory attention through cuDNN needs beside its operands: the compiler plans it, the
// runtime takes the library's first proposal that fits.
#ifndef ULSC_ATTENTIONWORKSPACE_H
#define ULSC_ATTENTIONWORKSPACE_H

#include <cstdint>

/// Bytes that each part of a workspace is aligned to.
constexpr int64_t ulsc_attention_workspace_alignment = 256;

/// The next multiple of the alignment.
constexpr int64_t ulsc_attention_aligned(int64_t bytes) {
  return (bytes + ulsc_attention_workspace_alignment - 1) / ulsc_attention_workspace_alignment *
         ulsc_attention_workspace_alignment;
}

/// What the graph of a gradient keeps in the workspace itself: dq in f32 before it is rounded, the
/// rows' sums of dout * out and, for some GPUs, a copy of lse.
constexpr int64_t ulsc_attention_graph_bytes(int64_t batch, int64_t queries, int64_t kvHeads,
                                             int64_t group, int64_t headSize) {
  int64_t rows = batch * queries * kvHeads * group;
  return ulsc_attention_aligned(rows * headSize * 4) + 2 * ulsc_attention_aligned(rows * 4);
}

/// An upper bound, in bytes, of the workspace of one `ulsc_attention` or, with `isGradient`, one
/// `ulsc_attention_grad`, whatever the GPU. Measured in cuDNN 9.19, the library itself takes at
/// most 256 bytes for attention; for the gradient nothing (sm_90, sm_100) or dq in f32 once more
/// (sm_80) and, with grouped queries, dk and dv of every query head in 16 bits. Counted in whole
/// tiles of rows, and with slack for other versions.
inline int64_t ulsc_attention_workspace_bytes(int64_t batch, int64_t queries, int64_t keys,
                                              int64_t kvHeads, int64_t group, int64_t headSize,
                                              bool isGradient) {
  constexpr int64_t slack = int64_t(1) << 20, tile = 128;
  int64_t bytes = ulsc_attention_workspace_alignment + slack;
  if (!isGradient)
    return bytes;
  int64_t width = batch * kvHeads * group * headSize;
  bytes += ulsc_attention_graph_bytes(batch, queries, kvHeads, group, headSize);
  bytes += width * ((queries + tile - 1) / tile * tile) * 4;
  if (group > 1)
    bytes += 2 * width * ((keys + tile - 1) / tile * tile) * 2;
  return bytes;
}

#endif // ULSC_ATTENTIONWORKSPACE_H

// How much memory attention through cuDNN needs beside its operands: the compiler plans it, the
// runtime chooses among the library's ways the first that fits.
#ifndef ULSC_ATTENTIONWORKSPACE_H
#define ULSC_ATTENTIONWORKSPACE_H

#include <cstdint>

/// An upper bound, in bytes, of the workspace of one `ulsc_attention` or, with `isGradient`, one
/// `ulsc_attention_grad` on operands of 2 bytes. The gradient takes f32 sums of dq's blocks and of
/// the rows of dout * out; with grouped queries dk and dv of every query head, too.
inline int64_t ulsc_attention_workspace_bytes(int64_t batch, int64_t queries, int64_t keys,
                                              int64_t kvHeads, int64_t group, int64_t headSize,
                                              bool isGradient) {
  constexpr int64_t slack = int64_t(1) << 20; // alignment, and what the library takes for itself
  if (!isGradient)
    return slack;
  int64_t rows = batch * queries * kvHeads * group;
  int64_t sums = rows * 4, accumulators = rows * headSize * 4;
  int64_t heads = group > 1 ? 2 * batch * keys * kvHeads * group * headSize * 2 : 0;
  return sums + accumulators + heads + slack;
}

#endif // ULSC_ATTENTIONWORKSPACE_H

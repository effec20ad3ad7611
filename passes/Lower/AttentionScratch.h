//===- AttentionScratch.h - Memory that attention needs beside its operands -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_PASSES_LOWER_ATTENTIONSCRATCH_H
#define ULSC_PASSES_LOWER_ATTENTIONSCRATCH_H

#include "dialects/Exec/ExecOps.h"

namespace ulsc {

/// Bytes of scratch that the attention needs for up to `threads` threads.
int64_t attentionScratchBytes(exec::AttentionOp op, int64_t threads);
int64_t attentionScratchBytes(exec::AttentionGradOp op, int64_t threads);

} // namespace ulsc

#endif // ULSC_PASSES_LOWER_ATTENTIONSCRATCH_H

//===- Rope.h - Frequencies of rotary position embeddings -------------------------- -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_FRONTEND_ROPE_H
#define ULSC_LIB_FRONTEND_ROPE_H

#include "lib/Frontend/ConfigReader.h"

namespace ulsc::frontend {

/// The frequencies (radians a position) of a head of `headSize` elements, as Hugging Face computes
/// them for `rope_theta`, `rope_scaling` (types `default`, `linear`, `llama3`) or
/// `rope_parameters`.
llvm::SmallVector<double> readRopeFrequencies(const ConfigReader &config, int64_t headSize);

} // namespace ulsc::frontend

#endif // ULSC_LIB_FRONTEND_ROPE_H

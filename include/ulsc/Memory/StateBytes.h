//===- StateBytes.h - Bytes of model state, by formula -----------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// What a rank holds between steps, from the number of parameters alone: stored parameters,
// gradients, master values and moments. All sizes are bytes of one rank unless they say otherwise.
//
// Source: S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
// Models" (SC 2020, arXiv:1910.02054), sections 3.1 and 5: with Ψ parameters, K bytes of optimizer
// state a parameter and N data ranks, a rank holds (2 + 2 + K)Ψ, (2 + 2)Ψ + KΨ/N,
// 2Ψ + (2 + K)Ψ/N and (2 + 2 + K)Ψ/N. Here the twos are those of the dtypes.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_MEMORY_STATEBYTES_H
#define ULSC_MEMORY_STATEBYTES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace ulsc::memory {

enum class Dtype { F32, BF16, F16 };

int64_t getDtypeBytes(Dtype dtype);
llvm::StringRef getDtypeName(Dtype dtype);
/// The dtype called `name`: f32, bf16 or f16.
std::optional<Dtype> findDtype(llvm::StringRef name);

/// In what the state of a parameter is kept.
struct StateDtypes {
  Dtype stored = Dtype::F32, gradient = Dtype::F32, moment = Dtype::F32;
  /// Without a value the optimizer updates the stored one.
  std::optional<Dtype> master = Dtype::F32;
  /// Moments of the optimizer: 2 for adamw, 1 for sgd.
  int64_t moments = 2;

  /// Whether the master is a tensor of its own: of the stored dtype it is the stored value.
  bool hasMaster() const { return master && *master != stored; }
};

/// Bytes of one rank's state; of one parameter's in `getBytesPerParameter`.
struct StateBytes {
  int64_t parameters = 0, gradients = 0, master = 0, moments = 0;

  int64_t getTotal() const { return parameters + gradients + master + moments; }
  StateBytes &operator+=(const StateBytes &other);
};

StateBytes getBytesPerParameter(const StateDtypes &dtypes);

/// What is divided over ranks rather than held whole by each; each stage adds to the one before.
enum class ZeroStage { None, Optimizer, Gradients, Parameters };

/// A strategy of data parallelism by name.
struct StateStrategy {
  llvm::StringRef name;
  ZeroStage stage;
  /// Whether ranks along `dp_replicate` are copies, so that only `dp_shard` divides.
  bool isHybrid = false;
};

/// `ddp`, `zero1`, `zero2`, `zero3`, `hsdp`.
llvm::ArrayRef<StateStrategy> getStateStrategies();
/// Also by its other name: `none` is `ddp`, `fsdp` is `zero3`. Null where there is none.
const StateStrategy *findStateStrategy(llvm::StringRef name);

/// The bytes of a tensor of the model with `whole` elements where it is not divided and `part`
/// elements where it is. A frozen one has neither gradient nor optimizer state.
StateBytes weigh(int64_t whole, int64_t part, bool isTrained, const StateDtypes &dtypes,
                 ZeroStage stage);

/// A tensor of the model as a rank would hold it undivided.
struct StateTensor {
  int64_t elements = 0;
  bool isTrained = true;
};

/// The most elements that all tensors together may have: their bytes stay far from 2^63.
constexpr int64_t kMostParameters = 1'000'000'000'000'000;

/// The state of a rank when `shards` ranks divide what `stage` says. Each tensor is divided by
/// itself into equal parts, the last one padded, as flat shardings are: a part of n elements over s
/// ranks has ⌈n/s⌉.
StateBytes computeStateBytes(llvm::ArrayRef<StateTensor> tensors, const StateDtypes &dtypes,
                             ZeroStage stage, int64_t shards);

/// The fewest shards, up to `most`, with which the state is at most `limit` bytes; nothing if none
/// is enough.
std::optional<int64_t> findFewestShards(llvm::ArrayRef<StateTensor> tensors,
                                        const StateDtypes &dtypes, ZeroStage stage, int64_t limit,
                                        int64_t most);

/// The attention of layers that are alike.
struct CacheLayers {
  int64_t layers = 0, heads = 0, headSize = 0; ///< heads of keys and values
};

/// Bytes of keys and values of one token: 2 × layers × heads × head size × bytes of the dtype.
/// Where `ranks` divide the heads of a layer, a rank holds its share of them, else all:
/// `isReplicated` says so then.
int64_t computeCacheBytesPerToken(llvm::ArrayRef<CacheLayers> layers, Dtype dtype, int64_t ranks,
                                  bool &isReplicated);

} // namespace ulsc::memory

#endif // ULSC_MEMORY_STATEBYTES_H

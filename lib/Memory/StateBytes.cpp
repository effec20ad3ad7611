//===- StateBytes.cpp - Bytes of model state, by formula --------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Memory/StateBytes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace ulsc;
using namespace ulsc::memory;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {
struct DtypeFacts {
  Dtype dtype;
  StringRef name;
  int64_t bytes;
};
} // namespace

static constexpr DtypeFacts kDtypes[] = {
    {Dtype::F32, "f32", 4}, {Dtype::BF16, "bf16", 2}, {Dtype::F16, "f16", 2}};

int64_t memory::getDtypeBytes(Dtype dtype) { return kDtypes[unsigned(dtype)].bytes; }
StringRef memory::getDtypeName(Dtype dtype) { return kDtypes[unsigned(dtype)].name; }

std::optional<Dtype> memory::findDtype(StringRef name) {
  for (const DtypeFacts &facts : kDtypes)
    if (facts.name == name)
      return facts.dtype;
  return std::nullopt;
}

StateBytes &StateBytes::operator+=(const StateBytes &other) {
  parameters += other.parameters;
  gradients += other.gradients;
  master += other.master;
  moments += other.moments;
  return *this;
}

StateBytes memory::getBytesPerParameter(const StateDtypes &dtypes) {
  return weigh(1, 1, /*isTrained=*/true, dtypes, ZeroStage::None);
}

ArrayRef<StateStrategy> memory::getStateStrategies() {
  static constexpr StateStrategy strategies[] = {{"ddp", ZeroStage::None},
                                                 {"zero1", ZeroStage::Optimizer},
                                                 {"zero2", ZeroStage::Gradients},
                                                 {"zero3", ZeroStage::Parameters},
                                                 {"hsdp", ZeroStage::Parameters, true}};
  return strategies;
}

const StateStrategy *memory::findStateStrategy(StringRef name) {
  StringRef main = name == "none" ? "ddp" : name == "fsdp" ? "zero3" : name;
  const auto *found = llvm::find_if(
      getStateStrategies(), [&](const StateStrategy &strategy) { return strategy.name == main; });
  return found == getStateStrategies().end() ? nullptr : found;
}

StateBytes memory::weigh(int64_t whole, int64_t part, bool isTrained, const StateDtypes &dtypes,
                         ZeroStage stage) {
  StateBytes bytes;
  bytes.parameters = (stage >= ZeroStage::Parameters ? part : whole) * getDtypeBytes(dtypes.stored);
  if (!isTrained)
    return bytes;
  bytes.gradients = (stage >= ZeroStage::Gradients ? part : whole) * getDtypeBytes(dtypes.gradient);
  int64_t updated = stage >= ZeroStage::Optimizer ? part : whole;
  if (dtypes.hasMaster())
    bytes.master = updated * getDtypeBytes(*dtypes.master);
  bytes.moments = updated * dtypes.moments * getDtypeBytes(dtypes.moment);
  return bytes;
}

StateBytes memory::computeStateBytes(ArrayRef<StateTensor> tensors, const StateDtypes &dtypes,
                                     ZeroStage stage, int64_t shards) {
  assert(shards >= 1);
  StateBytes sum;
  for (const StateTensor &tensor : tensors)
    sum += weigh(tensor.elements, llvm::divideCeilSigned(tensor.elements, shards), tensor.isTrained,
                 dtypes, stage);
  return sum;
}

std::optional<int64_t> memory::findFewestShards(ArrayRef<StateTensor> tensors,
                                                const StateDtypes &dtypes, ZeroStage stage,
                                                int64_t limit, int64_t most) {
  auto fits = [&](int64_t shards) {
    return computeStateBytes(tensors, dtypes, stage, shards).getTotal() <= limit;
  };
  if (!fits(most))
    return std::nullopt;
  // More shards never make a part larger, so the answer is where `fits` begins to hold.
  int64_t below = 0, above = most;
  while (above - below > 1) {
    int64_t middle = below + (above - below) / 2;
    (fits(middle) ? above : below) = middle;
  }
  return above;
}

int64_t memory::computeCacheBytesPerToken(ArrayRef<CacheLayers> layers, Dtype dtype, int64_t ranks,
                                          bool &isReplicated) {
  int64_t bytes = 0;
  isReplicated = false;
  for (const CacheLayers &alike : layers) {
    bool divides = alike.heads % ranks == 0;
    isReplicated |= !divides;
    int64_t heads = divides ? alike.heads / ranks : alike.heads;
    bytes += 2 * alike.layers * heads * alike.headSize * getDtypeBytes(dtype);
  }
  return bytes;
}

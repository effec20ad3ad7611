#include "core/initial_values.h"

#include "core/error.h"
#include "core/numeric.h"
#include "core/slice.h"
#include "device/thread_pool.h"

#include <cmath>
#include <cstring>

namespace ulsc::runtime {

double normalFromWords(const uint32_t words[4]) {
  double u1 = (static_cast<double>(words[0]) + 1.0) * 0x1p-32;
  double u2 = static_cast<double>(words[1]) * 0x1p-32;
  return std::sqrt(-2.0 * std::log(u1)) * std::cos(2.0 * 3.14159265358979323846 * u2);
}

namespace {

constexpr int64_t piece = 4096;

// One value of the parameter, in f32, by its external flat index.
struct Draw {
  ulsc_random_stream stream;
  double std;
  float constant;
  bool isNormal;

  float operator()(int64_t index) const {
    if (!isNormal)
      return constant;
    uint32_t words[4];
    ulsc_random_words(stream, static_cast<uint64_t>(index), words);
    return static_cast<float>(normalFromWords(words) * std);
  }
};

Draw drawOf(const StateTensor &tensor, uint64_t seed) {
  Draw draw{};
  draw.isNormal = tensor.initKind == "normal";
  draw.std = tensor.initStd;
  if (tensor.initKind == "ones")
    draw.constant = 1.0f;
  else if (!draw.isNormal && tensor.initKind != "zeros")
    raise("the manifest's parameter '", tensor.parameter, "' has init kind '", tensor.initKind,
          "'; this runtime knows normal, zeros and ones");
  draw.stream = ulsc_random_stream_of(seed, ulsc_random_hash_name(tensor.parameter.c_str()), 0, 0);
  return draw;
}

// `masterDtype` rounds first, so that stored values are those the optimizer's copy would give.
void fillRun(const Draw &draw, int64_t index, char *target, int32_t dtype, int32_t masterDtype,
             int64_t count) {
  float values[piece];
  uint16_t rounded[piece];
  for (int64_t begin = 0; begin < count; begin += piece) {
    int64_t size = std::min(piece, count - begin);
    for (int64_t i = 0; i < size; ++i)
      values[i] = draw(index + begin + i);
    if (masterDtype != ULSC_F32 && masterDtype != dtype) {
      fromFloat(values, rounded, masterDtype, size);
      toFloat(rounded, masterDtype, values, size);
    }
    fromFloat(values, target + begin * dtypeSize(dtype), dtype, size);
  }
}

void fillTensor(const StateTensor &tensor, int32_t masterDtype, const Draw &draw, const Part &part,
                char *block, int threads) {
  int64_t size = dtypeSize(tensor.dtype);
  // Few long runs are cut among the threads, many short ones are dealt out whole.
  struct Run {
    int64_t index, local, count;
  };
  std::vector<Run> runs;
  forEachRun(part, [&](int64_t index, int64_t local, int64_t count) {
    for (int64_t begin = 0; begin < count; begin += 16 * piece)
      runs.push_back({index + begin, local + begin, std::min(16 * piece, count - begin)});
  });
  parallelFor(threads, static_cast<int64_t>(runs.size()), 1,
              [&](int64_t begin, int64_t end, int64_t) {
                for (int64_t i = begin; i < end; ++i)
                  fillRun(draw, runs[i].index, block + runs[i].local * size, tensor.dtype,
                          masterDtype, runs[i].count);
              });
}

} // namespace

void drawInitialValues(const Manifest &manifest, const Shape &coordinates, uint64_t seed,
                       ArenaView &arena, int threads) {
  const Stage &stage = manifest.stageOf(coordinates);
  for (const StateTensor &tensor : stage.tensors) {
    if (tensor.role != "parameter" && tensor.role != "master")
      continue;
    const StateTensor *parameter = stage.find(tensor.parameter, "parameter");
    const StateTensor *master = stage.find(tensor.parameter, "master");
    const StateTensor &source = parameter ? *parameter : tensor;
    Draw draw = drawOf(source, seed);
    if (!draw.isNormal && draw.constant == 0)
      continue;
    int64_t bytes = localElements(tensor, manifest.mesh) * dtypeSize(tensor.dtype);
    fillTensor(tensor, master ? master->dtype : tensor.dtype, draw,
               partOf(tensor, manifest.mesh, coordinates), arena.edit(tensor.offset, bytes),
               threads);
  }
  arena.flush();
}

} // namespace ulsc::runtime

//===- gemm_shim.cpp - What a program's GEMMs cost, in its step and alone ----------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// Preloaded into a compiled program. Counts and times every call of oneDNN: matrix products of the
// whole rank (matmul primitives) and those that attention makes on each of its threads (sgemm).
// Before the exit it repeats each distinct product alone, on memory of its own, and writes both
// times as JSON to $ULSC_GEMM_OUT. The program knows nothing of it.

#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace {

using Shape = std::vector<int64_t>;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Calls {
  int64_t count = 0;
  double seconds = 0;
  double flops = 0; // of one call
  const_dnnl_primitive_desc_t primitive = nullptr;
};

std::mutex mutex;
// Matmuls by the descriptors of their operands, sgemm by its arguments.
std::map<Shape, Calls> matmuls, tiles;
bool isReplaying = false;

template <typename Function>
Function *next(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

const dnnl_memory_desc_t *operand(const_dnnl_primitive_desc_t desc, dnnl_query_t which) {
  return dnnl_primitive_desc_query_md(desc, which, 0);
}

void append(Shape &key, const dnnl_memory_desc_t *memory) {
  key.push_back(memory->data_type);
  for (int i = 0; i < memory->ndims; ++i) {
    key.push_back(memory->dims[i]);
    key.push_back(memory->format_desc.blocking.strides[i]);
  }
}

void countMatmul(const_dnnl_primitive_t primitive, double seconds) {
  const_dnnl_primitive_desc_t desc;
  dnnl_primitive_kind_t kind;
  if (dnnl_primitive_get_primitive_desc(primitive, &desc) != dnnl_success ||
      dnnl_primitive_desc_query(desc, dnnl_query_primitive_kind, 0, &kind) != dnnl_success ||
      kind != dnnl_matmul)
    return;
  const dnnl_memory_desc_t *a = operand(desc, dnnl_query_src_md);
  const dnnl_memory_desc_t *b = operand(desc, dnnl_query_weights_md);
  const dnnl_memory_desc_t *c = operand(desc, dnnl_query_dst_md);
  Shape key;
  for (auto *memory : {a, b, c})
    append(key, memory);
  double flops = 2.0 * static_cast<double>(a->dims[a->ndims - 1]);
  for (int i = 0; i < c->ndims; ++i)
    flops *= static_cast<double>(c->dims[i]);
  std::lock_guard<std::mutex> lock(mutex);
  Calls &calls = matmuls[key];
  ++calls.count;
  calls.seconds += seconds;
  calls.flops = flops;
  if (!calls.primitive) {
    dnnl_primitive_desc_t copy;
    dnnl_primitive_desc_clone(&copy, desc);
    calls.primitive = copy;
  }
}

// Seconds of one call, the median of several after one that warms up.
template <typename Work>
double timeAlone(Work work, double expected) {
  work();
  int repeats = expected > 0.2 ? 3 : expected > 0.01 ? 7 : 31;
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    double begin = now();
    work();
    times.push_back(now() - begin);
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[repeats / 2];
}

// All pages exist and hold ordinary numbers: zeros and denormals have speeds of their own.
std::vector<float> numbers(size_t bytes) { return std::vector<float>(bytes / 4 + 16, 0.5f); }

double replayMatmul(const Calls &calls) {
  dnnl_engine_t own; // memory and streams have to be of the program's engine
  dnnl_primitive_desc_query(calls.primitive, dnnl_query_engine, 0, &own);
  dnnl::engine engine(own, /*weak=*/true);
  dnnl::stream stream(engine);
  dnnl_primitive_t created;
  if (dnnl_primitive_create(&created, calls.primitive) != dnnl_success)
    return 0;
  dnnl::primitive primitive(created);
  std::unordered_map<int, dnnl::memory> arguments;
  std::vector<std::vector<float>> buffers;
  for (auto [query, argument] : {std::pair(dnnl_query_src_md, DNNL_ARG_SRC),
                                 {dnnl_query_weights_md, DNNL_ARG_WEIGHTS},
                                 {dnnl_query_dst_md, DNNL_ARG_DST},
                                 {dnnl_query_scratchpad_md, DNNL_ARG_SCRATCHPAD}}) {
    const dnnl_memory_desc_t *desc = operand(calls.primitive, query);
    if (!desc || dnnl_memory_desc_get_size(desc) == 0)
      continue;
    buffers.push_back(numbers(dnnl_memory_desc_get_size(desc)));
    arguments[argument] = dnnl::memory(dnnl::memory::desc(*desc), engine, buffers.back().data());
  }
  return timeAlone(
      [&] {
        primitive.execute(stream, arguments);
        stream.wait();
      },
      calls.seconds / static_cast<double>(calls.count));
}

double replayTile(const Shape &s, const Calls &calls) {
  auto sgemm = next<decltype(dnnl_sgemm)>("dnnl_sgemm");
  std::vector<float> a = numbers(4 * s[5] * std::max(s[2], s[4])),
                     b = numbers(4 * s[6] * std::max(s[3], s[4])), c = numbers(4 * s[7] * s[2]);
  return timeAlone(
      [&] {
        sgemm(static_cast<char>(s[0]), static_cast<char>(s[1]), s[2], s[3], s[4], 1.0f, a.data(),
              s[5], b.data(), s[6], 0.0f, c.data(), s[7]);
      },
      calls.seconds / static_cast<double>(calls.count));
}

nlohmann::ordered_json describe(const Shape &shape, const Calls &calls, double alone) {
  return {{"shape", shape},
          {"calls", calls.count},
          {"gflop", calls.flops / 1e9},
          {"ms_in_step", calls.seconds / static_cast<double>(calls.count) * 1e3},
          {"ms_alone", alone * 1e3}};
}

extern "C" void omp_set_num_threads(int);
extern "C" int omp_get_max_threads();

// Everything but the program's end.
void report(const char *path) {
  isReplaying = true;
  nlohmann::ordered_json document = {{"threads", omp_get_max_threads()},
                                     {"matmul", nlohmann::json::array()},
                                     {"tile", nlohmann::json::array()}};
  for (auto &[shape, calls] : matmuls)
    document["matmul"].push_back(describe(shape, calls, replayMatmul(calls)));
  omp_set_num_threads(1);
  for (auto &[shape, calls] : tiles)
    document["tile"].push_back(describe(shape, calls, replayTile(shape, calls)));
  if (std::FILE *file = std::fopen(path, "w")) {
    std::string text = document.dump(1);
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
}

} // namespace

// The last call of a program before its exit, where its threads still work.
extern "C" int MPI_Finalize() {
  if (const char *path = std::getenv("ULSC_GEMM_OUT"))
    report(path);
  return next<int()>("MPI_Finalize")();
}

extern "C" dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive,
                                                dnnl_stream_t stream, int count,
                                                const dnnl_exec_arg_t *arguments) {
  static auto original = next<decltype(dnnl_primitive_execute)>("dnnl_primitive_execute");
  double begin = now();
  dnnl_status_t status = original(primitive, stream, count, arguments);
  if (!isReplaying)
    countMatmul(primitive, now() - begin);
  return status;
}

extern "C" dnnl_status_t dnnl_sgemm(char transposeA, char transposeB, dnnl_dim_t m, dnnl_dim_t n,
                                    dnnl_dim_t k, float alpha, const float *a, dnnl_dim_t lda,
                                    const float *b, dnnl_dim_t ldb, float beta, float *c,
                                    dnnl_dim_t ldc) {
  static auto original = next<decltype(dnnl_sgemm)>("dnnl_sgemm");
  double begin = now();
  dnnl_status_t status =
      original(transposeA, transposeB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  double seconds = now() - begin;
  std::lock_guard<std::mutex> lock(mutex);
  Calls &calls = tiles[{transposeA, transposeB, m, n, k, lda, ldb, ldc}];
  ++calls.count;
  calls.seconds += seconds;
  calls.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return status;
}

// Primitive descriptors point to their engine, which the program destroys before its exit.
extern "C" dnnl_status_t dnnl_engine_destroy(dnnl_engine_t) { return dnnl_success; }

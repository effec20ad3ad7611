#include "device/cpu_gemm.h"

#include "core/error.h"
#include "core/numeric.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <array>
#include <map>
#include <optional>
#include <utility>

namespace ulsc::runtime {

namespace {

// Everything of a desc that shapes a primitive.
using Key = std::array<int64_t, 18>;

Key keyOf(const ulsc_gemm_desc &d) {
  return {d.batch, d.m,       d.n,       d.k,       d.a_batch,    d.a_m,
          d.a_k,   d.b_batch, d.b_k,     d.b_n,     d.c_batch,    d.c_m,
          d.c_n,   d.a_dtype, d.b_dtype, d.c_dtype, d.accumulate, d.workspace_bytes};
}

// c^T = b^T * a^T: turns a column-major c into a row-major one.
ulsc_gemm_desc transposed(const ulsc_gemm_desc &d) {
  ulsc_gemm_desc t = d;
  t.m = d.n;
  t.n = d.m;
  t.a_batch = d.b_batch;
  t.a_m = d.b_n;
  t.a_k = d.b_k;
  t.a_dtype = d.b_dtype;
  t.b_batch = d.a_batch;
  t.b_k = d.a_k;
  t.b_n = d.a_m;
  t.b_dtype = d.a_dtype;
  t.c_m = d.c_n;
  t.c_n = d.c_m;
  return t;
}

dnnl::memory::data_type dnnlType(int32_t dtype) {
  return dtype == ULSC_BF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

// oneDNN has fast code for matrices with a unit stride and rows (or columns) that don't overlap.
bool isPlain(int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride) {
  return (columnStride == 1 && (rows == 1 || rowStride >= columns)) ||
         (rowStride == 1 && (columns == 1 || columnStride >= rows));
}

dnnl::memory::desc describe(int64_t batch, int64_t rows, int64_t columns, int64_t batchStride,
                            int64_t rowStride, int64_t columnStride, int32_t dtype) {
  // The stride of a dimension of size 1 has no meaning, but oneDNN compares it.
  if (rows == 1)
    rowStride = columns * columnStride;
  if (columns == 1)
    columnStride = rowStride == 1 ? rows : 1;
  if (batch == 1)
    return {{rows, columns}, dnnlType(dtype), {rowStride, columnStride}};
  // Stride 0 shares one matrix by oneDNN's broadcast of a batch of one.
  int64_t batches = batchStride == 0 ? 1 : batch;
  if (batchStride == 0)
    batchStride = rows * rowStride + columns * columnStride;
  return {{batches, rows, columns}, dnnlType(dtype), {batchStride, rowStride, columnStride}};
}

struct Primitive {
  dnnl::matmul matmul;
  dnnl::memory a, b, c;
  std::optional<dnnl::memory> scratchpad;
};

} // namespace

struct CpuGemm::Cache {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<Key, std::unique_ptr<Primitive>> primitives; // null: no primitive serves this shape

  std::unique_ptr<Primitive> create(const ulsc_gemm_desc &d);
  Primitive *find(const ulsc_gemm_desc &d);
};

std::unique_ptr<Primitive> CpuGemm::Cache::create(const ulsc_gemm_desc &d) {
  if (!isPlain(d.m, d.k, d.a_m, d.a_k) || !isPlain(d.k, d.n, d.b_k, d.b_n) ||
      !isPlain(d.m, d.n, d.c_m, d.c_n))
    return nullptr;
  try {
    dnnl::memory::desc a = describe(d.batch, d.m, d.k, d.a_batch, d.a_m, d.a_k, d.a_dtype);
    dnnl::memory::desc b = describe(d.batch, d.k, d.n, d.b_batch, d.b_k, d.b_n, d.b_dtype);
    dnnl::memory::desc c = describe(d.batch, d.m, d.n, d.c_batch, d.c_m, d.c_n, d.c_dtype);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (d.accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attributes.set_post_ops(sum);
    }
    dnnl::matmul::primitive_desc matmul({a, b, c}, attributes, engine);
    int64_t scratchpad = static_cast<int64_t>(matmul.scratchpad_desc().get_size());
    bool isReference = std::string(matmul.impl_info_str()).find("ref") != std::string::npos;
    if (scratchpad > d.workspace_bytes || isReference)
      return nullptr;
    auto primitive = std::make_unique<Primitive>();
    primitive->matmul = dnnl::matmul(matmul);
    primitive->a = dnnl::memory(a, engine, nullptr);
    primitive->b = dnnl::memory(b, engine, nullptr);
    primitive->c = dnnl::memory(c, engine, nullptr);
    if (scratchpad)
      primitive->scratchpad = dnnl::memory(matmul.scratchpad_desc(), engine, nullptr);
    return primitive;
  } catch (const dnnl::error &) {
    return nullptr; // overlapping strides or an unsupported combination: tiles serve it
  }
}

Primitive *CpuGemm::Cache::find(const ulsc_gemm_desc &d) {
  auto [entry, isNew] = primitives.try_emplace(keyOf(d));
  if (isNew)
    entry->second = create(d);
  return entry->second.get();
}

CpuGemm::CpuGemm(int threads) : threads(threads), cache(std::make_unique<Cache>()) {
  // Instruction sets are bit sets; their numbers are not ordered (AVX2 with VNNI is the largest).
  auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  nativeBf16 = (isa & wanted) == wanted;
}

CpuGemm::~CpuGemm() = default;

void CpuGemm::run(const ulsc_gemm_desc &given, const void *a, const void *b, void *c,
                  void *workspace) {
  if (given.batch <= 0 || given.m <= 0 || given.n <= 0)
    return;
  ulsc_gemm_desc desc = given;
  if (desc.c_n != 1 && desc.n != 1 && (desc.c_m == 1 || desc.m == 1)) {
    desc = transposed(given);
    std::swap(a, b);
  }
  auto isReady = [&](int32_t dtype) {
    return dtype == ULSC_F32 || (dtype == ULSC_BF16 && nativeBf16);
  };
  bool uniform =
      desc.a_dtype == desc.b_dtype && (desc.c_dtype == desc.a_dtype || desc.c_dtype == ULSC_F32);
  bool rowMajor = desc.c_n == 1 || desc.n == 1;
  Primitive *primitive = nullptr;
  if (desc.k > 0 && rowMajor && uniform && isReady(desc.a_dtype) && isReady(desc.c_dtype))
    primitive = cache->find(desc);
  if (!primitive) {
    runTiledGemm(desc, a, b, c, workspace, threads);
    return;
  }
  primitive->a.set_data_handle(const_cast<void *>(a));
  primitive->b.set_data_handle(const_cast<void *>(b));
  primitive->c.set_data_handle(c);
  std::unordered_map<int, dnnl::memory> arguments{
      {DNNL_ARG_SRC, primitive->a}, {DNNL_ARG_WEIGHTS, primitive->b}, {DNNL_ARG_DST, primitive->c}};
  if (primitive->scratchpad) {
    primitive->scratchpad->set_data_handle(workspace);
    arguments.insert({DNNL_ARG_SCRATCHPAD, *primitive->scratchpad});
  }
  try {
    primitive->matmul.execute(cache->stream, arguments);
    cache->stream.wait();
  } catch (const dnnl::error &error) {
    endJob(concat("gemm ", given.name ? given.name : ""), error.what());
  }
}

} // namespace ulsc::runtime

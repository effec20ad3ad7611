// GEMMs whose operands oneDNN can't take as they lie: 16-bit values on a CPU without fast 16-bit
// products, and matrices with neither unit stride. Tiles of such operands become contiguous f32 in
// the workspace.
#include "core/error.h"
#include "core/numeric.h"
#include "device/cpu_gemm.h"
#include "device/thread_pool.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>

extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

namespace ulsc::runtime {

namespace {

constexpr int64_t smallestWorkspace = 64 << 10;

// A matrix somewhere in memory.
struct View {
  char *data;
  int32_t dtype;
  int64_t rowStride, columnStride;

  View at(int64_t row, int64_t column) const {
    return {data + (row * rowStride + column * columnStride) * dtypeSize(dtype), dtype, rowStride,
            columnStride};
  }
};

// A matrix that sgemm takes.
struct Operand {
  float *data;
  bool transpose;
  int64_t leading;
};

bool isRowMajor(const View &view, int64_t rows, int64_t columns) {
  return view.columnStride == 1 && (rows == 1 || view.rowStride >= columns);
}

bool isDirect(const View &view, int64_t rows, int64_t columns) {
  bool isColumnMajor = view.rowStride == 1 && (columns == 1 || view.columnStride >= rows);
  return view.dtype == ULSC_F32 && (isRowMajor(view, rows, columns) || isColumnMajor);
}

Operand direct(const View &view, int64_t rows, int64_t columns) {
  bool transpose = !isRowMajor(view, rows, columns);
  // A leading dimension only has to be large enough where there is a single row.
  int64_t leading =
      transpose ? std::max(view.columnStride, rows) : std::max(view.rowStride, columns);
  return {reinterpret_cast<float *>(view.data), transpose, leading};
}

void readRow(const View &view, float *target, int64_t count, int64_t stride) {
  if (stride == 1) {
    toFloat(view.data, view.dtype, target, count);
    return;
  }
  int64_t bytes = stride * dtypeSize(view.dtype);
  for (int64_t i = 0; i < count; ++i)
    toFloat(view.data + i * bytes, view.dtype, target + i, 1);
}

// Copies rows x columns of `view` to `target`, keeping its orientation, so that runs stay
// contiguous.
Operand pack(const View &view, int64_t rows, int64_t columns, float *target, int threads) {
  bool transpose = view.rowStride == 1 && view.columnStride != 1;
  int64_t outer = transpose ? columns : rows, inner = transpose ? rows : columns;
  int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(inner, 1));
  parallelFor(threads, outer, grain, [&](int64_t begin, int64_t end, int64_t) {
    for (int64_t i = begin; i < end; ++i)
      readRow(transpose ? view.at(0, i) : view.at(i, 0), target + i * inner, inner,
              transpose ? view.rowStride : view.columnStride);
  });
  return {target, transpose, inner};
}

// Rounds a finished f32 tile (row-major, `columns` wide) into c.
void storeTile(const float *tile, const View &c, int64_t rows, int64_t columns, bool accumulate,
               int threads) {
  int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(columns, 1));
  int64_t step = c.columnStride * dtypeSize(c.dtype);
  parallelFor(threads, rows, grain, [&](int64_t begin, int64_t end, int64_t) {
    for (int64_t i = begin; i < end; ++i) {
      View row = c.at(i, 0);
      const float *source = tile + i * columns;
      if (!accumulate && c.columnStride == 1) {
        fromFloat(source, row.data, c.dtype, columns);
        continue;
      }
      for (int64_t j = 0; j < columns; ++j) {
        float value = source[j], old = 0;
        if (accumulate)
          toFloat(row.data + j * step, c.dtype, &old, 1);
        value += old;
        fromFloat(&value, row.data + j * step, c.dtype, 1);
      }
    }
  });
}

struct Tiling {
  bool packA, packB, packC;
  int64_t m, n, k; // tile sizes

  int64_t floatsA() const { return packA ? m * k : 0; }
  int64_t floatsB() const { return packB ? k * n : 0; }
  int64_t floatsC() const { return packC ? m * n : 0; }
  int64_t floats() const { return floatsA() + floatsB() + floatsC(); }
};

// Halves the longest side that takes room until the tiles fit. Square-ish tiles repack each value
// least often.
Tiling chooseTiling(const ulsc_gemm_desc &d, bool packA, bool packB, bool packC, int64_t bytes) {
  Tiling tiling{packA, packB, packC, d.m, d.n, d.k};
  while (tiling.floats() * int64_t(sizeof(float)) > bytes) {
    int64_t m = packA || packC ? tiling.m : 0, n = packB || packC ? tiling.n : 0;
    int64_t k = packA || packB ? tiling.k : 0;
    int64_t &longest = m >= n && m >= k ? tiling.m : n >= k ? tiling.n : tiling.k;
    longest = (longest + 1) / 2;
    if (longest > 16)
      longest = (longest + 15) / 16 * 16;
  }
  return tiling;
}

// One matrix of the batch.
void runMatrix(const ulsc_gemm_desc &d, const View &a, const View &b, const View &c,
               const Tiling &tiling, float *workspace, int threads) {
  float *spaceA = workspace, *spaceB = spaceA + tiling.floatsA();
  float *spaceC = spaceB + tiling.floatsB();
  bool wholeA = tiling.m >= d.m && tiling.k >= d.k;
  Operand tileA{}, tileB{};
  for (int64_t n0 = 0; n0 < d.n; n0 += tiling.n) {
    int64_t n = std::min(tiling.n, d.n - n0);
    bool packedB = false;
    for (int64_t m0 = 0; m0 < d.m; m0 += tiling.m) {
      int64_t m = std::min(tiling.m, d.m - m0);
      View tileC = c.at(m0, n0);
      float *target = tiling.packC ? spaceC : reinterpret_cast<float *>(tileC.data);
      int64_t leading = tiling.packC ? n : std::max(tileC.rowStride, n);
      for (int64_t k0 = 0; k0 < d.k; k0 += tiling.k) {
        int64_t k = std::min(tiling.k, d.k - k0);
        if (!tiling.packA)
          tileA = direct(a.at(m0, k0), m, k);
        else if (!wholeA || n0 == 0)
          tileA = pack(a.at(m0, k0), m, k, spaceA, threads);
        if (!tiling.packB)
          tileB = direct(b.at(k0, n0), k, n);
        else if (!packedB || tiling.k < d.k)
          tileB = pack(b.at(k0, n0), k, n, spaceB, threads);
        packedB = true;
        float beta = k0 > 0 || (d.accumulate && !tiling.packC) ? 1.0f : 0.0f;
        sgemm(tileA.transpose, tileB.transpose, m, n, k, 1.0f, tileA.data, tileA.leading,
              tileB.data, tileB.leading, beta, target, leading);
      }
      if (tiling.packC)
        storeTile(spaceC, tileC, m, n, d.accumulate, threads);
    }
  }
}

// A sum over nothing: c becomes zero unless it is accumulated into.
void clearMatrix(const ulsc_gemm_desc &d, const View &c) {
  float zero = 0;
  for (int64_t i = 0; i < d.m && !d.accumulate; ++i)
    for (int64_t j = 0; j < d.n; ++j)
      fromFloat(&zero, c.at(i, j).data, c.dtype, 1);
}

} // namespace

void sgemm(bool transposeA, bool transposeB, int64_t m, int64_t n, int64_t k, float alpha,
           const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
           int64_t ldc) {
  dnnl_status_t status = dnnl_sgemm(transposeA ? 'T' : 'N', transposeB ? 'T' : 'N', m, n, k, alpha,
                                    a, lda, b, ldb, beta, c, ldc);
  if (status != dnnl_success)
    endJob(concat("gemm of ", m, "x", n, "x", k), concat("oneDNN status ", int(status)));
}

void runTiledGemm(const ulsc_gemm_desc &d, const void *a, const void *b, void *c, void *workspace,
                  int threads) {
  alignas(64) static float fallback[smallestWorkspace / sizeof(float)];
  int64_t bytes = d.workspace_bytes;
  if (!workspace || bytes < smallestWorkspace) {
    workspace = fallback;
    bytes = smallestWorkspace;
  }
  auto view = [](const void *data, int32_t dtype, int64_t batch, int64_t row, int64_t column,
                 int64_t index) {
    char *start = static_cast<char *>(const_cast<void *>(data));
    return View{start + batch * index * dtypeSize(dtype), dtype, row, column};
  };
  bool packA = !isDirect(view(a, d.a_dtype, 0, d.a_m, d.a_k, 0), d.m, d.k);
  bool packB = !isDirect(view(b, d.b_dtype, 0, d.b_k, d.b_n, 0), d.k, d.n);
  bool packC =
      d.c_dtype != ULSC_F32 || !isRowMajor(view(c, d.c_dtype, 0, d.c_m, d.c_n, 0), d.m, d.n);
  // Many small matrices: one thread each, with its share of the workspace. Few: all threads on
  // each.
  int workers = threads;
  while (workers > 1 && bytes / workers < smallestWorkspace)
    --workers;
  bool acrossBatch = workers > 1 && d.batch >= workers;
  int64_t share = acrossBatch ? bytes / workers / ULSC_ALIGNMENT * ULSC_ALIGNMENT : bytes;
  Tiling tiling = chooseTiling(d, packA, packB, packC, share);
  parallelFor(acrossBatch ? workers : 1, d.batch, acrossBatch ? 1 : d.batch,
              [&](int64_t begin, int64_t end, int64_t thread) {
                float *space = reinterpret_cast<float *>(static_cast<char *>(workspace) +
                                                         (acrossBatch ? thread * share : 0));
                for (int64_t i = begin; i < end; ++i) {
                  View matrixC = view(c, d.c_dtype, d.c_batch, d.c_m, d.c_n, i);
                  if (d.k <= 0)
                    clearMatrix(d, matrixC);
                  else
                    runMatrix(d, view(a, d.a_dtype, d.a_batch, d.a_m, d.a_k, i),
                              view(b, d.b_dtype, d.b_batch, d.b_k, d.b_n, i), matrixC, tiling,
                              space, acrossBatch ? 1 : threads);
                }
              });
}

} // namespace ulsc::runtime

void ulsc_gemm_tile(int64_t transpose_a, int64_t transpose_b, int64_t m, int64_t n, int64_t k,
                    float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                    float beta, float *c, int64_t ldc) {
  using namespace ulsc::runtime;
  // oneDNN keeps to the calling thread inside a parallel region. A launch of a single chunk runs
  // outside one.
  int threads = insideThreads() ? 1 : omp_get_max_threads();
  if (threads > 1)
    omp_set_num_threads(1);
  sgemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (threads > 1)
    omp_set_num_threads(threads);
}

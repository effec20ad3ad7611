// The kernels of the fixtures kernels_sm_*.ptx. They were made by
//   clang++-22 --target=nvptx64-nvidia-cuda -Xclang -target-cpu -Xclang sm_80 -Xclang
//     -target-feature -Xclang +ptx80 -O3 -S -o kernels_sm_80.ptx kernels.cpp
// and likewise for sm_90 (+ptx80) and sm_100 (+ptx86); no headers are needed.
#define KERNEL extern "C" __attribute__((nvptx_kernel)) void
#define SHARED __attribute__((address_space(3))) static
#define GLOBAL __attribute__((address_space(1)))

using float4 = float __attribute__((ext_vector_type(4)));
using bfloat8 = __bf16 __attribute__((ext_vector_type(8)));

static int tid() { return __nvvm_read_ptx_sreg_tid_x(); }
static int ntid() { return __nvvm_read_ptx_sreg_ntid_x(); }
static int ctaid() { return __nvvm_read_ptx_sreg_ctaid_x(); }
static int index() { return ctaid() * ntid() + tid(); }
static float shuffle(float value, int by) { return __nvvm_shfl_sync_bfly_f32(~0u, value, by, 31); }
static float warpSum(float value) {
  for (int by = 16; by; by /= 2)
    value += shuffle(value, by);
  return value;
}

/// out = a / (1 + exp(-a)) * b, with a tail.
KERNEL swiglu(const GLOBAL float *a, const GLOBAL float *b, GLOBAL float *out, int n) {
  int i = index();
  if (i < n)
    out[i] = a[i] / (1.0f + __nvvm_ex2_approx_f(-1.4426950408889634f * a[i])) * b[i];
}

/// Four at a time, without a tail.
KERNEL axpy4(const GLOBAL float4 *x, GLOBAL float4 *y, float alpha) {
  int i = index();
  y[i] = __builtin_elementwise_fma(x[i], (float4)alpha, y[i]);
}

SHARED float partial[8] __attribute__((aligned(16)));

/// A row per block of 256 threads: out = x / sqrt(mean(x * x) + 1e-5).
KERNEL rmsnorm(const GLOBAL float *x, GLOBAL float *out, int columns) {
  const GLOBAL float *row = x + (long)ctaid() * columns;
  float sum = 0;
  for (int i = tid(); i < columns; i += ntid())
    sum += row[i] * row[i];
  sum = warpSum(sum);
  if (tid() % 32 == 0)
    partial[tid() / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < 8; ++i)
    sum += partial[i];
  float scale = __nvvm_rsqrt_approx_f(sum / columns + 1e-5f);
  for (int i = tid(); i < columns; i += ntid())
    out[(long)ctaid() * columns + i] = row[i] * scale;
}

/// bfloat16, eight at a time: x * x + x.
KERNEL square_bf16(const GLOBAL bfloat8 *x, GLOBAL bfloat8 *out) {
  bfloat8 value = x[index()];
  out[index()] = value * value + value;
}

/// Gradient of an embedding: rows of many threads may be one row.
KERNEL scatter_add(const GLOBAL int *rows, const GLOBAL float *gradient, GLOBAL float *table,
                   int columns) {
  int row = rows[ctaid()];
  __nvvm_atom_add_gen_f((float *)(table + (long)row * columns + tid()),
                        gradient[(long)ctaid() * columns + tid()]);
}

SHARED float tile[32 * 33];

/// A transposition of 32 times 32 tiles through shared memory, with blocks of 256 threads.
KERNEL transpose(const GLOBAL float *in, GLOBAL float *out, int rows, int columns) {
  int left = ctaid() * 32, top = __nvvm_read_ptx_sreg_ctaid_y() * 32;
  int x = tid() % 32, y = tid() / 32;
  for (int i = y; i < 32; i += 8)
    tile[i * 33 + x] = in[(long)(top + i) * columns + left + x];
  __syncthreads();
  for (int i = y; i < 32; i += 8)
    out[(long)(left + i) * rows + top + x] = tile[x * 33 + i];
}

static __attribute__((noinline)) long power(long base, unsigned exponent) {
  long result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1)
      result *= base;
  return result;
}

/// A call, a switch and 64-bit integers.
KERNEL choose(GLOBAL long *values, int n) {
  int i = index();
  if (i >= n)
    return;
  long value = values[i];
  switch (i % 7) {
  case 0:
    value = power(value, 3);
    break;
  case 1:
    value = value / 7 - 3;
    break;
  case 2:
    value = value % 5 * 11;
    break;
  case 3:
    value = __builtin_popcountl(value);
    break;
  case 4:
    value = __builtin_clzl(value | 1);
    break;
  case 5:
    value = value << (i & 31) ^ value >> 3;
    break;
  default:
    value = power(value + i, 2);
    break;
  }
  values[i] = value;
}

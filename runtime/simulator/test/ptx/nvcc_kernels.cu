// The kernels of nvcc_sm_90.ptx, which was made by: nvcc -ptx -arch=sm_90 nvcc_kernels.cu
// (CUDA 13.0).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void swiglu(const float *g, const float *u, float *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float x = g[i];
    o[i] = x / (1.f + expf(-x)) * u[i];
  }
}
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter = 3;
extern "C" __global__ void rmsnorm(const float4 *__restrict__ x, float4 *o, int n) {
  __shared__ float s[32];
  extern __shared__ float dyn[];
  float a = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float4 v = x[blockIdx.x * n + i];
    a += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  for (int k = 16; k; k /= 2)
    a += __shfl_xor_sync(~0u, a, k);
  if ((threadIdx.x & 31) == 0)
    s[threadIdx.x / 32] = a;
  __syncthreads();
  a = 0;
  for (int i = 0; i < blockDim.x / 32; i++)
    a += s[i];
  float r = rsqrtf(a / (4 * n) + 1e-5f) * table[threadIdx.x & 3];
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float4 v = x[blockIdx.x * n + i];
    v.x *= r;
    v.y *= r;
    v.z *= r;
    v.w *= r;
    o[blockIdx.x * n + i] = v;
  }
  if (threadIdx.x == 0)
    atomicAdd(&counter, 1);
}
extern "C" __global__ void bf(const __nv_bfloat16 *a, __nv_bfloat16 *b, __half *h, int n) {
  int i = threadIdx.x;
  if (i < n) {
    b[i] = __float2bfloat16(tanhf(__bfloat162float(a[i])));
    h[i] = __hadd(h[i], __float2half(sinf(i) * 0.5f));
    atomicAdd(h, h[i]);
  }
}
extern "C" __global__ void sw(int *a, int k) {
  int l[8];
  for (int i = 0; i < 8; i++)
    l[i] = a[i];
  switch (k) {
  case 0:
    a[0] = l[k];
    break;
  case 1:
    a[1] = l[k + 1] * 3;
    break;
  case 2:
    a[2] = l[(k * 3) & 7] / 7;
    break;
  case 3:
    a[3] = l[k & 7] % k;
    break;
  case 4:
    a[5] = __popc(k);
    break;
  case 5:
    a[0] = __clz(k);
  }
  unsigned m = __ballot_sync(~0u, k > l[threadIdx.x & 7]);
  a[8] = m;
  a[9] = __reduce_add_sync(~0u, k);
}

/*===- RuntimeABI.h - What generated code and the runtime agree on
 * -------------------------------===*
 *
 * The only header that the compiler and the runtime share. The lowering of `exec` emits calls of
 * the functions below and reads the two structs at the offsets that a C compiler gives them: a
 * change here changes passes/Lower with it. Every pointer into the arena is aligned to
 * ULSC_ALIGNMENT bytes, every element count is in elements and every size in bytes. No function
 * returns an error: one that can't do its work ends the job on all ranks with a message naming the
 * operation.
 *
 * Part of the license of this project: Apache-2.0 WITH LLVM-exception.
 *===---------------------------------------------------------------------------------------------===*/
#ifndef ULSC_RUNTIMEABI_H
#define ULSC_RUNTIMEABI_H

#include <stdint.h>

#include "ulsc/Random.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ULSC_ABI_VERSION 1
#define ULSC_ALIGNMENT 64
#define ULSC_MAX_AXES 8

typedef enum ulsc_dtype {
  ULSC_F32 = 0,
  ULSC_BF16 = 1,
  ULSC_F16 = 2,
  ULSC_I32 = 3,
  ULSC_I64 = 4
} ulsc_dtype;

/* What a step reads of its run and reports back. One per rank, at a fixed address. */
typedef struct ulsc_control {
  /* Written by the runtime before each step. */
  uint64_t seed;
  int64_t step;                       /* optimizer steps completed before this one */
  int64_t coordinates[ULSC_MAX_AXES]; /* of this rank, one per mesh axis, major to minor */
  float learning_rate;                /* of this step, by the schedule */
  float beta1, beta2, epsilon;        /* AdamW */
  float bias_correction1;             /* 1 - beta1^(step+1), computed in double */
  float bias_correction2;             /* 1 - beta2^(step+1), computed in double */
  float weight_decay;
  float momentum;                   /* SGD */
  float clip_grad;                  /* largest global norm; 0: no clipping */
  float dropout_rate;               /* negative: each dropout's rate as compiled */
  float loss_scale;                 /* factor of the loss's cotangent; 1 without loss scaling */
  float good_steps;                 /* steps since the scale changed */
  float loss_scale_growth_interval; /* good steps after which the scale doubles */
  float stop_requested; /* 1 when this rank saw a signal; summed over ranks by the step */
  /* Two factors per trainable parameter, in the order of the "tensors" of this rank's stage with
   * role "parameter" and "trainable" true: [2*i] scales learning_rate, [2*i+1] scales weight_decay.
   * Constant during a run. */
  const float *parameter_scales;
  /* Written by the step. */
  float loss;        /* mean over the valid targets of the global batch */
  float grad_norm;   /* global, before clipping */
  float valid_count; /* valid targets of the global batch */
  float stop_count;  /* ranks that requested a stop, equal on all ranks */
  /* With loss scaling only: what the next step gets, and 1 when the norm was not finite, so that
   * this step changed no state. The runtime copies between steps. */
  float next_loss_scale, next_good_steps, overflowed;
} ulsc_control;

/* The head of the runtime's context; generated code sees no more of it. */
typedef struct ulsc_context {
  char *arena;
  ulsc_control *control;
  /* The control block that kernels, `ulsc_copy` and nothing else may access: `control` itself, or
   * where that lies in the memory of a device that has its own. */
  char *device_control;
} ulsc_context;

/*===--- Exported by the compiled program
 * ---------------------------------------------------------===*/

/* NUL-terminated JSON, schema "ulsc.manifest/1" (docs/manifest.md). */
extern const char ulsc_manifest[];

/* NUL-terminated text of the kernels of a program for another target than "cpu": PTX for "cuda".
 * Programs for "cpu" have none. */
extern const char ulsc_kernels[];

/* One optimizer step on the inputs that lie in the arena. In a pipelined program it runs the part
 * of the rank's stage, which `control->coordinates` of the axis "pp" tells. */
void ulsc_step(ulsc_context *context);

/*===--- Kernels
 * ----------------------------------------------------------------------------------===*/

/* Runs rows [begin, end) of a kernel. `arguments` are buffer addresses, in the kernel's order.
 * `thread` is below the rank's thread count and unique among the calls that run at the same time.
 */
typedef void (*ulsc_kernel)(ulsc_context *context, void *const *arguments, int64_t begin,
                            int64_t end, int64_t thread);

/* A kernel of `ulsc_kernels`. Its arguments are `device_control`, then the addresses of buffers,
 * then scalars as 64-bit integers. */
typedef struct ulsc_device_kernel {
  const char *symbol; /* in the text */
  void *function;     /* null at first, the runtime's */
  int32_t pointers, scalars;
  const int64_t *bytes; /* of each buffer: all that the kernel may access of it */
  int32_t outputs;      /* how many buffers, the last ones, it may write */
  /* 1: its arguments are `device_control` and the arena alone, and the kernel knows where in the
   * arena its buffers lie; what `ulsc_launch` is given serves checks. */
  int32_t reads_arena;
} ulsc_device_kernel;

/* `source`, here and below, is the op of the source model that the work is of: "model.layers.*.mlp"
 * inside a block that several layers share. Null where none is known. It serves messages; only the
 * simulated device asks for it. */

/* On the cpu: splits [0, extent) into chunks that are multiples of `grain` and runs them on the
 * rank's threads; returns when all are done. `name` is the kernel's, for traces. The split never
 * changes results: kernels that reduce over rows own whole outputs. On a device: `kernel` is the
 * address of a ulsc_device_kernel, which runs, after all work submitted before, as `extent` blocks
 * of `grain` threads. */
void ulsc_launch(ulsc_context *context, ulsc_kernel kernel, const char *name, const char *source,
                 void *const *arguments, int64_t extent, int64_t grain);

/*===--- Memory of the device: programs for "cpu" use the C library's functions
 * -----------------------------------*/

/* Copies `bytes`; both places are the same or don't overlap. */
void ulsc_copy(ulsc_context *context, const char *source, void *target, const void *from,
               int64_t bytes);

/* Sets `count` elements of `element_bytes` (1, 2 or 4) to the low bytes of `value`. */
void ulsc_fill(ulsc_context *context, const char *source, void *target, uint32_t value,
               int32_t element_bytes, int64_t count);

/* Says that nobody reads what lies there any more. Only programs whose dead buffers are
 * poisoned call it, and only the simulated device heeds it. */
void ulsc_forget(ulsc_context *context, const char *source, void *target, int64_t bytes);

/*===--- GEMM
 * -------------------------------------------------------------------------------------===*/

/* What a product p does beside storing it. gelu is the approximation by tanh; vectors have n
 * elements, matrices c's shape and strides, all c's dtype. Only devices whose library has them are
 * asked for any, with one batch, c by rows and without accumulation. */
typedef enum ulsc_epilogue {
  ULSC_EPILOGUE_NONE = 0,           /* input, output null */
  ULSC_EPILOGUE_BIAS = 1,           /* c = p + input[n] */
  ULSC_EPILOGUE_GELU = 2,           /* output = p + input[n]; c = gelu(output) */
  ULSC_EPILOGUE_GELU_GRAD = 3,      /* c = p * gelu'(input) */
  ULSC_EPILOGUE_GELU_BIAS_GRAD = 4, /* c = p * gelu'(input); output[n] = sum over m of c */
  ULSC_EPILOGUE_BIAS_GRAD = 5       /* c = p; output[n] = sum over k of b */
} ulsc_epilogue;

/* c[b,m,n] (+)= sum over k of a[b,m,k] * b[b,k,n], strides in elements. Sums are formed in f32. */
typedef struct ulsc_gemm_desc {
  int64_t batch, m, n, k;
  int64_t a_batch, a_m, a_k;
  int64_t b_batch, b_k, b_n;
  int64_t c_batch, c_m, c_n;
  int32_t a_dtype, b_dtype, c_dtype; /* ulsc_dtype */
  int32_t accumulate;                /* 1: add to c, 0: overwrite it */
  int32_t epilogue;                  /* ulsc_epilogue */
  int64_t workspace_bytes;           /* size of the workspace that the call is given */
  const char *name;                  /* source op, for messages and traces */
} ulsc_gemm_desc;

/* Uses all threads of the rank. `desc` is constant and unique to its call site's shape; `input` and
 * `output` are the epilogue's. */
void ulsc_gemm(ulsc_context *context, const ulsc_gemm_desc *desc, const void *a, const void *b,
               void *c, const void *input, void *output, void *workspace);

/* On the calling thread alone, inside a kernel: row-major c[m,n] = alpha * op(a) * op(b) + beta *
 * c, f32. */
void ulsc_gemm_tile(int64_t transpose_a, int64_t transpose_b, int64_t m, int64_t n, int64_t k,
                    float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                    float beta, float *c, int64_t ldc);

/*===--- Attention by a library
 * ---------------------------------------------------------------===*/

/* Softmax attention: q, out and their gradients are [batch, queries, kv_heads, group, head_size],
 * k, v and theirs [batch, keys, kv_heads, head_size], lse [batch, queries, kv_heads, group] in f32,
 * all without gaps. With `causal` query i sees the keys up to i. */
typedef struct ulsc_attention_desc {
  int64_t batch, queries, keys, kv_heads, group, head_size;
  int32_t dtype; /* ulsc_dtype of all but lse: bf16 or f16 */
  int32_t causal;
  double scale;            /* of the products of q and k */
  int64_t workspace_bytes; /* size of the workspace that the call is given */
  const char *name;        /* source op, for messages and traces */
} ulsc_attention_desc;

/* out and lse of q, k and v. Only programs for "cuda" call these two; `desc` as in ulsc_gemm. */
void ulsc_attention(ulsc_context *context, const ulsc_attention_desc *desc, const void *q,
                    const void *k, const void *v, void *out, void *lse, void *workspace);

/* dq, dk and dv of what the forward was given and gave, and of the gradient `dout` of out. */
void ulsc_attention_grad(ulsc_context *context, const ulsc_attention_desc *desc, const void *q,
                         const void *k, const void *v, const void *out, const void *lse,
                         const void *dout, void *dq, void *dk, void *dv, void *workspace);

/*===--- Collectives
 * ------------------------------------------------------------------------------===*/

typedef enum ulsc_collective_kind {
  ULSC_ALL_REDUCE = 0,     /* outputs[i] = reduction over ranks of inputs[i]; may be in place */
  ULSC_ALL_GATHER = 1,     /* outputs[i] = inputs[i] of all ranks, one after the other */
  ULSC_REDUCE_SCATTER = 2, /* outputs[i] = this rank's block of the reduction of inputs[i] */
  ULSC_ALL_TO_ALL =
      3, /* block j of inputs[i] goes to rank j, block j of outputs[i] comes from it */
  ULSC_PERMUTE =
      4, /* inputs[i] of the rank at position p go to outputs[i] of that at destinations[p] */
  ULSC_SEND = 5,   /* inputs go to the rank at position `peer`; no outputs, which may be null */
  ULSC_RECEIVE = 6 /* outputs come from the rank at position `peer`; inputs may be null */
} ulsc_collective_kind;

typedef enum ulsc_reduction { ULSC_SUM = 0, ULSC_MAX = 1 } ulsc_reduction;

/* One logical collective: several operands travel together. bf16 and f16 sums are formed in f32. */
typedef struct ulsc_collective_desc {
  int32_t kind;            /* ulsc_collective_kind */
  int32_t reduction;       /* ulsc_reduction */
  int32_t group;           /* index into the manifest's "groups" */
  int32_t operands;        /* number of inputs, and of outputs */
  const int64_t *elements; /* of each *input* on one rank; of what a receive is sent */
  const int32_t *dtypes;   /* ulsc_dtype of each operand */
  int64_t identifier;      /* index into the manifest's "collectives": source, cause and phase */
  /* ULSC_PERMUTE: a permutation of the positions in the group; otherwise null. */
  const int64_t *destinations;
  int64_t peer; /* ULSC_SEND, ULSC_RECEIVE: the position in the group of the other side; else -1 */
} ulsc_collective_desc;

/* Starts a collective in `slot`; its buffers are not touched by anyone else until the wait. Slots
 * are small integers below the manifest's "collective_slots", and one slot holds one started
 * collective at a time. All ranks of a group start its collectives in one order and wait for them
 * in one order, which need not be the same; sends from one of them to another match its receives by
 * the order of the starts alone. */
void ulsc_collective_start(ulsc_context *context, const ulsc_collective_desc *desc,
                           void *const *inputs, void *const *outputs, int32_t slot);

/* Returns when the collective in `slot` is complete on this rank: a send when its inputs may be
 * overwritten. A send may take until its receive has started, a reduction until all ranks of its
 * group have come to their waits; everything else needs only that the others have started it. */
void ulsc_collective_wait(ulsc_context *context, int32_t slot);

/* Around the call of a block's forward or backward, for who measures: `name`, which is a constant,
 * is the function's, and `source` says which layer is meant: "layer.3". Calls may be nested. */
void ulsc_block_begin(ulsc_context *context, const char *name, const char *source);
void ulsc_block_end(ulsc_context *context);

#ifdef __cplusplus
}
#endif

#endif /* ULSC_RUNTIMEABI_H */

// A tiny hand-written program in place of a compiled one, for tests of the runtime alone. It learns
// a table: loss = 1/(2N) sum over tokens |W[token] - target / 50|^2 + |b|^2 / 2, by SGD with
// momentum. W's rows are cut over "tp" (50 of 54 rows are logical), b is bf16 with an f32 master
// and is held by all. Compile with -DDP=n -DTP=n, and with -DFLAT for state in chunks
// (fake_manifest.h), which computes the same bits. With FAKE_SLEEP_MS set, each step takes that
// long, with FAKE_SLEEP_DP=d on the ranks of that coordinate alone; with FAKE_NAN_AT=n, step n
// gives a loss that is not a number.
#include "fake_manifest.h"
#include "ulsc/RuntimeABI.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef FLAT
enum { isFlat = 1, tableChunks = DP, biasChunks = DP * TP };
#else
enum { isFlat = 0, tableChunks = 1, biasChunks = 1 };
#endif
enum { batch = 8, seq = 16, paddedRows = 54, columns = 4, biasSize = 3, microbatches = 2 };
enum { rows = paddedRows / TP, local = rows * columns, micro = batch / DP / microbatches };
// Elements that a rank keeps of its table's block and of the bias.
enum {
  tableChunk = (local + tableChunks - 1) / tableChunks,
  biasChunk = (biasSize + biasChunks - 1) / biasChunks
};

const char ulsc_manifest[] = FAKE_MANIFEST;

// fake_stop.cpp: the signal that asked for an end, or 0.
int fakeStopSignal(void);

static float *at(ulsc_context *context, int64_t offset) {
  return (float *)(context->arena + offset);
}

static void reduce(ulsc_context *context, int group, int identifier, float *values, int64_t count,
                   int slot) {
  const int32_t dtype = ULSC_F32;
  ulsc_collective_desc desc = {ULSC_ALL_REDUCE, ULSC_SUM,   group, 1, &count,
                               &dtype,          identifier, NULL,  -1};
  void *buffer = values;
  ulsc_collective_start(context, &desc, &buffer, &buffer, slot);
  ulsc_collective_wait(context, slot);
}

// What all ranks of a group keep, at `whole`; without chunks a rank has it all where it keeps it.
static float *gather(ulsc_context *context, int group, int identifier, float *chunk, int64_t count,
                     float *whole) {
  const int32_t dtype = ULSC_F32;
  ulsc_collective_desc desc = {ULSC_ALL_GATHER, ULSC_SUM,   group, 1, &count,
                               &dtype,          identifier, NULL,  -1};
  void *input = chunk, *output = whole;
  if (!isFlat)
    return chunk;
  ulsc_collective_start(context, &desc, &input, &output, 0);
  ulsc_collective_wait(context, 0);
  return whole;
}

static float *gatherTable(ulsc_context *context) {
  return gather(context, 1, 3, at(context, TABLE_AT), tableChunk, at(context, WHOLE_TABLE_AT));
}

static float *gatherMaster(ulsc_context *context) {
  return gather(context, 0, 4, at(context, BIAS_MASTER_AT), biasChunk,
                at(context, WHOLE_MASTER_AT));
}

// Elements [begin, end) of the update; arguments are weight, moment, gradient.
static void updateTable(ulsc_context *context, void *const *arguments, int64_t begin, int64_t end,
                        int64_t thread) {
  const ulsc_control *control = context->control;
  float *weight = arguments[0], *moment = arguments[1], *gradient = arguments[2];
  for (int64_t i = begin; i < end; ++i) {
    moment[i] = control->momentum * moment[i] + gradient[i];
    weight[i] -= control->learning_rate * control->parameter_scales[0] *
                 (moment[i] + control->weight_decay * control->parameter_scales[1] * weight[i]);
  }
  (void)thread;
}

static float accumulate(ulsc_context *context, const float *weight, float *gradient) {
  const int32_t *tokens = (const int32_t *)(context->arena + TOKENS_AT);
  const int32_t *targets = (const int32_t *)(context->arena + TARGETS_AT);
  int64_t first = context->control->coordinates[1] * rows;
  double loss = 0;
  memset(gradient, 0, local * sizeof(float));
  for (int i = 0; i < microbatches * micro * seq; ++i) {
    int64_t row = tokens[i] - first;
    if (row < 0 || row >= rows)
      continue;
    for (int j = 0; j < columns; ++j) {
      float difference = weight[row * columns + j] - (float)targets[i] / 50.0f;
      loss += 0.5 * difference * difference / (batch * seq);
      gradient[row * columns + j] += difference / (batch * seq);
    }
  }
  return (float)loss;
}

// Updates what this rank keeps, then all of the stored values.
static void updateBias(ulsc_context *context) {
  const ulsc_control *control = context->control;
  float *master = at(context, BIAS_MASTER_AT), *moment = at(context, BIAS_MOMENT_AT);
  float *gradient = at(context, BIAS_GRADIENT_AT);
  uint16_t *stored = (uint16_t *)(context->arena + BIAS_AT);
  for (int i = 0; i < biasChunk; ++i) {
    gradient[i] = master[i];
    moment[i] = control->momentum * moment[i] + gradient[i];
    master[i] -= control->learning_rate * control->parameter_scales[2] * moment[i] * 0.01f;
  }
  const float *whole = gatherMaster(context);
  for (int i = 0; i < biasSize; ++i) {
    uint32_t bits;
    memcpy(&bits, &whole[i], 4);
    stored[i] = (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
}

// Says when it begins and that a signal came, so that a test need not guess. It looks in short
// naps: a signal between two system calls would interrupt no sleep.
static void sleepIn(int64_t step, int milliseconds) {
  int isTold = 0;
  fprintf(stderr, "in step %lld\n", (long long)step);
  for (int nap = 5; milliseconds > 0; milliseconds -= nap) {
    struct timespec time = {0, nap * 1000000L};
    nanosleep(&time, NULL);
    if (isTold || !fakeStopSignal())
      continue;
    isTold = 1;
    fprintf(stderr, "interrupted in step %lld\n", (long long)step);
  }
}

void ulsc_step(ulsc_context *context) {
  ulsc_control *control = context->control;
  const char *sleep = getenv("FAKE_SLEEP_MS"), *nan = getenv("FAKE_NAN_AT");
  const char *sleeper = getenv("FAKE_SLEEP_DP");
  if (sleep && (!sleeper || atoi(sleeper) == control->coordinates[0]))
    sleepIn(control->step + 1, atoi(sleep));
  float *scratch = at(context, SCRATCH_AT);
  float *gradient = at(context, isFlat ? WHOLE_GRADIENT_AT : TABLE_GRADIENT_AT);
  scratch[0] = accumulate(context, gatherTable(context), gradient);
  scratch[1] = control->stop_requested;
  reduce(context, 0, 0, scratch, 2, 0);
  reduce(context, 1, 1, gradient, local, 1);
  scratch[2] = 0;
  for (int i = 0; i < local; ++i)
    scratch[2] += gradient[i] * gradient[i];
  reduce(context, 2, 2, scratch + 2, 1, 0);
  const float *master = gatherMaster(context);
  float biasLoss = 0;
  for (int i = 0; i < biasSize; ++i)
    biasLoss += 0.5f * master[i] * master[i];
  if (isFlat) // elements past the block are zero
    memcpy(at(context, TABLE_GRADIENT_AT), gradient + control->coordinates[0] * tableChunk,
           tableChunk * sizeof(float));
  void *arguments[] = {at(context, TABLE_AT), at(context, TABLE_MOMENT_AT),
                       at(context, TABLE_GRADIENT_AT)};
  ulsc_launch(context, updateTable, "update_table", "table", arguments, tableChunk, columns);
  updateBias(context);
  control->loss = nan && atoi(nan) == control->step + 1 ? NAN : scratch[0] + biasLoss;
  control->grad_norm = sqrtf(scratch[2] + 2 * biasLoss);
  control->valid_count = batch * seq;
  control->stop_count = scratch[1];
}

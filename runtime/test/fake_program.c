// A tiny hand-written program in place of a compiled one, for tests of the runtime alone. It learns
// a table: loss = 1/(2N) sum over tokens |W[token] - target / 50|^2 + |b|^2 / 2, by SGD with
// momentum. W's rows are cut over "tp" (50 of 52 rows are logical), b is bf16 with an f32 master
// and is held by all. Compile with -DDP=n -DTP=n. With FAKE_SLEEP_MS set, each step takes that
// long; with FAKE_NAN_AT=n, step n gives a loss that is not a number.
#include "ulsc/RuntimeABI.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef DP
#define DP 1
#endif
#ifndef TP
#define TP 1
#endif
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

// The first 32 KiB hold the program's own buffers, the rest is where reductions are received.
#define ARENA_BYTES 2129920

enum {
  batch = 8,
  seq = 16,
  vocabulary = 50,
  paddedRows = 52,
  columns = 4,
  biasSize = 3,
  microbatches = 2
};
enum { rows = paddedRows / TP, local = rows * columns, micro = batch / DP / microbatches };
// Places in the arena.
enum {
  tokensAt = 0,
  targetsAt = 8192,
  weightAt = 16384,
  momentAt = 20480,
  gradientAt = 24576,
  biasAt = 28672,
  masterAt = 28736,
  biasMomentAt = 28800,
  biasGradientAt = 28864,
  scratchAt = 28928
};

#define TENSOR_W(role, offset)                                                                     \
  "{\"name\":\"table.weight\",\"role\":\"" role                                                    \
  "\",\"parameter\":\"table.weight\",\"dtype\":\"f32\","                                           \
  "\"offset\":" offset ",\"shape\":[52,4],\"logical_shape\":[50,4],\"external_shape\":[50,4],"     \
  "\"sharding\":[[\"tp\"],[]],\"replicated_over\":[\"dp\"],\"init\":{\"kind\":\"normal\",\"std\":" \
  "0.5},"                                                                                          \
  "\"trainable\":true,\"group\":0}"
#define TENSOR_B(role, offset, dtype)                                                              \
  "{\"name\":\"bias\",\"role\":\"" role "\",\"parameter\":\"bias\",\"dtype\":\"" dtype             \
  "\",\"offset\":" offset                                                                          \
  ",\"shape\":[3],\"logical_shape\":[3],\"external_shape\":[3],\"sharding\":[[]],"                 \
  "\"replicated_over\":[\"dp\",\"tp\"],\"init\":{\"kind\":\"ones\"},\"trainable\":true,\"group\":" \
  "1}"
#define MICRO_OF(dp) MICRO_##dp
#define MICRO_1 "4"
#define MICRO_2 "2"
#define MICRO_4 "1"
#define MICRO_TEXT(dp) MICRO_OF(dp)
#define INPUT(offset)                                                                              \
  "{\"offset\":" offset ",\"shape\":[2," MICRO_TEXT(DP) ",16],\"dtype\":\"i32\"}"

const char ulsc_manifest[] =
    "{\"schema\":\"ulsc.manifest/1\",\"model\":{\"name\":\"fake\",\"family\":\"fake\","
    "\"config\":\"{\\\"model_type\\\": \\\"fake\\\"}\",\"parameters\":203,\"flops_per_step\":1,"
    "\"vocabulary\":50,\"weight_prefix\":\"model.\"},"
    "\"compile\":{\"dtype\":\"f32\",\"optimizer\":\"sgd\",\"dropout\":false},"
    "\"mesh\":{\"axes\":[{\"name\":\"dp\",\"size\":" TEXT(DP) "},{\"name\":\"tp\",\"size\":" TEXT(
        TP) "}]},"
            "\"batch\":{\"global\":8,\"micro\":" MICRO_TEXT(
                DP) ",\"microbatches\":2,\"seq\":16,\"data_axes\":[\"dp\"]},"
                    "\"arena\":{\"bytes\":" TEXT(
                        ARENA_BYTES) ",\"threads\":4,\"categories\":{\"parameters\":4096,"
                                     "\"gradients\":4096,"
                                     "\"optimizer\":4096,\"temporaries\":20480,\"communication\":"
                                     "2097152}},"
                                     "\"inputs\":{\"tokens\":" INPUT("0") ",\"targets\":" INPUT(
                                         "8192") "},"
                                                 "\"tensors\":[" TENSOR_W("parameter", "16384") "," TENSOR_W("moment1", "20480") "," TENSOR_W("gradient", "24576") "," TENSOR_B(
                                                     "parameter", "28672",
                                                     "bf16") "," TENSOR_B("master", "28736",
                                                                          "f32") "," TENSOR_B("mome"
                                                                                              "nt1",
                                                                                              "2880"
                                                                                              "0",
                                                                                              "f32") "," TENSOR_B("gradient",
                                                                                                                  "28864",
                                                                                                                  "f32") "],"
                                                                                                                         "\"groups_optimizer\":[{\"match\":\"*\",\"weight_decay_scale\":1,\"lr_scale\":1},"
                                                                                                                         "{\"match\":\"bias\",\"weight_decay_scale\":0.5,\"lr_scale\":0.5}],"
                                                                                                                         "\"groups\":[{\"axes\":[\"dp\",\"tp\"]},{\"axes\":[\"dp\"]},{\"axes\":[\"tp\"]}],"
                                                                                                                         "\"collectives\":[{\"kind\":\"all_reduce\",\"source\":\"loss\"},{\"kind\":\"all_reduce\",\"source\":\"gradients\"},"
                                                                                                                         "{\"kind\":\"all_reduce\",\"source\":\"norm\"}],"
                                                                                                                         "\"collective_slots\":2,\"staging\":{\"offset\":32768,\"bytes\":2097152},\"hyperparameters\":{\"lr\":0.5,\"momentum\":0.9,\"weight_decay\":0,\"clip_grad\":0}}";

static void reduce(ulsc_context *context, int group, int identifier, float *values, int64_t count,
                   int slot) {
  const int32_t dtype = ULSC_F32;
  ulsc_collective_desc desc = {ULSC_ALL_REDUCE, ULSC_SUM, group, 1, &count, &dtype, identifier, NULL};
  void *buffer = values;
  ulsc_collective_start(context, &desc, &buffer, &buffer, slot);
  ulsc_collective_wait(context, slot);
}

// Rows [begin, end) of the update; arguments are weight, moment, gradient.
static void updateTable(ulsc_context *context, void *const *arguments, int64_t begin, int64_t end,
                        int64_t thread) {
  const ulsc_control *control = context->control;
  float *weight = arguments[0], *moment = arguments[1], *gradient = arguments[2];
  for (int64_t i = begin * columns; i < end * columns; ++i) {
    moment[i] = control->momentum * moment[i] + gradient[i];
    weight[i] -= control->learning_rate * control->parameter_scales[0] *
                 (moment[i] + control->weight_decay * control->parameter_scales[1] * weight[i]);
  }
  (void)thread;
}

static float accumulate(ulsc_context *context) {
  const int32_t *tokens = (const int32_t *)(context->arena + tokensAt);
  const int32_t *targets = (const int32_t *)(context->arena + targetsAt);
  float *weight = (float *)(context->arena + weightAt),
        *gradient = (float *)(context->arena + gradientAt);
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

static void updateBias(ulsc_context *context) {
  const ulsc_control *control = context->control;
  float *master = (float *)(context->arena + masterAt),
        *moment = (float *)(context->arena + biasMomentAt);
  float *gradient = (float *)(context->arena + biasGradientAt);
  uint16_t *stored = (uint16_t *)(context->arena + biasAt);
  for (int i = 0; i < biasSize; ++i) {
    gradient[i] = master[i];
    moment[i] = control->momentum * moment[i] + gradient[i];
    master[i] -= control->learning_rate * control->parameter_scales[2] * moment[i] * 0.01f;
    uint32_t bits;
    memcpy(&bits, &master[i], 4);
    stored[i] = (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
}

// Says when it begins and when a signal comes, so that a test need not guess.
static void sleepIn(int64_t step, int milliseconds) {
  struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  fprintf(stderr, "in step %lld\n", (long long)step);
  while (nanosleep(&left, &left) != 0)
    fprintf(stderr, "interrupted in step %lld\n", (long long)step);
}

void ulsc_step(ulsc_context *context) {
  ulsc_control *control = context->control;
  const char *sleep = getenv("FAKE_SLEEP_MS"), *nan = getenv("FAKE_NAN_AT");
  if (sleep)
    sleepIn(control->step + 1, atoi(sleep));
  float *scratch = (float *)(context->arena + scratchAt);
  float *gradient = (float *)(context->arena + gradientAt),
        *master = (float *)(context->arena + masterAt);
  scratch[0] = accumulate(context);
  scratch[1] = control->stop_requested;
  reduce(context, 0, 0, scratch, 2, 0);
  reduce(context, 1, 1, gradient, local, 1);
  scratch[2] = 0;
  for (int i = 0; i < local; ++i)
    scratch[2] += gradient[i] * gradient[i];
  reduce(context, 2, 2, scratch + 2, 1, 0);
  void *arguments[] = {context->arena + weightAt, context->arena + momentAt,
                       context->arena + gradientAt};
  float biasLoss = 0;
  for (int i = 0; i < biasSize; ++i)
    biasLoss += 0.5f * master[i] * master[i];
  ulsc_launch(context, updateTable, "update_table", arguments, rows, 1);
  updateBias(context);
  control->loss = nan && atoi(nan) == control->step + 1 ? NAN : scratch[0] + biasLoss;
  control->grad_norm = sqrtf(scratch[2] + 2 * biasLoss);
  control->valid_count = batch * seq;
  control->stop_count = scratch[1];
}

// A tiny hand-written program in stages, for tests of the runtime alone: with W the table, a and b
// the biases of the first and the last stage,
//
//   loss = 1/(2N) sum over tokens |W[token] + a + b - W[target]|^2,
//
// by SGD with momentum. The first stage looks tokens up, the last one compares with targets, so the
// table is tied: both keep it and sum its gradient. Compile with -DPP=1 or 2 and -DDP=1 or 2; all
// of the same DP compute the same bits. With FAKE_EXTRA=n, the first stage sends n elements more
// than the last one expects; with FAKE_SLEEP_MS it begins each step that much later.
#include "fake_pipeline_manifest.h"
#include "ulsc/RuntimeABI.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { batch = 8, seq = 16, rows = 50, columns = 4, microbatches = 2 };
enum { tokensOfOne = batch / DP / microbatches * seq, elements = tokensOfOne * columns };
enum { pipeline = 0, data = 1, all = 2 }; // groups
enum { countSlot = microbatches };        // the slots below it are the microbatches'
enum Identifier {
  SendActivations,
  ReceiveActivations,
  SendCotangents,
  ReceiveCotangents,
  Count,
  Gradients,
  Tied,
  Numbers,
  Parameters
};

const char ulsc_manifest[] = FAKE_MANIFEST;

typedef struct Rank {
  ulsc_context *context;
  int isFirst, isLast, dataRank;
  /// Where this stage has what both have.
  int64_t table, tableMoment, tableGradient;
} Rank;

static float *at(const Rank *rank, int64_t offset) {
  return (float *)(rank->context->arena + offset);
}

static const int32_t *idsAt(const Rank *rank, int64_t offset, int microbatch) {
  return (const int32_t *)(rank->context->arena + offset) + microbatch * tokensOfOne;
}

// Descriptors live until the wait: there is one for each slot.
static void start(const Rank *rank, int kind, int group, enum Identifier identifier, float *input,
                  float *output, int64_t count, int slot) {
  static const int32_t dtype = ULSC_F32;
  static int64_t counts[countSlot + 1];
  static ulsc_collective_desc descs[countSlot + 1];
  int isMessage = kind == ULSC_SEND || kind == ULSC_RECEIVE;
  counts[slot] = count;
  descs[slot] = (ulsc_collective_desc){kind,       ULSC_SUM,      group,
                                       1,          &counts[slot], &dtype,
                                       identifier, NULL,          isMessage ? rank->isFirst : -1};
  void *inputs[] = {input}, *outputs[] = {output};
  ulsc_collective_start(rank->context, &descs[slot], input ? inputs : NULL, output ? outputs : NULL,
                        slot);
}

static void reduce(const Rank *rank, int group, enum Identifier identifier, float *values,
                   int64_t count) {
  start(rank, ULSC_ALL_REDUCE, group, identifier, values, values, count, countSlot);
  ulsc_collective_wait(rank->context, countSlot);
}

static int64_t extraElements(void) {
  const char *extra = getenv("FAKE_EXTRA");
  return extra ? atoi(extra) : 0;
}

static void sleepIfAsked(void) {
  const char *sleep = getenv("FAKE_SLEEP_MS");
  long milliseconds = sleep ? atoi(sleep) : 0;
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&time, NULL);
}

// Forward: all sends are under way before one is waited for.
static void lookUp(const Rank *rank) {
  for (int m = 0; m < microbatches; ++m) {
    const int32_t *tokens = idsAt(rank, TOKENS_AT, m);
    float *activations = at(rank, ACTIVATIONS_AT) + m * elements;
    for (int i = 0; i < elements; ++i)
      activations[i] = at(rank, rank->table)[tokens[i / columns] * columns + i % columns] +
                       at(rank, FIRST_AT)[i % columns];
    if (!rank->isLast)
      start(rank, ULSC_SEND, pipeline, SendActivations, activations, NULL,
            elements + extraElements(), m);
  }
}

// Loss and gradients of one microbatch on the last stage; `headGradient` is the table's.
static float compare(const Rank *rank, int m, float count, float *headGradient) {
  const int32_t *targets = idsAt(rank, TARGETS_AT, m);
  const float *activations = at(rank, ACTIVATIONS_AT) + m * elements;
  float *cotangents = at(rank, COTANGENTS_AT) + m * elements, loss = 0;
  for (int i = 0; i < elements; ++i) {
    int64_t place = targets[i / columns] * columns + i % columns;
    float difference =
        activations[i] + at(rank, LAST_AT)[i % columns] - at(rank, rank->table)[place];
    loss += 0.5f * difference * difference / count;
    cotangents[i] = difference / count;
    headGradient[place] -= cotangents[i];
    at(rank, LAST_GRADIENT_AT)[i % columns] += cotangents[i];
  }
  return loss;
}

static void backward(const Rank *rank, int m) {
  const int32_t *tokens = idsAt(rank, TOKENS_AT, m);
  const float *cotangents = at(rank, COTANGENTS_AT) + m * elements;
  for (int i = 0; i < elements; ++i) {
    at(rank, TABLE_GRADIENT_AT)[tokens[i / columns] * columns + i % columns] += cotangents[i];
    at(rank, FIRST_GRADIENT_AT)[i % columns] += cotangents[i];
  }
}

static void exchangeForward(const Rank *rank) {
  for (int m = 0; m < microbatches; ++m)
    if (rank->isFirst)
      ulsc_collective_wait(rank->context, m);
    else
      start(rank, ULSC_RECEIVE, pipeline, ReceiveActivations, NULL,
            at(rank, ACTIVATIONS_AT) + m * elements, elements, m);
  for (int m = microbatches; m-- > 0 && !rank->isFirst;) // the last first
    ulsc_collective_wait(rank->context, m);
}

static void exchangeBackward(const Rank *rank) {
  int kind = rank->isLast ? ULSC_SEND : ULSC_RECEIVE;
  for (int m = 0; m < microbatches; ++m) {
    float *buffer = at(rank, COTANGENTS_AT) + m * elements;
    start(rank, kind, pipeline, rank->isLast ? SendCotangents : ReceiveCotangents,
          rank->isLast ? buffer : NULL, rank->isLast ? NULL : buffer, elements, m);
  }
  for (int m = microbatches; m-- > 0;)
    ulsc_collective_wait(rank->context, m);
}

// Each data rank updates a part, then all gather. `scales` is the parameter's place among those of
// its stage.
static void update(const Rank *rank, int64_t value, int64_t moment, int64_t gradient, int size,
                   int scales) {
  const ulsc_control *control = rank->context->control;
  int chunk = size / DP, begin = rank->dataRank * chunk;
  float *weight = at(rank, value) + begin, *moments = at(rank, moment);
  for (int i = 0; i < chunk; ++i) {
    moments[i] = control->momentum * moments[i] + at(rank, gradient)[begin + i];
    weight[i] -= control->learning_rate * control->parameter_scales[2 * scales] * moments[i];
  }
  start(rank, ULSC_ALL_GATHER, data, Parameters, weight, at(rank, value), chunk, countSlot);
  ulsc_collective_wait(rank->context, countSlot);
}

static float squares(const float *values, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i)
    sum += values[i] * values[i];
  return sum;
}

static Rank rankOf(ulsc_context *context) {
  const int64_t *coordinates = context->control->coordinates;
  int64_t stage = PP > 1 ? coordinates[0] : 0;
  Rank rank = {context,  stage == 0,      stage == PP - 1,  (int)coordinates[PP > 1],
               TABLE_AT, TABLE_MOMENT_AT, TABLE_GRADIENT_AT};
  if (!rank.isFirst) {
    rank.table = HEAD_TABLE_AT;
    rank.tableMoment = HEAD_TABLE_MOMENT_AT;
    rank.tableGradient = HEAD_TABLE_GRADIENT_AT;
  }
  return rank;
}

static void clearGradients(const Rank *rank) {
  memset(at(rank, TABLE_GRADIENT_AT), 0, rows * columns * sizeof(float));
  memset(at(rank, HEAD_TABLE_GRADIENT_AT), 0, rows * columns * sizeof(float));
  memset(at(rank, FIRST_GRADIENT_AT), 0, columns * sizeof(float));
  memset(at(rank, LAST_GRADIENT_AT), 0, columns * sizeof(float));
}

// Sums over data ranks, then of the table's two uses.
static void reduceGradients(const Rank *rank) {
  float *embedding = at(rank, TABLE_GRADIENT_AT), *head = at(rank, HEAD_TABLE_GRADIENT_AT);
  if (rank->isFirst) {
    reduce(rank, data, Gradients, embedding, rows * columns);
    reduce(rank, data, Gradients, at(rank, FIRST_GRADIENT_AT), columns);
  }
  if (rank->isLast) {
    reduce(rank, data, Gradients, head, rows * columns);
    reduce(rank, data, Gradients, at(rank, LAST_GRADIENT_AT), columns);
  }
  for (int i = 0; i < rows * columns && PP == 1; ++i)
    embedding[i] += head[i];
  reduce(rank, pipeline, Tied, at(rank, rank->tableGradient), rows * columns);
}

// What the last stage knows of loss and norm, and all of stops, on every rank.
static void report(const Rank *rank, float *loss, const float *count) {
  ulsc_control *control = rank->context->control;
  float *numbers = at(rank, SCRATCH_AT) + 2;
  reduce(rank, data, Numbers, loss, 1);
  float first = rank->isFirst ? squares(at(rank, FIRST_GRADIENT_AT), columns) : 0;
  float last = rank->isLast ? squares(at(rank, LAST_GRADIENT_AT), columns) +
                                  squares(at(rank, rank->tableGradient), rows * columns)
                            : 0;
  numbers[0] = *loss;
  numbers[1] = first + last;
  reduce(rank, pipeline, Numbers, numbers, 2);
  numbers[2] = control->stop_requested;
  reduce(rank, all, Numbers, numbers + 2, 1);
  control->loss = numbers[0];
  control->grad_norm = sqrtf(numbers[1]);
  control->stop_count = numbers[2];
  control->valid_count = *count;
}

void ulsc_step(ulsc_context *context) {
  Rank rank = rankOf(context);
  float *count = at(&rank, SCRATCH_AT), *loss = count + 1;
  *count = microbatches * tokensOfOne;
  *loss = 0;
  clearGradients(&rank);
  // Under way while messages are.
  start(&rank, ULSC_ALL_REDUCE, data, Count, count, count, 1, countSlot);
  if (rank.isFirst) {
    sleepIfAsked();
    lookUp(&rank);
  }
  if (PP > 1) {
    ulsc_block_begin(context, "exchange.fwd", "exchange");
    exchangeForward(&rank);
    ulsc_block_end(context);
  }
  ulsc_collective_wait(context, countSlot);
  for (int m = 0; m < microbatches && rank.isLast; ++m)
    *loss += compare(&rank, m, *count, at(&rank, HEAD_TABLE_GRADIENT_AT));
  if (PP > 1)
    exchangeBackward(&rank);
  for (int m = 0; m < microbatches && rank.isFirst; ++m)
    backward(&rank, m);
  reduceGradients(&rank);
  report(&rank, loss, count);
  // In the order in which each stage's manifest lists them.
  update(&rank, rank.table, rank.tableMoment, rank.tableGradient, rows * columns, !rank.isFirst);
  if (rank.isFirst)
    update(&rank, FIRST_AT, FIRST_MOMENT_AT, FIRST_GRADIENT_AT, columns, 1);
  if (rank.isLast)
    update(&rank, LAST_AT, LAST_MOMENT_AT, LAST_GRADIENT_AT, columns, PP == 1 ? 2 : 0);
}

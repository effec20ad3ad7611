// The functions of RuntimeABI.h, handed to the rank's device and communicator.
#include "core/context.h"
#include "core/error.h"
#include "metrics/exposure.h"
#include "metrics/trace.h"

using namespace ulsc::runtime;

static Context &full(ulsc_context *context) { return *static_cast<Context *>(context); }

const char *ulsc::runtime::collectiveKindName(int kind) {
  static const char *const names[collectiveKinds] = {
      "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute", "send", "receive"};
  return kind >= 0 && kind < collectiveKinds ? names[kind] : "unknown";
}

// MPI moves data only inside its own calls, so kernels and GEMMs give it a look at what is under
// way.
static void advanceCommunication(Context &context) {
  if (context.collectives)
    context.collectives->progress();
}

// Generated code can't be unwound: what goes wrong below it ends the job.
template <typename Work>
static void runOrEnd(const char *what, Work work) {
  try {
    work();
  } catch (const Error &error) {
    endJob(what, error.what());
  }
}

template <typename Work>
static void runTraced(Context &context, TraceEvent event, Work work) {
  Trace *trace = context.trace;
  if (trace)
    event.beginMark = context.device->clock().mark();
  runOrEnd(event.name, work);
  if (!trace)
    return;
  event.endMark = context.device->clock().mark();
  trace->add(event);
}

void ulsc_launch(ulsc_context *context, ulsc_kernel kernel, const char *name, const char *source,
                 void *const *arguments, int64_t extent, int64_t grain) {
  full(context).device->announce(source);
  runTraced(full(context),
            {TraceEvent::Kernel, name, nullptr, full(context).device->accessedBytes(kernel)},
            [&] { full(context).device->launch(context, kernel, arguments, extent, grain); });
  advanceCommunication(full(context));
}

void ulsc_copy(ulsc_context *context, const char *source, void *target, const void *from,
               int64_t bytes) {
  full(context).device->announce(source);
  runOrEnd("copy", [&] { full(context).device->copy(target, from, bytes); });
}

void ulsc_forget(ulsc_context *context, const char *source, void *target, int64_t bytes) {
  full(context).device->announce(source);
  full(context).device->forget(target, bytes);
}

void ulsc_fill(ulsc_context *context, const char *source, void *target, uint32_t value,
               int32_t elementBytes, int64_t count) {
  full(context).device->announce(source);
  runOrEnd("fill", [&] { full(context).device->fill(target, value, elementBytes, count); });
}

void ulsc_gemm(ulsc_context *context, const ulsc_gemm_desc *desc, const void *a, const void *b,
               void *c, const void *input, void *output, void *workspace) {
  runTraced(full(context), {TraceEvent::Gemm, desc->name, desc},
            [&] { full(context).device->gemm(*desc, a, b, c, input, output, workspace); });
  advanceCommunication(full(context));
}

/// Bytes of q or out, of k or v, and of lse.
static int64_t queryBytes(const ulsc_attention_desc &d) {
  return 2 * d.batch * d.queries * d.kv_heads * d.group * d.head_size;
}
static int64_t keyBytes(const ulsc_attention_desc &d) {
  return 2 * d.batch * d.keys * d.kv_heads * d.head_size;
}
static int64_t lseBytes(const ulsc_attention_desc &d) {
  return 4 * d.batch * d.queries * d.kv_heads * d.group;
}

void ulsc_attention(ulsc_context *context, const ulsc_attention_desc *desc, const void *q,
                    const void *k, const void *v, void *out, void *lse, void *workspace) {
  int64_t bytes = 2 * queryBytes(*desc) + 2 * keyBytes(*desc) + lseBytes(*desc);
  runTraced(full(context), {TraceEvent::Kernel, "attention", nullptr, bytes},
            [&] { full(context).device->attention(*desc, q, k, v, out, lse, workspace); });
  advanceCommunication(full(context));
}

void ulsc_attention_grad(ulsc_context *context, const ulsc_attention_desc *desc, const void *q,
                         const void *k, const void *v, const void *out, const void *lse,
                         const void *dout, void *dq, void *dk, void *dv, void *workspace) {
  int64_t bytes = 4 * queryBytes(*desc) + 4 * keyBytes(*desc) + lseBytes(*desc);
  runTraced(full(context), {TraceEvent::Kernel, "attention_grad", nullptr, bytes}, [&] {
    full(context).device->attentionGrad(*desc, q, k, v, out, lse, dout, dq, dk, dv, workspace);
  });
  advanceCommunication(full(context));
}

void ulsc_collective_start(ulsc_context *context, const ulsc_collective_desc *desc,
                           void *const *inputs, void *const *outputs, int32_t slot) {
  Context &rank = full(context);
  int64_t begin = rank.device->clock().mark();
  runOrEnd("collective", [&] { rank.collectives->start(*desc, inputs, outputs, slot); });
  int64_t end = rank.device->clock().mark();
  rank.exposure->addStart(*desc, slot, begin, end);
  if (rank.trace)
    rank.trace->add({TraceEvent::Start, nullptr, desc, slot, begin, end});
}

void ulsc_collective_wait(ulsc_context *context, int32_t slot) {
  Context &rank = full(context);
  int64_t begin = rank.device->clock().mark();
  runOrEnd("collective", [&] { rank.collectives->wait(slot); });
  int64_t end = rank.device->clock().mark();
  rank.exposure->addWait(slot, begin, end);
  if (rank.trace)
    rank.trace->add({TraceEvent::Wait, nullptr, nullptr, slot, begin, end});
}

void ulsc_block_begin(ulsc_context *context, const char *name, const char *source) {
  full(context).device->enterBlock(name, source);
  if (Trace *trace = full(context).trace)
    trace->beginBlock(name, full(context).device->clock().mark());
}

void ulsc_block_end(ulsc_context *context) {
  full(context).device->leaveBlock();
  if (Trace *trace = full(context).trace)
    trace->endBlock(full(context).device->clock().mark());
}

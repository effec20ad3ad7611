// The functions of RuntimeABI.h, handed to the rank's device and communicator.
#include "core/clock.h"
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

void ulsc_launch(ulsc_context *context, ulsc_kernel kernel, const char *name, const char *source,
                 void *const *arguments, int64_t extent, int64_t grain) {
  TraceScope scope(full(context).trace, TraceEvent::Kernel, name);
  full(context).device->announce(source);
  runOrEnd(name, [&] { full(context).device->launch(context, kernel, arguments, extent, grain); });
  scope.end();
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
               void *c, void *workspace) {
  TraceScope scope(full(context).trace, TraceEvent::Gemm, desc->name, desc);
  runOrEnd(desc->name, [&] { full(context).device->gemm(*desc, a, b, c, workspace); });
  scope.end();
  advanceCommunication(full(context));
}

void ulsc_collective_start(ulsc_context *context, const ulsc_collective_desc *desc,
                           void *const *inputs, void *const *outputs, int32_t slot) {
  Context &rank = full(context);
  double begin = secondsNow();
  TraceScope scope(rank.trace, TraceEvent::Start, nullptr, desc, slot);
  runOrEnd("collective", [&] { rank.collectives->start(*desc, inputs, outputs, slot); });
  rank.exposure->addStart(*desc, slot, secondsNow() - begin);
}

void ulsc_collective_wait(ulsc_context *context, int32_t slot) {
  Context &rank = full(context);
  double begin = secondsNow();
  TraceScope scope(rank.trace, TraceEvent::Wait, nullptr, nullptr, slot);
  runOrEnd("collective", [&] { rank.collectives->wait(slot); });
  rank.exposure->addWait(slot, secondsNow() - begin);
}

void ulsc_block_begin(ulsc_context *context, const char *name, const char *source) {
  full(context).device->enterBlock(name, source);
  if (Trace *trace = full(context).trace)
    trace->beginBlock(name);
}

void ulsc_block_end(ulsc_context *context) {
  full(context).device->leaveBlock();
  if (Trace *trace = full(context).trace)
    trace->endBlock();
}

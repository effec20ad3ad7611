#include "metrics/trace.h"

#include "checkpoint/files.h"
#include "comm/communicator.h"
#include "core/clock.h"
#include "core/context.h"
#include "core/epilogue.h"
#include "core/error.h"

#include <map>

namespace ulsc::runtime {

namespace {

enum Lane { StepLane, ComputeLane, CommunicationLane, BlockLane };

using Json = nlohmann::ordered_json;

Json nameOf(const char *kind, int rank, Json arguments) {
  return {{"name", kind}, {"ph", "M"}, {"pid", rank}, {"args", std::move(arguments)}};
}

} // namespace

// A JSON list without its brackets, so that lists of several ranks are joined by a comma.
class Trace::EventList {
public:
  EventList(int rank, double origin) : rank(rank), origin(origin) {}

  void add(Json event) {
    text += text.empty() ? "" : ",\n";
    text += event.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  void addSpan(const std::string &name, const char *category, Lane lane, double begin, double end,
               Json arguments = Json::object()) {
    add({{"name", name},
         {"cat", category},
         {"ph", "X"},
         {"ts", (begin - origin) * 1e6},
         {"dur", (end - begin) * 1e6},
         {"pid", rank},
         {"tid", static_cast<int>(lane)},
         {"args", std::move(arguments)}});
  }

  std::string text;

private:
  int rank;
  double origin;
};

namespace {

// What the times of blocks depend on, for who reads them; docs/program.md.
Json workload(const Manifest &manifest) {
  return {{"model", manifest.modelName},       {"family", manifest.modelFamily},
          {"parameters", manifest.parameters}, {"dtype", manifest.dtype},
          {"seq", manifest.batch.seq},         {"micro_batch", manifest.batch.micro},
          {"mesh", manifest.mesh.text()}};
}

Json gemmArguments(const ulsc_gemm_desc &desc) {
  double flops = 2.0 * static_cast<double>(desc.batch) * static_cast<double>(desc.m) *
                 static_cast<double>(desc.n) * static_cast<double>(desc.k);
  Json arguments = {
      {"batch", desc.batch}, {"m", desc.m}, {"n", desc.n}, {"k", desc.k}, {"flops", flops}};
  if (const char *epilogue = epilogueName(desc.epilogue))
    arguments["epilogue"] = epilogue;
  return arguments;
}

} // namespace

Trace::Trace(const Manifest &manifest, Communicator &communicator, int64_t steps)
    : manifest(manifest), communicator(communicator), steps(steps) {
  communicator.barrier();
  origin = secondsNow();
}

void Trace::beginStep(int64_t number) {
  if (static_cast<int64_t>(stepBegins.size()) == steps) {
    size_t second = steps > 1 ? stepBegins[1] : events.size();
    events.erase(events.begin(), events.begin() + static_cast<int64_t>(second));
    stepBegins.erase(stepBegins.begin());
    for (size_t &position : stepBegins)
      position -= second;
  }
  stepBegins.push_back(events.size());
  TraceEvent event{TraceEvent::Step, nullptr, nullptr, number};
  event.begin = secondsNow();
  add(event);
}

void Trace::endStep(double inputSeconds, const WorkClock &clock) {
  size_t first = stepBegins.back();
  events[first].end = secondsNow();
  for (size_t i = first + 1; i < events.size(); ++i) {
    TraceEvent &event = events[i];
    event.begin = clock.secondsAt(event.beginMark);
    event.end = clock.secondsAt(event.endMark);
    // A block comes after what is inside of it.
    for (size_t inner = event.first; event.kind == TraceEvent::Block && inner < i; ++inner)
      if (events[inner].kind == TraceEvent::Start || events[inner].kind == TraceEvent::Wait)
        event.waited += events[inner].end - events[inner].begin;
  }
  TraceEvent input{TraceEvent::Input};
  input.begin = events[first].begin;
  input.end = input.begin + inputSeconds;
  add(input);
}

void Trace::beginBlock(const char *name, int64_t mark) {
  TraceEvent block{TraceEvent::Block, name};
  block.beginMark = mark;
  block.first = events.size();
  openBlocks.push_back(block);
}

void Trace::endBlock(int64_t mark) {
  TraceEvent block = openBlocks.back();
  openBlocks.pop_back();
  block.endMark = mark;
  add(block);
}

void Trace::addCollective(EventList &list, const TraceEvent &event,
                          std::map<int64_t, TraceEvent> &started) const {
  bool isStart = event.kind == TraceEvent::Start;
  if (isStart)
    started[event.number] = event;
  auto found = started.find(event.number);
  if (found == started.end())
    return;
  auto *desc = static_cast<const ulsc_collective_desc *>(found->second.descriptor);
  std::string kind = collectiveKindName(desc->kind);
  Json arguments = {{"collective", desc->identifier}, {"slot", event.number}};
  bool isKnown =
      desc->identifier >= 0 && desc->identifier < static_cast<int64_t>(manifest.collectives.size());
  if (isKnown)
    arguments["source"] = manifest.collectives[desc->identifier].source;
  list.addSpan(kind + (isStart ? " start" : " wait"), isStart ? "start" : "wait", ComputeLane,
               event.begin, event.end, arguments);
  if (isStart)
    return;
  list.addSpan(kind, "collective", CommunicationLane, found->second.begin, event.end, arguments);
  started.erase(found);
}

std::string Trace::text() const {
  int rank = communicator.rank();
  EventList list(rank, origin);
  list.add(nameOf("process_name", rank, {{"name", concat("rank ", rank)}}));
  const char *lanes[] = {"step", "compute", "communication", "blocks"};
  for (int lane = StepLane; lane <= BlockLane; ++lane) {
    Json name = nameOf("thread_name", rank, {{"name", lanes[lane]}});
    name["tid"] = lane;
    list.add(name);
  }
  std::map<int64_t, TraceEvent> started;
  for (const TraceEvent &event : events) {
    switch (event.kind) {
    case TraceEvent::Step:
      list.addSpan(concat("step ", event.number), "step", StepLane, event.begin, event.end);
      break;
    case TraceEvent::Input:
      list.addSpan("input", "input", ComputeLane, event.begin, event.end);
      break;
    case TraceEvent::Block:
      list.addSpan(event.name, "block", BlockLane, event.begin, event.end,
                   {{"waited_us", event.waited * 1e6}});
      break;
    case TraceEvent::Kernel:
      list.addSpan(event.name, "kernel", ComputeLane, event.begin, event.end,
                   event.number ? Json{{"bytes", event.number}} : Json::object());
      break;
    case TraceEvent::Gemm:
      list.addSpan(event.name, "gemm", ComputeLane, event.begin, event.end,
                   gemmArguments(*static_cast<const ulsc_gemm_desc *>(event.descriptor)));
      break;
    case TraceEvent::Start:
    case TraceEvent::Wait:
      addCollective(list, event, started);
      break;
    }
  }
  return list.text;
}

void Trace::write(const std::string &path) const {
  std::string own = text();
  std::vector<uint64_t> sizes = communicator.gather(own.size());
  constexpr int64_t piece = 64 << 20;
  if (communicator.rank() != 0) {
    for (int64_t sent = 0; sent < static_cast<int64_t>(own.size()); sent += piece)
      communicator.send(own.data() + sent,
                        std::min<int64_t>(piece, static_cast<int64_t>(own.size()) - sent), 0);
    return;
  }
  // All ranks' text is taken before the file is touched: a full disk leaves no rank in a send.
  std::vector<std::string> texts = {own};
  for (int rank = 1; rank < communicator.ranks(); ++rank) {
    std::string other(sizes[rank], ' ');
    for (int64_t taken = 0; taken < static_cast<int64_t>(other.size()); taken += piece)
      communicator.receive(other.data() + taken,
                           std::min<int64_t>(piece, static_cast<int64_t>(other.size()) - taken),
                           rank);
    texts.push_back(std::move(other));
  }
  std::string partial = path + ".partial";
  FileWriter writer(partial);
  auto put = [&](const std::string &text) {
    writer.write(text.data(), static_cast<int64_t>(text.size()));
  };
  put("{\"displayTimeUnit\": \"ms\", \"otherData\": " + workload(manifest).dump() +
      ", \"traceEvents\": [\n");
  for (size_t rank = 0; rank < texts.size(); ++rank)
    put((rank ? ",\n" : "") + texts[rank]);
  put("\n]}\n");
  writer.finish();
  publishFile(partial, path);
}

} // namespace ulsc::runtime

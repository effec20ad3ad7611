//===- WriteTrace.cpp - A timeline as Chrome trace events -------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Timeline/Timeline.h"

using namespace ulsc;
using namespace ulsc::timeline;

namespace {
/// A process is a stage, a thread one of its lanes; 0 is that of work.
class TraceWriter {
public:
  TraceWriter(llvm::raw_ostream &stream, const Timeline &timeline)
      : json(stream), timeline(timeline) {}

  void write() {
    json.object([&] {
      json.attribute("displayTimeUnit", "ms");
      json.attributeArray("traceEvents", [&] {
        for (size_t rank = 0; rank < timeline.ranks.size(); ++rank)
          writeRank(rank);
        for (size_t rank = 0; rank < timeline.ranks.size(); ++rank)
          writeFlows(rank);
      });
    });
  }

private:
  void writeName(llvm::StringRef what, size_t rank, size_t lane, llvm::StringRef name) {
    json.object([&] {
      json.attribute("name", what);
      json.attribute("ph", "M");
      json.attribute("pid", int64_t(rank));
      json.attribute("tid", int64_t(lane));
      json.attributeObject("args", [&] { json.attribute("name", name); });
    });
  }

  /// What any event has.
  void begin(llvm::StringRef name, llvm::StringRef category, llvm::StringRef phase, size_t rank,
             size_t lane, double time) {
    json.attribute("name", name);
    json.attribute("cat", category);
    json.attribute("ph", phase);
    json.attribute("pid", int64_t(rank));
    json.attribute("tid", int64_t(lane));
    json.attribute("ts", time);
  }

  void writeSpan(llvm::StringRef category, size_t rank, size_t lane, const Span &span,
                 llvm::StringRef prefix = "", std::optional<double> waitedUs = std::nullopt) {
    const Label &label = span.label;
    const std::vector<std::string> &texts = timeline.program.texts;
    json.object([&] {
      begin((prefix + texts[label.name]).str(), category, "X", rank, lane, span.start);
      json.attribute("dur", span.end - span.start);
      json.attributeObject("args", [&] {
        if (label.chunk >= 0)
          json.attribute("chunk", label.chunk);
        if (label.microbatch >= 0)
          json.attribute("microbatch", label.microbatch);
        if (label.kind <= Kind::Recompute)
          json.attribute("block", texts[label.name]);
        if (label.bytes)
          json.attribute("bytes", label.bytes);
        if (waitedUs)
          json.attribute("waited_us", *waitedUs);
        if (label.source)
          json.attribute("source", texts[label.source]);
        if (label.cause)
          json.attribute("cause", texts[label.cause]);
      });
    });
  }

  void writeRank(size_t index) {
    const RankProgram &program = timeline.program.ranks[index];
    const RankTimeline &rank = timeline.ranks[index];
    writeName("process_name", index, 0,
              program.stage >= 0 ? "stage " + std::to_string(program.stage) : "all ranks");
    writeName("thread_name", index, 0, "work");
    for (size_t i = 0; i < program.lanes.size(); ++i)
      writeName("thread_name", index, i + 1, program.lanes[i]);
    for (const Span &span : rank.work)
      writeSpan(getKindName(span.label.kind), index, 0, span);
    for (const Wait &wait : rank.waits)
      writeSpan("wait", index, 0,
                {program.communications[wait.communication].label, wait.start, wait.end},
                "wait for ");
    for (size_t i = 0; i < rank.communications.size(); ++i)
      writeSpan(getKindName(rank.communications[i].label.kind), index,
                program.communications[i].lane + 1, rank.communications[i], "", rank.waitedUs[i]);
    for (const MemoryPoint &point : rank.memory)
      json.object([&] {
        begin("memory", "memory", "C", index, 0, point.time);
        json.attributeObject("args", [&] {
          for (unsigned i = 0; i < kNumCategories; ++i)
            json.attribute(getCategoryName(Category(i)), point.bytes[i]);
        });
      });
  }

  /// An arrow from each send to its receive.
  void writeFlows(size_t index) {
    const std::vector<RankProgram> &ranks = timeline.program.ranks;
    for (auto [send, receive] : timeline.ranks[index].receivedAs) {
      const Communication &from = ranks[index].communications[send];
      const Span &span = timeline.ranks[index].communications[send];
      unsigned lane = ranks[from.peer].communications[receive].lane + 1;
      json.object([&] {
        begin("message", "message", "s", index, from.lane + 1, span.start);
        json.attribute("id", numFlows);
      });
      json.object([&] {
        begin("message", "message", "f", from.peer, lane, span.end);
        json.attribute("bp", "e");
        json.attribute("id", numFlows);
      });
      ++numFlows;
    }
  }

  llvm::json::OStream json;
  const Timeline &timeline;
  int64_t numFlows = 0;
};
} // namespace

void timeline::writeTrace(llvm::raw_ostream &stream, const Timeline &timeline) {
  TraceWriter(stream, timeline).write();
  stream << "\n";
}

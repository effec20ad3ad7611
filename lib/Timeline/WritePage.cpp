//===- WritePage.cpp - A timeline as a page ---------------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Timeline/Timeline.h"

#include <cmath>

using namespace ulsc;
using namespace ulsc::timeline;

static constexpr llvm::StringLiteral kPage =
#include "lib/Timeline/Page.inc"
    ;
/// What stands in the page where the data go.
static constexpr llvm::StringLiteral kPlace = "{{timeline}}";

namespace {
/// The data of the page. Times are whole nanoseconds; texts are numbers in `texts`.
class DataWriter {
public:
  DataWriter(llvm::raw_ostream &stream, const Timeline &timeline)
      : json(stream), timeline(timeline) {}

  void write(llvm::StringRef title, llvm::StringRef schedule) {
    json.object([&] {
      json.attribute("title", title);
      json.attribute("schedule", schedule);
      json.attribute("makespan", toNs(timeline.makespan));
      json.attribute("idleShare", timeline.idleShare);
      writeNames();
      json.attributeArray("ranks", [&] {
        for (size_t rank = 0; rank < timeline.ranks.size(); ++rank)
          json.object([&] { writeRank(rank); });
      });
    });
  }

private:
  static int64_t toNs(double us) { return std::llround(us * 1000); }

  void writeNames() {
    json.attributeArray("kinds", [&] {
      for (unsigned i = 0; i < kNumKinds; ++i)
        json.value(getKindName(Kind(i)));
    });
    json.attributeArray("categories", [&] {
      for (unsigned i = 0; i < kNumCategories; ++i)
        json.value(getCategoryName(Category(i)));
    });
    json.attributeArray("texts", [&] {
      for (const std::string &text : timeline.program.texts)
        json.value(text);
    });
  }

  void writeRank(size_t index) {
    const RankProgram &program = timeline.program.ranks[index];
    const RankTimeline &rank = timeline.ranks[index];
    json.attribute("stage", program.stage);
    json.attribute("idleShare", rank.idleShare);
    json.attribute("inFlight", rank.inFlight);
    json.attribute("workNs", toNs(rank.workUs));
    json.attribute("transferWaitNs", toNs(rank.transferWaitUs));
    json.attribute("collectiveWaitNs", toNs(rank.collectiveWaitUs));
    json.attribute("callWaitNs", toNs(rank.callWaitUs));
    json.attributeArray("lanes", [&] {
      for (const std::string &lane : program.lanes)
        json.value(lane);
    });
    json.attributeArray("work", [&] {
      for (const Span &span : rank.work)
        writeSpan(span);
    });
    // Index of the communication, whether a call waits.
    json.attributeArray("waits", [&] {
      for (const Wait &wait : rank.waits)
        writeNumbers({toNs(wait.start), toNs(wait.end), int64_t(wait.communication),
                      int64_t(wait.isInCall)});
    });
    json.attributeArray("communications", [&] {
      for (size_t i = 0; i < rank.communications.size(); ++i)
        writeSpan(rank.communications[i], int64_t(program.communications[i].lane));
    });
    json.attributeArray("messages", [&] {
      for (auto [send, receive] : rank.receivedAs)
        writeNumbers({int64_t(send), program.communications[send].peer, int64_t(receive)});
    });
    json.attributeArray("memory", [&] {
      for (const MemoryPoint &point : rank.memory) {
        llvm::SmallVector<int64_t, 8> numbers = {toNs(point.time)};
        numbers.append(point.bytes.begin(), point.bytes.end());
        writeNumbers(numbers);
      }
    });
  }

  void writeNumbers(llvm::ArrayRef<int64_t> numbers) {
    json.array([&] {
      for (int64_t number : numbers)
        json.value(number);
    });
  }

  void writeSpan(const Span &span, int64_t lane = -1) {
    const Label &label = span.label;
    llvm::SmallVector<int64_t, 10> numbers = {
        toNs(span.start), toNs(span.end),   int64_t(label.kind),  int64_t(label.name),
        label.chunk,      label.microbatch, int64_t(label.source)};
    if (lane >= 0)
      numbers.append({label.bytes, int64_t(label.cause), lane});
    writeNumbers(numbers);
  }

  llvm::json::OStream json;
  const Timeline &timeline;
};
} // namespace

void timeline::writePage(llvm::raw_ostream &stream, const Timeline &timeline, llvm::StringRef title,
                         llvm::StringRef schedule) {
  std::string data;
  llvm::raw_string_ostream text(data);
  DataWriter(text, timeline).write(title, schedule);
  auto [before, after] = kPage.split(kPlace);
  stream << before;
  // Nothing in the data may end the element that holds them.
  for (char c : data) {
    if (c == '<')
      stream << "\\u003c";
    else
      stream << c;
  }
  stream << after;
}

//===- ScheduleFile.cpp - Pipeline schedules as JSON files ------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/PipelineScheduleFile.h"

#include "ulsc/Support/JsonFile.h"
#include "ulsc/Support/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::pipeline;

static constexpr Work kWorks[] = {Work::Forward, Work::Backward, Work::BackwardInput,
                                  Work::BackwardWeight};

/// Of a table made wrong by a program all entries may be.
static constexpr unsigned kMostErrors = 20;

bool pipeline::isScheduleFile(StringRef text) {
  return text.ends_with(".json") || text.contains('/');
}

namespace {
/// Reads one file; all that is wrong with it is reported at once.
class ScheduleReader {
public:
  explicit ScheduleReader(const JsonFile &file) : file(file) {}

  std::optional<Schedule> run();
  /// Only the shape that the file says it is for.
  std::optional<Shape> readShape();

private:
  InFlightDiagnostic fail(const Twine &path);
  int64_t readCount(StringRef key, std::optional<int64_t> fallback);
  void readRankOf();
  void readTable();
  void readEntry(int64_t rank, size_t number, const llvm::json::Value &value);
  std::optional<Work> readWork(const std::string &path, const std::string &where,
                               const llvm::json::Value &value);
  std::optional<int64_t> readIndex(const std::string &path, const std::string &where,
                                   StringRef what, const llvm::json::Value &value, int64_t count);

  const JsonFile &file;
  Schedule schedule;
  bool isLegal = true;
  unsigned numErrors = 0;
};
} // namespace

InFlightDiagnostic ScheduleReader::fail(const Twine &path) {
  isLegal = false;
  SmallString<64> text;
  InFlightDiagnostic error = file.emitError(path.toStringRef(text));
  if (++numErrors > kMostErrors)
    error.abandon();
  return error;
}

/// A key with a count; 1 after an error, so that the rest can be looked at.
int64_t ScheduleReader::readCount(StringRef key, std::optional<int64_t> fallback) {
  const llvm::json::Value *value = file.getRoot().getAsObject()->get(key);
  if (!value) {
    if (!fallback)
      fail("") << "the schedule has no key \"" << key << "\", expected a whole number from 1";
    return fallback.value_or(1);
  }
  std::optional<int64_t> number = value->getAsInteger();
  if (number && *number >= 1 && *number <= kMostOfAny)
    return *number;
  fail("/" + key) << "\"" << key << "\" is " << describeJson(*value)
                  << ", expected a whole number from 1 to " << kMostOfAny;
  return 1;
}

std::optional<Shape> ScheduleReader::readShape() {
  static constexpr StringRef keys[] = {"ranks", "microbatches", "chunks_per_rank", "rank_of",
                                       "table"};
  if (!file.getRoot().getAsObject()) {
    fail("") << "the schedule is " << describeJson(file.getRoot()) << ", expected an object with "
             << llvm::join(ArrayRef<StringRef>(keys), ", ");
    return std::nullopt;
  }
  for (const std::string &key : file.getKeys(""))
    if (!llvm::is_contained(keys, key))
      fail("/" + key) << "\"" << shorten(key) << "\" is no key of a schedule; expected one of "
                      << llvm::join(ArrayRef<StringRef>(keys), ", ") << suggestNearest(key, keys);
  Shape shape;
  shape.ranks = readCount("ranks", std::nullopt);
  shape.microbatches = readCount("microbatches", std::nullopt);
  shape.chunksPerRank = readCount("chunks_per_rank", 1);
  return isLegal ? std::optional<Shape>(shape) : std::nullopt;
}

/// Without the key chunk c lies on rank c modulo the ranks.
void ScheduleReader::readRankOf() {
  int64_t chunks = schedule.shape.getChunks();
  const llvm::json::Value *value = file.getRoot().getAsObject()->get("rank_of");
  if (!value) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      schedule.rankOf.push_back(chunk % schedule.shape.ranks);
    return;
  }
  const llvm::json::Array *list = value->getAsArray();
  if (!list || int64_t(list->size()) != chunks) {
    fail("/rank_of") << "\"rank_of\" is " << describeJson(*value)
                     << ", expected a list with the rank of each of the " << chunks << " chunks";
    return;
  }
  for (auto [chunk, rank] : llvm::enumerate(*list))
    schedule.rankOf.push_back(readIndex("/rank_of/" + std::to_string(chunk),
                                        "chunk " + std::to_string(chunk), "rank", rank,
                                        schedule.shape.ranks)
                                  .value_or(0));
  for (int64_t rank = 0; rank < schedule.shape.ranks && isLegal; ++rank)
    if (int64_t count = llvm::count(schedule.rankOf, rank); count != schedule.shape.chunksPerRank)
      fail("/rank_of") << "\"rank_of\" gives rank " << rank << " " << count
                       << (count == 1 ? " chunk" : " chunks") << ", expected chunks_per_rank, "
                       << schedule.shape.chunksPerRank;
}

std::optional<Work> ScheduleReader::readWork(const std::string &path, const std::string &where,
                                             const llvm::json::Value &value) {
  SmallVector<StringRef> names;
  for (Work work : kWorks)
    names.push_back(getWorkName(work));
  StringRef text = value.getAsString().value_or("");
  for (Work work : kWorks)
    if (text == getWorkName(work))
      return work;
  fail(path) << where << ": the work is " << describeJson(value) << ", expected one of "
             << llvm::join(names, ", ") << suggestNearest(text, names);
  return std::nullopt;
}

std::optional<int64_t> ScheduleReader::readIndex(const std::string &path, const std::string &where,
                                                 StringRef what, const llvm::json::Value &value,
                                                 int64_t count) {
  std::optional<int64_t> number = value.getAsInteger();
  if (number && *number >= 0 && *number < count)
    return number;
  InFlightDiagnostic error = fail(path);
  error << where << ": the " << what << " is " << describeJson(value)
        << ", expected a whole number from 0 to " << count - 1;
  if (number)
    error << "; the nearest is " << std::clamp<int64_t>(*number, 0, count - 1);
  return std::nullopt;
}

void ScheduleReader::readEntry(int64_t rank, size_t number, const llvm::json::Value &value) {
  std::string path = "/table/" + std::to_string(rank) + "/" + std::to_string(number);
  std::string where = "rank " + std::to_string(rank) + ", entry " + std::to_string(number);
  const llvm::json::Array *parts = value.getAsArray();
  if (!parts || parts->size() != 3) {
    fail(path) << where << " is " << describeJson(value)
               << ", expected work, chunk and microbatch, as in [\"forward\", 0, 0]";
    return;
  }
  auto work = readWork(path + "/0", where, (*parts)[0]);
  auto chunk = readIndex(path + "/1", where, "chunk", (*parts)[1], schedule.shape.getChunks());
  auto microbatch =
      readIndex(path + "/2", where, "microbatch", (*parts)[2], schedule.shape.microbatches);
  if (work && chunk && microbatch)
    schedule.ranks[rank].push_back({*work, *chunk, *microbatch});
}

void ScheduleReader::readTable() {
  schedule.ranks.resize(schedule.shape.ranks);
  const llvm::json::Value *value = file.getRoot().getAsObject()->get("table");
  if (!value) {
    fail("") << "the schedule has no key \"table\", expected a list with the work of each rank";
    return;
  }
  const llvm::json::Array *list = value->getAsArray();
  if (!list || int64_t(list->size()) != schedule.shape.ranks) {
    fail("/table") << "\"table\" is "
                   << (list ? "a list of " + std::to_string(list->size()) : describeJson(*value))
                   << ", expected a list of " << schedule.shape.ranks
                   << ", each the work of one rank";
    return;
  }
  for (auto [rank, row] : llvm::enumerate(*list)) {
    const llvm::json::Array *entries = row.getAsArray();
    if (!entries) {
      fail("/table/" + Twine(rank)) << "rank " << rank << " is " << describeJson(row)
                                    << ", expected a list of entries, as in [\"forward\", 0, 0]";
      continue;
    }
    for (auto [number, entry] : llvm::enumerate(*entries))
      readEntry(rank, number, entry);
  }
}

std::optional<Schedule> ScheduleReader::run() {
  std::optional<Shape> shape = readShape();
  if (!shape)
    return std::nullopt;
  schedule.shape = *shape;
  readRankOf();
  readTable();
  if (numErrors > kMostErrors)
    file.emitError("/table") << "and " << numErrors - kMostErrors << " more errors";
  if (!isLegal)
    return std::nullopt;
  SchedulePlace place;
  if (std::string problem = checkSchedule(schedule, &place); !problem.empty()) {
    // What is read has as many entries as the file.
    std::string path = "/table";
    for (int64_t index : {place.rank, place.entry})
      if (index >= 0)
        path += "/" + std::to_string(index);
    fail(path) << problem;
    return std::nullopt;
  }
  return std::move(schedule);
}

/// The shape of a file is that of the compilation.
static bool checkShape(const JsonFile &file, const Shape &found, const Shape &wanted) {
  auto wantedText = [](const char *before, int64_t number, const char *after) {
    return before + std::to_string(number) + after;
  };
  struct {
    StringRef key, fix;
    int64_t found, wanted;
    std::string what;
  } const numbers[] = {{"ranks", "--mesh pp=", found.ranks, wanted.ranks,
                        wantedText("the mesh has pp=", wanted.ranks, "")},
                       {"microbatches", "--microbatches ", found.microbatches, wanted.microbatches,
                        wantedText("a step has ", wanted.microbatches, " microbatches")},
                       {"chunks_per_rank", "--pp-chunks ", found.chunksPerRank,
                        wanted.chunksPerRank,
                        wantedText("a rank has ", wanted.chunksPerRank,
                                   wanted.chunksPerRank == 1 ? " chunk" : " chunks")}};
  bool isLegal = true;
  for (const auto &number : numbers) {
    if (number.found == number.wanted)
      continue;
    isLegal = false;
    file.emitError(("/" + number.key).str())
        << "the schedule is for " << number.key << " = " << number.found << ", but " << number.what
        << "; take another table, or " << number.fix << number.found;
  }
  return isLegal;
}

std::optional<int64_t> pipeline::findChunksPerRank(Location location, StringRef text) {
  if (!isScheduleFile(text)) {
    std::optional<int64_t> chunks = getChunksPerRank(text);
    if (!chunks)
      emitError(location) << "schedule \"" << shorten(text) << "\" is not known; expected one of "
                          << llvm::join(getScheduleNames(), ", ") << ", or the path of a JSON file"
                          << suggestNearest(text, getScheduleNames());
    return chunks;
  }
  std::optional<JsonFile> file = JsonFile::load(location.getContext(), text);
  std::optional<Shape> shape = file ? ScheduleReader(*file).readShape() : std::nullopt;
  return shape ? std::optional<int64_t>(shape->chunksPerRank) : std::nullopt;
}

std::optional<Schedule> pipeline::findSchedule(Location location, StringRef text,
                                               const Shape &shape) {
  if (isScheduleFile(text)) {
    std::optional<JsonFile> file = JsonFile::load(location.getContext(), text);
    if (!file)
      return std::nullopt;
    // Before the table: its size follows from the shape.
    std::optional<Shape> found = ScheduleReader(*file).readShape();
    if (!found || !checkShape(*file, *found, shape))
      return std::nullopt;
    return ScheduleReader(*file).run();
  }
  std::string problem;
  std::optional<Schedule> schedule = makeSchedule(text, shape, problem);
  if (!schedule)
    emitError(location) << "schedule " << text << " " << problem;
  return schedule;
}

void pipeline::writeSchedule(raw_ostream &stream, const Schedule &schedule) {
  llvm::json::OStream json(stream, 2);
  // An entry a line, which the printer would spread over five.
  auto writeOnLine = [&](llvm::json::Array list) {
    json.rawValue([&](raw_ostream &out) { out << llvm::json::Value(std::move(list)); });
  };
  json.object([&] {
    json.attribute("ranks", schedule.shape.ranks);
    json.attribute("microbatches", schedule.shape.microbatches);
    json.attribute("chunks_per_rank", schedule.shape.chunksPerRank);
    json.attributeBegin("rank_of");
    writeOnLine(llvm::json::Array(schedule.rankOf));
    json.attributeEnd();
    json.attributeArray("table", [&] {
      for (const std::vector<Entry> &entries : schedule.ranks)
        json.array([&] {
          for (const Entry &entry : entries)
            writeOnLine(llvm::json::Array{getWorkName(entry.work), entry.chunk, entry.microbatch});
        });
    });
  });
  stream << "\n";
}

#include "metrics/metrics.h"

#include "checkpoint/files.h"
#include "core/error.h"
#include "metrics/exposure.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ulsc::runtime {

int64_t peakProcessBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kibibytes = 0;
  while (status >> word)
    if (word == "VmHWM:" && status >> kibibytes)
      return kibibytes * 1024;
  return 0;
}

std::string byteText(int64_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

// "2.0 MiB a rank: parameters 1.0 MiB, …"; `of` follows "a rank".
static std::string memoryText(const Stage &stage, const std::string &of) {
  std::string categories;
  for (const auto &[name, bytes] : stage.arenaCategories)
    categories += concat(categories.empty() ? ": " : ", ", name, " ", byteText(bytes));
  return concat(byteText(stage.arenaBytes), " a rank", of, categories);
}

// "2 stages, schedule zbv, 2 chunks each"; what an older program does not tell is left out.
static std::string pipelineText(const Manifest &manifest) {
  std::string schedule, chunks;
  if (!manifest.pipelineSchedule.empty())
    schedule = ", schedule " + manifest.pipelineSchedule;
  if (manifest.chunksPerStage > 1)
    chunks = concat(", ", manifest.chunksPerStage, " chunks each");
  return concat(manifest.stages.size(), " stages", schedule, chunks);
}

void printHeader(const Manifest &manifest, const std::string &threads) {
  const Batch &batch = manifest.batch;
  int64_t dataRanks = manifest.mesh.sizeOver(batch.dataAxes);
  std::printf("model    %s, %lld parameters, %s, %s\n", manifest.modelName.c_str(),
              static_cast<long long>(manifest.parameters), manifest.dtype.c_str(),
              manifest.optimizer.c_str());
  std::printf("mesh     %s (%lld rank%s)\n", manifest.mesh.text().c_str(),
              static_cast<long long>(manifest.mesh.ranks()), manifest.mesh.ranks() == 1 ? "" : "s");
  if (manifest.stages.size() > 1)
    std::printf("pipeline %s\n", pipelineText(manifest).c_str());
  std::printf("batch    %lld sequences of %lld tokens = micro-batch %lld x %lld microbatch%s x "
              "%lld data rank%s\n",
              static_cast<long long>(batch.global), static_cast<long long>(batch.seq),
              static_cast<long long>(batch.micro), static_cast<long long>(batch.microbatches),
              batch.microbatches == 1 ? "" : "es", static_cast<long long>(dataRanks),
              dataRanks == 1 ? "" : "s");
  std::printf("threads  %s\n", threads.c_str());
  for (size_t stage = 0; stage < manifest.stages.size(); ++stage) {
    std::string of = manifest.stages.size() > 1 ? concat(" of stage ", stage) : "";
    std::printf("memory   %s\n", memoryText(manifest.stages[stage], of).c_str());
  }
  std::fflush(stdout);
}

namespace {

// The step that a line is of, or the last one that it tells about at the end of a run; -1: none.
int64_t stepOf(const nlohmann::json &object, bool &isEnd) {
  auto number = [](const nlohmann::json &holder, const char *key) -> int64_t {
    bool has = holder.is_object() && holder.contains(key) && holder[key].is_number_integer();
    return has ? holder[key].get<int64_t>() : -1;
  };
  isEnd = object.is_object() && object.contains("exposure");
  return isEnd ? number(object["exposure"], "last_step") : number(object, "step");
}

// What of a metrics file stays when a run goes on after `firstStep`: all but the last run's lines
// of later steps, which come again, and a line that a crash cut. Steps that don't grow begin
// another run. A run that begins anew (`firstStep` is 0) keeps every line.
std::string keptLines(const std::string &content, int64_t firstStep) {
  std::vector<std::pair<std::string, int64_t>> lines; // with their steps, -1: none
  size_t lastRun = 0;
  int64_t previous = 0;
  std::istringstream input(content);
  for (std::string line; std::getline(input, line);) {
    nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    if (object.is_discarded() && input.eof())
      continue;
    bool isEnd = false;
    int64_t step = stepOf(object, isEnd);
    bool hasStep = step >= 0 && !isEnd;
    if (hasStep && step <= previous)
      lastRun = lines.size();
    previous = hasStep ? step : previous;
    lines.emplace_back(line + "\n", step);
  }
  std::string kept;
  for (size_t i = 0; i < lines.size(); ++i)
    if (firstStep == 0 || i < lastRun || lines[i].second <= firstStep)
      kept += lines[i].first;
  return kept;
}

std::string contentOf(const std::string &path) {
  std::ifstream input(path, std::ios::binary);
  std::stringstream content;
  if (input)
    content << input.rdbuf();
  return content.str();
}

// The earlier lines are on the disk at all times: what stays is written beside and renamed.
void dropLines(const std::string &path, int64_t firstStep) {
  std::string content = contentOf(path), kept = keptLines(content, firstStep);
  if (kept == content)
    return;
  std::string target = std::filesystem::canonical(path), partial = target + ".partial";
  writeFile(partial, kept);
  publishFile(partial, target);
}

// Open MPI gives ranks a pseudo-terminal even when mpirun itself writes to a file.
bool isOnTerminal() { return isatty(STDOUT_FILENO) && !std::getenv("OMPI_COMM_WORLD_RANK"); }

} // namespace

Metrics::Metrics(const Manifest &manifest, const std::string &path, int64_t firstStep)
    : manifest(manifest), path(path), isTerminal(isOnTerminal()) {
  if (path.empty())
    return;
  // A pipe or a device has no earlier lines; it is written to as it is.
  if (specialKind(path).empty())
    dropLines(path, firstStep);
  file = std::fopen(path.c_str(), "a");
  if (!file)
    raise("can't write metrics file '", path, "': ", std::strerror(errno),
          "; give a path in an existing, writable directory");
}

Metrics::~Metrics() {
  if (file)
    std::fclose(file);
}

void Metrics::record(const StepRecord &record) {
  print(record);
  if (file)
    write(record);
}

void Metrics::recordExposure(const ExposureSamples &samples) {
  endLine();
  std::printf("%s", exposureTable(manifest, samples).c_str());
  std::fflush(stdout);
  if (file)
    writeLine(exposureRecord(manifest, samples));
}

void Metrics::endLine() {
  if (hasOpenLine)
    std::printf("\n");
  hasOpenLine = false;
  std::fflush(stdout);
}

void Metrics::print(const StepRecord &record) {
  std::string scale;
  if (manifest.hasLossScaling)
    scale = concat("  loss-scale ", record.lossScale, record.isSkipped ? ", skipped" : "");
  std::printf("%sstep %lld/%lld  loss %.6f  grad-norm %.4f  lr %.3e  %.0f tokens/s%s%s",
              isTerminal ? "\r\033[K" : "", static_cast<long long>(record.step),
              static_cast<long long>(record.totalSteps), record.loss, record.gradNorm,
              record.learningRate, static_cast<double>(record.tokens) / record.seconds,
              scale.c_str(), isTerminal ? "" : "\n");
  hasOpenLine = isTerminal;
  std::fflush(stdout);
}

void Metrics::write(const StepRecord &record) {
  double rate = static_cast<double>(record.tokens) / record.seconds;
  nlohmann::ordered_json object;
  object["step"] = record.step;
  object["tokens_consumed"] = record.tokensConsumed;
  object["loss"] = record.loss;
  object["grad_norm"] = record.gradNorm;
  object["lr"] = record.learningRate;
  if (manifest.hasLossScaling) {
    object["loss_scale"] = record.lossScale;
    object["skipped"] = record.isSkipped;
  }
  object["tokens_per_s"] = rate;
  object["tokens_per_s_per_device"] = rate / static_cast<double>(manifest.mesh.ranks());
  object["step_ms"] = record.seconds * 1e3;
  object["input_wait_ms"] = record.inputSeconds * 1e3;
  object["peak_memory_bytes"] = manifest.stages[0].arenaBytes;
  object["process_memory_bytes"] = peakProcessBytes();
  nlohmann::ordered_json exposed = nlohmann::ordered_json::object();
  for (size_t kind = 0; kind < record.waitSeconds.size(); ++kind)
    for (const CollectiveInfo &info : manifest.collectives)
      if (info.kind == collectiveKindName(static_cast<int>(kind)))
        exposed[info.kind] = record.waitSeconds[kind] * 1e3;
  object["exposed_comm_ms"] = exposed;
  writeLine(object);
}

void Metrics::writeLine(const nlohmann::ordered_json &object) {
  std::string line = object.dump() + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file) != line.size() || std::fflush(file) != 0)
    raise("can't write metrics file '", path, "': ", std::strerror(errno));
}

} // namespace ulsc::runtime

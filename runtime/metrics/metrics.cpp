#include "metrics/metrics.h"

#include "core/error.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

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

void printHeader(const Manifest &manifest, const std::string &threads) {
  const Batch &batch = manifest.batch;
  int64_t dataRanks = manifest.mesh.sizeOver(batch.dataAxes);
  std::printf("model    %s, %lld parameters, %s, %s\n", manifest.modelName.c_str(),
              static_cast<long long>(manifest.parameters), manifest.dtype.c_str(),
              manifest.optimizer.c_str());
  std::printf("mesh     %s (%lld rank%s)\n", manifest.mesh.text().c_str(),
              static_cast<long long>(manifest.mesh.ranks()), manifest.mesh.ranks() == 1 ? "" : "s");
  std::printf("batch    %lld sequences of %lld tokens = micro-batch %lld x %lld microbatches x "
              "%lld data ranks\n",
              static_cast<long long>(batch.global), static_cast<long long>(batch.seq),
              static_cast<long long>(batch.micro), static_cast<long long>(batch.microbatches),
              static_cast<long long>(dataRanks));
  std::printf("threads  %s\n", threads.c_str());
  std::string categories;
  for (const auto &[name, bytes] : manifest.arenaCategories)
    categories += concat(categories.empty() ? "" : ", ", name, " ", byteText(bytes));
  std::printf("memory   %s a rank%s%s\n", byteText(manifest.arenaBytes).c_str(),
              categories.empty() ? "" : ": ", categories.c_str());
  std::fflush(stdout);
}

namespace {

// The lines of a metrics file up to a step: a resumed run writes the later ones again.
std::string keptLines(const std::string &path, int64_t firstStep) {
  std::ifstream input(path);
  std::string kept, line;
  while (firstStep > 0 && std::getline(input, line)) {
    nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    if (object.is_object() && object.contains("step") && object["step"].is_number_integer() &&
        object["step"].get<int64_t>() <= firstStep)
      kept += line + "\n";
  }
  return kept;
}

// Open MPI gives ranks a pseudo-terminal even when mpirun itself writes to a file.
bool isOnTerminal() { return isatty(STDOUT_FILENO) && !std::getenv("OMPI_COMM_WORLD_RANK"); }

} // namespace

Metrics::Metrics(const Manifest &manifest, const std::string &path, int64_t firstStep)
    : manifest(manifest), path(path), isTerminal(isOnTerminal()) {
  if (path.empty())
    return;
  std::string kept = keptLines(path, firstStep);
  file = std::fopen(path.c_str(), "w");
  if (!file)
    raise("can't write metrics file '", path, "': ", std::strerror(errno),
          "; give a path in an existing, writable directory");
  std::fwrite(kept.data(), 1, kept.size(), file);
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

void Metrics::endLine() {
  if (hasOpenLine)
    std::printf("\n");
  hasOpenLine = false;
  std::fflush(stdout);
}

void Metrics::print(const StepRecord &record) {
  std::printf("%sstep %lld/%lld  loss %.6f  grad-norm %.4f  lr %.3e  %.0f tokens/s%s",
              isTerminal ? "\r\033[K" : "", static_cast<long long>(record.step),
              static_cast<long long>(record.totalSteps), record.loss, record.gradNorm,
              record.learningRate, static_cast<double>(record.tokens) / record.seconds,
              isTerminal ? "" : "\n");
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
  object["tokens_per_s"] = rate;
  object["tokens_per_s_per_device"] = rate / static_cast<double>(manifest.mesh.ranks());
  object["step_ms"] = record.seconds * 1e3;
  object["input_wait_ms"] = record.inputSeconds * 1e3;
  object["peak_memory_bytes"] = manifest.arenaBytes;
  object["process_memory_bytes"] = peakProcessBytes();
  nlohmann::ordered_json exposed = nlohmann::ordered_json::object();
  for (size_t kind = 0; kind < record.waitSeconds.size(); ++kind)
    for (const CollectiveInfo &info : manifest.collectives)
      if (info.kind == collectiveKindName(static_cast<int>(kind)))
        exposed[info.kind] = record.waitSeconds[kind] * 1e3;
  object["exposed_comm_ms"] = exposed;
  std::string line = object.dump() + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file) != line.size() || std::fflush(file) != 0)
    raise("can't write metrics file '", path, "': ", std::strerror(errno));
}

} // namespace ulsc::runtime

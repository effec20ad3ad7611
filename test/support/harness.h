//===- harness.h - Compiles models, runs programs, reads what they write ----------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TEST_SUPPORT_HARNESS_H
#define ULSC_TEST_SUPPORT_HARNESS_H

#include "process.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace ulsc::test {

/// Whether the long lists of cases were asked for, by ULSC_EXHAUSTIVE=1.
bool isExhaustive();

/// A directory below the build folder that is empty at first.
std::filesystem::path scratchDirectory(const std::string &name);

/// The repository's `test/golden/<model>`.
std::filesystem::path goldenDirectory(const std::string &model);

/// Compiles `model` (a file or directory) with `ulsc compile` into `name`; fails the test when that
/// fails. The same arguments give the same program without compiling again.
std::filesystem::path compile(const std::filesystem::path &model, const Words &arguments,
                              const std::filesystem::path &report = {});

/// Command that starts `ranks` processes of a program, one thread each. `environment` is theirs,
/// not the launcher's.
Words launch(const std::filesystem::path &program, int ranks, const Words &arguments,
             const Environment &environment = {});

/// A model of `test/golden` and how it is trained: what suites are instantiated with.
struct TrainingCase {
  std::string model, mesh;
  int ranks, microbatches;
  /// Empty: what the mesh implies.
  std::string strategy = "";

  /// The options of `ulsc compile` that say where it trains.
  Words flags() const;
};

inline std::ostream &operator<<(std::ostream &stream, const TrainingCase &c) {
  return stream << c.model << " " << c.mesh << " " << c.strategy << ", " << c.microbatches
                << " microbatches";
}

/// Preloads a library of `test/shim` into a program.
Environment preload(const std::string &shim, const Environment &environment);

/// For CUDA programs: they find the simulated device instead of a GPU.
Environment onSimulatedDevice(const Environment &environment = {});

/// One step's line of a metrics file.
struct StepMetrics {
  int64_t step;
  double loss, gradNorm;
  nlohmann::json all;
};

/// Runs a program to its end and returns its metrics; fails the test when it does not exit with 0.
std::vector<StepMetrics> train(const std::filesystem::path &program, int ranks, Words arguments,
                               const Environment &environment = {});

/// The lines of steps.
std::vector<StepMetrics> readMetrics(const std::filesystem::path &file);
/// What the last run wrote at its end about the time that ranks waited; null when there is none.
nlohmann::json readExposure(const std::filesystem::path &file);

nlohmann::json readJson(const std::filesystem::path &file);

/// That a rank whose allocations the shim wrote to `seen` allocated the plan of `row`, a row of the
/// report's `memory`, and nothing else of its size; and that the part that buffers share is near
/// the largest live bytes.
void expectPlannedMemory(const nlohmann::json &row, const nlohmann::json &seen);

/// All bytes of a file; fails the test when it can't be read.
std::string readBytes(const std::filesystem::path &file);

/// Names in a directory, sorted; none when it does not exist.
std::vector<std::string> listDirectory(const std::filesystem::path &directory);

/// A whole logical tensor, put together from the slices of all ranks.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<double> values;
};

/// Tensors by name of all files in `directory` whose names begin with `prefix` (slices with offsets
/// in the metadata).
std::map<std::string, Tensor> readSlices(const std::filesystem::path &directory,
                                         const std::string &prefix);

/// |a - b| / |b| over all elements; infinite when shapes differ.
double relativeDistance(const Tensor &a, const Tensor &b);

/// |a - b| / max(|b|, tiny).
double relativeDifference(double a, double b);

} // namespace ulsc::test

#endif // ULSC_TEST_SUPPORT_HARNESS_H

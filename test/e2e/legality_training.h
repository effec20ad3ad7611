//===- legality_training.h - Trains what the legality matrix can choose -------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TEST_E2E_LEGALITYTRAINING_H
#define ULSC_TEST_E2E_LEGALITYTRAINING_H

#include "harness.h"

#include "tools/ulsc-legality/CaseList.h"

#include <optional>

namespace ulsc::test {

/// How a case is trained, beside its choices.
struct TrainingOptions {
  int steps = 4;
  std::optional<int> seq = {}; ///< instead of the command's
  std::string target = "cpu";
  bool isWatched = false;       ///< allocations are counted
  Words flags = {};             ///< of the program, too
  Environment environment = {}; ///< of the ranks
};

/// What a training wrote.
struct CaseTraining {
  std::vector<StepMetrics> steps;
  std::map<std::string, Tensor> gradients;  ///< of the first step
  std::map<std::string, Tensor> parameters; ///< after the last; of SGD only
  nlohmann::json report;
  std::vector<nlohmann::json> seen; ///< what each rank allocated
};

/// Compiles `command`, which `choices` led to, and trains on its ranks.
CaseTraining trainCase(const legality::Command &command, const legality::Case &choices,
                       const TrainingOptions &options);

/// Losses, norms, gradients and parameters: to rounding in another order, or to that of the
/// narrowest dtype.
void expectSameNumbers(const legality::Case &choices, const CaseTraining &actual,
                       const CaseTraining &expected);

/// A measurement, for the XML that --gtest_output writes.
void recordMeasurement(const char *what, double value);

/// docs/legality-cases.txt.
legality::CaseList readLegalityCases(std::string &problem);

/// A case with the name that failures and lists show.
struct LegalityCase {
  legality::Case choices;
};

std::ostream &operator<<(std::ostream &stream, const LegalityCase &c);

/// For the names of instantiated tests.
std::string nameOfCase(const LegalityCase &c);

} // namespace ulsc::test

#endif // ULSC_TEST_E2E_LEGALITYTRAINING_H

// Products of the simulated cuBLASLt against sums in double precision, over types, transpositions,
// orders, batches and epilogues.
#include "matmul_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace ulsc::simulator::test {
namespace {

using namespace cublaslt;

struct Types {
  DataType input, output;
  ComputeType compute;
};
const Types allTypes[] = {
    {TypeF32, TypeF32, Compute32F},         {TypeF32, TypeF32, Compute32FFastTF32},
    {TypeF32, TypeF32, Compute32FPedantic}, {TypeBf16, TypeBf16, Compute32F},
    {TypeBf16, TypeF32, Compute32F},        {TypeF16, TypeF16, Compute32F},
    {TypeF16, TypeF32, Compute32F},
};

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

double geluSlope(double x) {
  double step = 1e-5;
  return (gelu(x + step) - gelu(x - step)) / (2 * step);
}

double opA(const MatmulRun &run, int64_t i, int64_t k, int64_t b) {
  return run.given.transposeA ? run.a.at(k, i, b) : run.a.at(i, k, b);
}
double opB(const MatmulRun &run, int64_t k, int64_t j, int64_t b) {
  return run.given.transposeB ? run.b.at(j, k, b) : run.b.at(k, j, b);
}

/// A value in double precision, and the sum of the magnitudes that formed it.
struct Sum {
  double value = 0, magnitude = 0;
  void add(double term) {
    value += term;
    magnitude += std::fabs(term);
  }
};

void expectNear(double found, const Sum &expected, double terms, DataType type,
                const std::string &what) {
  double tolerance = expected.magnitude * (terms + 8) * 0x1p-24 +
                     std::fabs(expected.value) * unitOf(type) * 1.01 + 1e-7;
  EXPECT_NEAR(found, expected.value, tolerance) << what;
}

/// The value before the activation.
Sum beforeActivation(const MatmulRun &run, int64_t i, int64_t j, int64_t b,
                     const std::vector<double> &bias) {
  const MatmulCase &g = run.given;
  Sum sum;
  for (int64_t k = 0; k < g.k; ++k)
    sum.add(g.alpha * opA(run, i, k, b) * opB(run, k, j, b));
  if (g.beta != 0)
    sum.add(g.beta * run.before[static_cast<size_t>((b * g.m + i) * g.n + j)]);
  if (g.epilogue & EpilogueBias)
    sum.add(bias[static_cast<size_t>(b * g.m + i)]);
  return sum;
}

bool usesGelu(Epilogue epilogue) { return epilogue & EpilogueGelu; }
bool usesSlope(Epilogue epilogue) {
  return epilogue == EpilogueDGelu || epilogue == EpilogueDGeluBGrad;
}
bool storesAux(Epilogue epilogue) {
  return epilogue == EpilogueGeluAux || epilogue == EpilogueGeluAuxBias;
}

void expectRow(const MatmulRun &run, int64_t i, int64_t b, const std::vector<double> &bias) {
  const MatmulCase &g = run.given;
  Sum biasGradient;
  for (int64_t j = 0; j < g.n; ++j) {
    Sum expected = beforeActivation(run, i, j, b, bias);
    if (storesAux(g.epilogue))
      expectNear(run.aux.at(i, j, b), expected, double(g.k), g.outputType, "aux " + g.name());
    if (g.epilogue == EpilogueRelu || g.epilogue == EpilogueReluBias)
      expected.value = std::max(expected.value, 0.0);
    if (usesGelu(g.epilogue)) {
      expected.value = gelu(expected.value);
      expected.magnitude *= 1.2; // the steepest slope
    }
    if (usesSlope(g.epilogue)) {
      double slope = geluSlope(run.aux.at(i, j, b));
      expected.value *= slope;
      expected.magnitude *= 1.2;
    }
    expectNear(run.d.at(i, j, b), expected, double(g.k), g.outputType, g.name());
    biasGradient.add(expected.value);
    biasGradient.magnitude += expected.magnitude;
  }
  if (g.epilogue == EpilogueDGeluBGrad)
    expectNear(run.bias.at(i, 0, b), biasGradient, double(g.k + g.n), g.outputType,
               "bias gradient " + g.name());
}

void expectInputSums(const MatmulRun &run, int64_t b) {
  const MatmulCase &g = run.given;
  bool isA = g.epilogue == EpilogueBGradA;
  if (!isA && g.epilogue != EpilogueBGradB)
    return;
  for (int64_t i = 0; i < (isA ? g.m : g.n); ++i) {
    Sum sum;
    for (int64_t k = 0; k < g.k; ++k)
      sum.add(isA ? opA(run, i, k, b) : opB(run, k, i, b));
    expectNear(run.bias.at(i, 0, b), sum, double(g.k), g.outputType, "input sums " + g.name());
  }
}

void check(const MatmulCase &given) {
  MatmulRun run(given);
  std::vector<double> bias;
  for (int64_t b = 0; b < given.batch; ++b)
    for (int64_t i = 0; i < given.m; ++i)
      bias.push_back(given.epilogue == EpilogueBGradB ? 0 : run.bias.at(i, 0, b));
  ASSERT_EQ(run.run(), StatusSuccess) << given.name() << ": " << ulsc_simulator_cublaslt_refusal();
  for (int64_t b = 0; b < given.batch; ++b) {
    for (int64_t i = 0; i < given.m; ++i)
      expectRow(run, i, b, bias);
    expectInputSums(run, b);
  }
  EXPECT_TRUE(run.d.gapsAreIntact()) << given.name();
  EXPECT_TRUE(run.aux.gapsAreIntact()) << given.name();
}

MatmulCase caseOf(const Types &types) {
  MatmulCase given;
  given.compute = types.compute;
  given.inputType = types.input;
  given.outputType = types.output;
  return given;
}

TEST(MatmulNumbers, TypesTranspositionsAndOrders) {
  for (const Types &types : allTypes)
    for (int bits = 0; bits < 32; ++bits) {
      MatmulCase given = caseOf(types);
      given.transposeA = bits & 1;
      given.transposeB = bits & 2;
      given.rowMajorA = bits & 4;
      given.rowMajorB = bits & 8;
      given.rowMajorD = bits & 16;
      given.gap = bits % 3;
      check(given);
    }
}

TEST(MatmulNumbers, ScalarsFromHostAndDevice) {
  for (const Types &types : allTypes)
    for (float beta : {0.0f, 1.0f, -0.5f})
      for (bool isOnDevice : {false, true})
        for (bool isInPlace : {false, true}) {
          MatmulCase given = caseOf(types);
          given.alpha = 0.75f;
          given.beta = beta;
          given.scalarsOnDevice = isOnDevice;
          given.isInPlace = isInPlace;
          check(given);
        }
}

TEST(MatmulNumbers, Batches) {
  for (const Types &types : allTypes)
    for (int bits = 0; bits < 8; ++bits) {
      MatmulCase given = caseOf(types);
      given.batch = 3;
      given.gap = bits & 1 ? 3 : 0;
      given.batchGap = bits & 2 ? 5 : 0;
      given.broadcastB = bits & 4;
      given.beta = 1;
      check(given);
    }
}

TEST(MatmulNumbers, Epilogues) {
  for (const Types &types : allTypes)
    for (Epilogue epilogue : {EpilogueRelu, EpilogueBias, EpilogueReluBias, EpilogueGelu,
                              EpilogueGeluBias, EpilogueGeluAux, EpilogueGeluAuxBias, EpilogueDGelu,
                              EpilogueDGeluBGrad, EpilogueBGradA, EpilogueBGradB})
      for (int bits = 0; bits < 16; ++bits) {
        MatmulCase given = caseOf(types);
        given.epilogue = epilogue;
        given.batch = bits & 1 ? 2 : 1;
        given.biasStride = given.batch > 1;
        given.transposeA = bits & 2;
        given.transposeB = bits & 4;
        given.rowMajorA = given.rowMajorB = bits & 8;
        given.batchGap = 1;
        given.m = 13; // less than the aux matrix's leading dimension
        check(given);
      }
}

TEST(MatmulNumbers, LongSums) {
  for (const Types &types : allTypes) {
    MatmulCase given = caseOf(types);
    given.m = 5;
    given.n = 7;
    given.k = 3001;
    check(given);
  }
}

// Heads of an attention lie side by side in the rows of one matrix: matrices of a batch interleave.
TEST(MatmulNumbers, MatricesOfABatchMayInterleave) {
  MatmulCase given;
  given.m = 4;
  given.gap = 4; // two matrices of 4 rows in columns of 8
  given.batch = 2;
  MatmulRun run(given);
  run.d.batchStride = 4;
  run.set(run.dLayout, LayoutBatchStride, int64_t(4));
  run.set(run.cLayout, LayoutBatchStride, int64_t(4));
  ASSERT_EQ(run.run(), StatusSuccess) << ulsc_simulator_cublaslt_refusal();
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < given.m; ++i)
      expectRow(run, i, b, {});
}

TEST(MatmulNumbers, TheSameCallGivesTheSameBits) {
  MatmulCase given = caseOf({TypeBf16, TypeF32, Compute32F});
  given.k = 1021;
  std::vector<char> first;
  for (int repetition = 0; repetition < 3; ++repetition) {
    MatmulRun run(given);
    ASSERT_EQ(run.run(), StatusSuccess);
    std::vector<char> bits(run.d.data, run.d.data + run.d.bytes);
    if (!repetition)
      first = bits;
    EXPECT_EQ(bits, first);
  }
}

TEST(MatmulNumbers, BetaZeroIgnoresWhatCHolds) {
  MatmulCase given;
  given.isInPlace = false;
  MatmulRun run(given);
  std::memset(run.c.data, 0xff, static_cast<size_t>(run.c.bytes)); // NaNs, and no values besides
  ASSERT_EQ(run.run(), StatusSuccess);
  EXPECT_FALSE(std::isnan(run.d.at(0, 0, 0)));
}

TEST(MatmulNumbers, AUsedWorkspaceHoldsNothing) {
  MatmulCase given;
  given.maxWorkspace = 1 << 20;
  MatmulRun run(given);
  ASSERT_EQ(run.run(), StatusSuccess);
  ASSERT_GT(run.proposals.front().workspaceBytes, 0u);
  float word;
  std::memcpy(&word, run.workspace, sizeof(word));
  EXPECT_TRUE(std::isnan(word));
}

} // namespace
} // namespace ulsc::simulator::test

//===- AttentionTest.cpp - Attention and its gradient against double precision -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "ExecProgram.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

static const double infinity = std::numeric_limits<double>::infinity();

namespace {

struct Case {
  const char *name;
  int64_t b, s, t, k, g, d;
  bool causal = true, segments = false, dropout = false, bf16 = false;
  int64_t firstPosition = 0;
};

/// Where each operand lies; 64 KiB apart.
enum Slot { Q, K, V, QP, KP, QS, KS, O, L, DO, DQ, DK, DV, Scratch };
int64_t offsetOf(Slot slot) { return slot * 65536; }

const float rate = 0.3f;
const int64_t layer = 2, rowOffset = 7, headOffset = 4, queryOffset = 5, keyOffset = 1,
              allHeads = 16, allQueries = 300, allKeys = 400;

std::string shapeOf(const Case &c, Slot slot) {
  auto list = [](std::initializer_list<int64_t> sizes, const char *type) {
    std::string text;
    for (int64_t size : sizes)
      text += std::to_string(size) + "x";
    return "memref<" + text + type + ">";
  };
  const char *element = c.bf16 ? "bf16" : "f32";
  switch (slot) {
  case Q:
  case O:
  case DO:
  case DQ:
    return list({c.b, c.s, c.k, c.g, c.d}, element);
  case K:
  case V:
  case DK:
  case DV:
    return list({c.b, c.t, c.k, c.d}, element);
  case QP:
  case QS:
    return list({c.b, c.s}, "i32");
  case KP:
  case KS:
    return list({c.b, c.t}, "i32");
  case L:
    return list({c.b, c.s, c.k, c.g}, "f32");
  default:
    return "memref<2000000xi8>";
  }
}

std::string programOf(const Case &c) {
  const char *names[] = {"q", "k", "v",  "qp", "kp", "qs", "ks",
                         "o", "l", "do", "dq", "dk", "dv", "w"};
  std::string text = "exec.function @ulsc_step() attributes {entry} {\n";
  for (int i = 0; i <= Scratch; ++i)
    text += "  %" + std::string(names[i]) + " = exec.buffer temporaries offset(" +
            std::to_string(offsetOf(Slot(i))) + ") : " + shapeOf(c, Slot(i)) + "\n";
  auto constant = [&](const char *name, int64_t value) {
    text += std::string("  %") + name + " = arith.constant " + std::to_string(value) + " : i64\n";
  };
  constant("s0", layer), constant("s1", rowOffset), constant("s2", headOffset),
      constant("s3", queryOffset), constant("s4", keyOffset);
  std::string attributes = " {scale = 0.3 : f32";
  attributes += c.causal ? ", causal" : "";
  if (c.dropout)
    attributes += ", dropout_rate = 0.3 : f32, dropout_key = 77 : i64, dropout_sizes = array<i64: "
                  "16, 300, 400>";
  attributes += "}";
  std::string scalars =
      c.dropout ? " scalars(%s0, %s1, %s2, %s3, %s4 : i64, i64, i64, i64, i64)" : "";
  std::string segments = c.segments ? " segments(%qs, %ks)" : "";
  std::string types = shapeOf(c, Q) + ", " + shapeOf(c, K) + ", " + shapeOf(c, V) + ", " +
                      shapeOf(c, QP) + ", " + shapeOf(c, KP);
  if (c.segments)
    types += ", " + shapeOf(c, QS) + ", " + shapeOf(c, KS);
  text += "  exec.attention %q, %k, %v positions(%qp, %kp)" + segments +
          " outs(%o, %l) scratch(%w)" + scalars + attributes + " : " + types + " outs " +
          shapeOf(c, O) + ", " + shapeOf(c, L) + " scratch " + shapeOf(c, Scratch) + "\n";
  text += "  exec.attention_grad %q, %k, %v positions(%qp, %kp)" + segments +
          " forward(%o, %l) grad(%do) outs(%dq, %dk, %dv) scratch(%w)" + scalars + attributes +
          " : " + types + " forward " + shapeOf(c, O) + ", " + shapeOf(c, L) + " grad " +
          shapeOf(c, DO) + " outs " + shapeOf(c, DQ) + ", " + shapeOf(c, DK) + ", " +
          shapeOf(c, DV) + " scratch " + shapeOf(c, Scratch) + "\n";
  return text + "  exec.return\n}\n";
}

/// Everything in double precision, in the layouts of the program.
struct Reference {
  std::vector<double> q, k, v, dout, o, l, dq, dk, dv;
};

double keepFactor(const Case &c, int64_t b, int64_t head, int64_t s, int64_t t) {
  if (!c.dropout)
    return 1;
  uint64_t index =
      (((rowOffset + b) * allHeads + headOffset + head) * allQueries + queryOffset + s) * allKeys +
      keyOffset + t;
  uint32_t words[4];
  ulsc_random_words(ulsc_random_stream_of(11, 77, layer, 4), index, words);
  return words[0] >= ulsc_random_drop_threshold(rate) ? 1 / (1 - double(rate)) : 0;
}

void computeReference(const Case &c, Reference &r, const int32_t *qp, const int32_t *kp,
                      const int32_t *qs, const int32_t *ks) {
  r.o.assign(r.q.size(), 0), r.dq.assign(r.q.size(), 0), r.dk.assign(r.k.size(), 0),
      r.dv.assign(r.k.size(), 0);
  r.l.assign(c.b * c.s * c.k * c.g, 0);
  double scale = 0.3f;
  for (int64_t b = 0; b < c.b; ++b)
    for (int64_t s = 0; s < c.s; ++s)
      for (int64_t k = 0; k < c.k; ++k)
        for (int64_t g = 0; g < c.g; ++g) {
          int64_t row = ((b * c.s + s) * c.k + k) * c.g + g;
          const double *q = &r.q[row * c.d], *dout = &r.dout[row * c.d];
          auto keyAt = [&](int64_t t) { return ((b * c.t + t) * c.k + k) * c.d; };
          std::vector<double> p(c.t), dp(c.t), factor(c.t);
          double sum = 0, delta = 0;
          for (int64_t t = 0; t < c.t; ++t) {
            double x = 0;
            for (int64_t d = 0; d < c.d; ++d)
              x += q[d] * r.k[keyAt(t) + d];
            bool visible = (!c.causal || kp[b * c.t + t] <= qp[b * c.s + s]) &&
                           (!c.segments || ks[b * c.t + t] == qs[b * c.s + s]);
            p[t] = visible ? std::exp(scale * x) : 0;
            sum += p[t];
            factor[t] = keepFactor(c, b, k * c.g + g, s, t);
          }
          r.l[row] = sum > 0 ? std::log(sum) : -infinity;
          for (int64_t t = 0; t < c.t; ++t) {
            p[t] = sum > 0 ? p[t] / sum : 0;
            for (int64_t d = 0; d < c.d; ++d) {
              r.o[row * c.d + d] += p[t] * factor[t] * r.v[keyAt(t) + d];
              dp[t] += dout[d] * r.v[keyAt(t) + d] * factor[t];
              r.dv[keyAt(t) + d] += p[t] * factor[t] * dout[d];
            }
            delta += p[t] * dp[t];
          }
          for (int64_t t = 0; t < c.t; ++t)
            for (int64_t d = 0; d < c.d; ++d) {
              double ds = scale * p[t] * (dp[t] - delta);
              r.dq[row * c.d + d] += ds * r.k[keyAt(t) + d];
              r.dk[keyAt(t) + d] += ds * q[d];
            }
        }
}

/// Draws values, as the element type represents them, and keeps them in double.
std::vector<double> draw(ExecProgram &program, const Case &c, Slot slot, int64_t count,
                         unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i) {
    float value = normal(generator);
    if (c.bf16) {
      program.at<uint16_t>(offsetOf(slot))[i] = toBf16(value);
      value = fromBf16(toBf16(value));
    } else {
      program.at<float>(offsetOf(slot))[i] = value;
    }
    values[i] = value;
  }
  return values;
}

void expectNear(ExecProgram &program, const Case &c, Slot slot, const std::vector<double> &expected,
                const char *what) {
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    float actual = c.bf16 && slot != L ? fromBf16(program.at<uint16_t>(offsetOf(slot))[i])
                                       : program.at<float>(offsetOf(slot))[i];
    if (std::isinf(expected[i])) {
      EXPECT_EQ(actual, expected[i]) << c.name << " " << what;
      continue;
    }
    double error = std::fabs(actual - expected[i]) / (1 + std::fabs(expected[i]));
    worst = error > worst || std::isnan(error) ? error : worst;
  }
  EXPECT_LE(worst, c.bf16 ? 4e-2 : 1e-5) << c.name << " " << what;
}

void check(const Case &c) {
  ExecProgram program(programOf(c));
  ASSERT_TRUE(program.isValid()) << c.name;
  program.control.seed = 11, program.control.step = 4;
  Reference r;
  int64_t queries = c.b * c.s * c.k * c.g * c.d, keys = c.b * c.t * c.k * c.d;
  r.q = draw(program, c, Q, queries, 1), r.k = draw(program, c, K, keys, 2);
  r.v = draw(program, c, V, keys, 3), r.dout = draw(program, c, DO, queries, 4);
  int32_t *qp = program.at<int32_t>(offsetOf(QP)), *kp = program.at<int32_t>(offsetOf(KP));
  int32_t *qs = program.at<int32_t>(offsetOf(QS)), *ks = program.at<int32_t>(offsetOf(KS));
  for (int64_t b = 0; b < c.b; ++b) {
    for (int64_t s = 0; s < c.s; ++s)
      qp[b * c.s + s] = c.firstPosition + s, qs[b * c.s + s] = s * 3 / c.s;
    for (int64_t t = 0; t < c.t; ++t)
      kp[b * c.t + t] = t, ks[b * c.t + t] = t * 3 / c.t;
  }
  computeReference(c, r, qp, kp, qs, ks);
  program.run(1);
  std::vector<char> first(program.at<char>(0), program.at<char>(offsetOf(Scratch)));
  expectNear(program, c, O, r.o, "out");
  expectNear(program, c, L, r.l, "lse");
  expectNear(program, c, DQ, r.dq, "dq");
  expectNear(program, c, DK, r.dk, "dk");
  expectNear(program, c, DV, r.dv, "dv");
  program.run(2);
  EXPECT_EQ(std::memcmp(first.data(), program.at<char>(0), first.size()), 0)
      << c.name << " depends on threads";
}

TEST(Attention, IsSoftmaxOfScoresTimesValues) {
  check({"square", 2, 8, 8, 2, 1, 16});
  check({"one", 1, 1, 1, 1, 1, 1});
  check({"grouped, odd sizes", 2, 17, 17, 2, 3, 5});
  check({"several blocks", 1, 150, 150, 2, 2, 8});
}

TEST(Attention, TakesPositionsAndSegments) {
  check({"more keys than queries", 1, 5, 23, 2, 2, 8, true, false, false, false, 18});
  check({"queries before all keys", 1, 9, 9, 1, 2, 4, true, false, false, false, -3});
  check({"not causal", 2, 7, 11, 1, 2, 4, false});
  check({"segments", 2, 21, 21, 2, 1, 8, true, true});
  check({"segments, not causal", 1, 33, 70, 2, 1, 8, false, true});
}

TEST(Attention, DropsGlobalElements) {
  check({"dropout", 2, 19, 19, 2, 2, 8, true, false, true});
  check({"dropout of blocks", 1, 100, 100, 1, 1, 8, true, false, true});
}

TEST(Attention, WorksInBf16) {
  check({"bf16", 2, 17, 17, 2, 2, 8, true, false, false, true});
  check({"bf16 blocks", 1, 100, 100, 2, 2, 8, true, true, true, true});
}

} // namespace

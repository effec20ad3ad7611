// Operands of attention, and attention by plain loops.
#include "attention_case.h"

#include "core/numeric.h"
#include "simulator/core/memory.h"
#include "simulator/core/report.h"
#include "simulator/core/settings.h"
#include "simulator/core/streams.h"
#include "ulsc/AttentionWorkspace.h"

#include <cmath>
#include <limits>
#include <random>

namespace ulsc::simulator::test {

std::string AttentionCase::name() const {
  return text(batch, "x", sequence, "x", kvHeads, "x", group, "x", headSize,
              dtype == ULSC_BF16 ? " bf16" : " f16", isCausal ? " causal" : "");
}

DeviceTensor::DeviceTensor(int32_t dtype, int64_t elements) : dtype(dtype), elements(elements) {
  data = static_cast<char *>(allocate(static_cast<size_t>(bytes()), MemoryKind::Device));
}

DeviceTensor::~DeviceTensor() { release(data, MemoryKind::Device); }

int64_t DeviceTensor::bytes() const { return elements * runtime::dtypeSize(dtype); }

std::vector<double> DeviceTensor::read() const {
  std::vector<float> values(static_cast<size_t>(elements));
  runtime::toFloat(data, dtype, values.data(), elements);
  return {values.begin(), values.end()};
}

void DeviceTensor::write(const std::vector<double> &values) {
  std::vector<float> singles(values.begin(), values.end());
  runtime::fromFloat(singles.data(), data, dtype, elements);
  markValues(data, bytes());
}

namespace {

void fill(DeviceTensor &tensor, std::mt19937 &random) {
  std::uniform_real_distribution<double> distribution(-1, 1);
  std::vector<double> values(static_cast<size_t>(tensor.elements));
  for (double &value : values)
    value = distribution(random);
  tensor.write(values);
}

ulsc_attention_desc describe(const AttentionCase &given, bool isGradient) {
  return {given.batch,
          given.sequence,
          given.sequence,
          given.kvHeads,
          given.group,
          given.headSize,
          given.dtype,
          given.isCausal,
          0.25,
          ulsc_attention_workspace_bytes(given.batch, given.sequence, given.sequence, given.kvHeads,
                                         given.group, given.headSize, isGradient),
          isGradient ? "layer.3.attention.grad" : "layer.3.attention"};
}

int64_t queryElements(const AttentionCase &given) {
  return given.batch * given.sequence * given.kvHeads * given.group * given.headSize;
}

} // namespace

AttentionRun::AttentionRun(const AttentionCase &given)
    : given(given), stream(reinterpret_cast<cudnn::Stream>(createStream(true, 0))),
      attention(stream, settings().architecture), forwardDesc(describe(given, false)),
      gradientDesc(describe(given, true)), q(given.dtype, queryElements(given)),
      k(given.dtype, queryElements(given) / given.group), v(given.dtype, k.elements),
      out(given.dtype, q.elements), lse(ULSC_F32, q.elements / given.headSize),
      outGrad(given.dtype, q.elements), qGrad(given.dtype, q.elements),
      kGrad(given.dtype, k.elements), vGrad(given.dtype, k.elements),
      workspace(ULSC_F32, gradientDesc.workspace_bytes / 4) {
  std::mt19937 random(11);
  for (DeviceTensor *tensor : {&q, &k, &v, &outGrad})
    fill(*tensor, random);
}

AttentionRun::~AttentionRun() { synchronizeDevice(); }

void AttentionRun::forward() {
  attention.run(forwardDesc, {q.data, k.data, v.data, out.data, lse.data}, workspace.data);
}

void AttentionRun::gradient() {
  attention.run(gradientDesc,
                {q.data, k.data, v.data, out.data, lse.data, outGrad.data, qGrad.data, kGrad.data,
                 vGrad.data},
                workspace.data);
}

void AttentionRun::synchronize() { synchronizeDevice(); }

AttentionNumbers AttentionRun::expected() const {
  int64_t size = given.headSize, heads = given.kvHeads * given.group;
  std::vector<double> qs = q.read(), ks = k.read(), vs = v.read(), os = out.read(),
                      dos = outGrad.read();
  AttentionNumbers numbers{std::vector<double>(qs.size()), std::vector<double>(qs.size() / size),
                           std::vector<double>(qs.size()), std::vector<double>(ks.size()),
                           std::vector<double>(ks.size())};
  auto dot = [&](const std::vector<double> &left, int64_t i, const std::vector<double> &right,
                 int64_t j) {
    double sum = 0;
    for (int64_t d = 0; d < size; ++d)
      sum += left[i * size + d] * right[j * size + d];
    return sum;
  };
  for (int64_t row = 0; row < given.batch * given.sequence * heads; ++row) {
    int64_t head = row % heads, query = row / heads % given.sequence,
            entry = row / heads / given.sequence;
    int64_t seen = given.isCausal ? query + 1 : given.sequence;
    auto keyRow = [&](int64_t key) {
      return (entry * given.sequence + key) * given.kvHeads + head / given.group;
    };
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t key = 0; key < seen; ++key)
      max = std::max(max, forwardDesc.scale * dot(qs, row, ks, keyRow(key)));
    for (int64_t key = 0; key < seen; ++key)
      sum += std::exp(forwardDesc.scale * dot(qs, row, ks, keyRow(key)) - max);
    double lse = numbers.lse[row] = max + std::log(sum);
    double rowSum = dot(dos, row, os, row);
    for (int64_t key = 0; key < seen; ++key) {
      int64_t at = keyRow(key);
      double p = std::exp(forwardDesc.scale * dot(qs, row, ks, at) - lse);
      double change = forwardDesc.scale * p * (dot(dos, row, vs, at) - rowSum);
      for (int64_t d = 0; d < size; ++d) {
        numbers.out[row * size + d] += p * vs[at * size + d];
        numbers.vGrad[at * size + d] += p * dos[row * size + d];
        numbers.qGrad[row * size + d] += change * ks[at * size + d];
        numbers.kGrad[at * size + d] += change * qs[row * size + d];
      }
    }
  }
  return numbers;
}

} // namespace ulsc::simulator::test

// Attention through the runtime's CudaAttention and the simulated cuDNN: operands in device memory,
// and the same in double precision, element by element.
#ifndef ULSC_RUNTIME_SIMULATOR_TEST_LIBRARIES_ATTENTION_CASE_H
#define ULSC_RUNTIME_SIMULATOR_TEST_LIBRARIES_ATTENTION_CASE_H

#include "cuda/attention.h"

#include <string>
#include <vector>

namespace ulsc::simulator::test {

struct AttentionCase {
  int64_t batch = 2, sequence = 24, kvHeads = 2, group = 1, headSize = 16;
  int32_t dtype = ULSC_BF16;
  bool isCausal = true;

  std::string name() const;
};

/// Device memory with its elements as doubles.
struct DeviceTensor {
  int32_t dtype = ULSC_F32;
  int64_t elements = 0;
  char *data = nullptr;

  DeviceTensor(int32_t dtype, int64_t elements);
  DeviceTensor(const DeviceTensor &) = delete;
  ~DeviceTensor();

  int64_t bytes() const;
  std::vector<double> read() const;
  /// Rounded to the type.
  void write(const std::vector<double> &values);
};

struct AttentionNumbers {
  std::vector<double> out, lse, qGrad, kGrad, vGrad;
};

class AttentionRun {
public:
  explicit AttentionRun(const AttentionCase &given);
  /// Runs what is queued, since its memory goes.
  ~AttentionRun();

  /// Enqueue on the stream; `synchronize` runs what is queued.
  void forward();
  void gradient();
  void synchronize();

  /// From the operands as they are in memory, with the out that the forward gave.
  AttentionNumbers expected() const;

  AttentionCase given;
  cudnn::Stream stream;
  runtime::CudaAttention attention;
  ulsc_attention_desc forwardDesc, gradientDesc;
  DeviceTensor q, k, v, out, lse, outGrad, qGrad, kGrad, vGrad;
  DeviceTensor workspace; ///< f32, of the gradient's size
};

} // namespace ulsc::simulator::test

#endif // ULSC_RUNTIME_SIMULATOR_TEST_LIBRARIES_ATTENTION_CASE_H

// Attributes, graphs and variant packs that the simulated cuDNN refuses, with its reasons.
#include "cuda/attention_graph.h"
#include "cuda/cudnn_plan.h"

#include "core/error.h"
#include "simulator/core/memory.h"
#include "simulator/core/report.h"
#include "simulator/core/settings.h"
#include "simulator/core/streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace ulsc::simulator::test {
namespace {

using namespace cudnn;
using runtime::CudnnDescriptor;
using runtime::CudnnGraph;
using runtime::CudnnLibrary;
using testing::AllOf;
using testing::ExitedWithCode;
using testing::HasSubstr;

class CudnnDescriptorTest : public testing::Test {
protected:
  CudnnLibrary library{"test"};

  /// The status of an attribute's values, and the reason in `reason`.
  template <typename Value>
  cudnn::Status set(CudnnDescriptor &descriptor, Attribute attribute, AttributeType type,
                    const std::vector<Value> &values) {
    return noted(library.cudnnBackendSetAttribute(descriptor.get(), attribute, type,
                                                  int64_t(values.size()), values.data()));
  }
  cudnn::Status finalize(CudnnDescriptor &descriptor) { return noted(descriptor.tryFinalize()); }
  cudnn::Status noted(cudnn::Status status) {
    char text[512];
    library.cudnnGetLastErrorString(text, sizeof(text));
    reason = text;
    return status;
  }

  CudnnDescriptor tensor(DataType type = DataF32) {
    CudnnDescriptor tensor(library, DescriptorTensor);
    tensor.set(AttrTensorDataType, TypeDataType, type);
    tensor.set(AttrTensorSizes, TypeInt64, std::vector<int64_t>{1, 2, 3, 4});
    tensor.set(AttrTensorStrides, TypeInt64, std::vector<int64_t>{24, 12, 4, 1});
    tensor.set(AttrTensorUniqueId, TypeInt64, int64_t(1));
    tensor.set(AttrTensorAlignment, TypeInt64, int64_t(16));
    return tensor;
  }

  std::string reason;
};

TEST_F(CudnnDescriptorTest, AttributesHaveTheirTypesAndCounts) {
  CudnnDescriptor tensor(library, DescriptorTensor);
  EXPECT_EQ(set(tensor, AttrTensorSizes, TypeInt32, std::vector<int64_t>{1, 2, 3, 4}),
            StatusAttributeType);
  EXPECT_THAT(reason, HasSubstr("CUDNN_ATTR_TENSOR_DIMENSIONS is given as type 23"));
  EXPECT_EQ(set(tensor, AttrTensorUniqueId, TypeInt64, std::vector<int64_t>{1, 2}), StatusBadParam);
  EXPECT_THAT(reason, HasSubstr("CUDNN_ATTR_TENSOR_UNIQUE_ID is given 2 values, it has 1"));
  EXPECT_EQ(
      library.cudnnBackendSetAttribute(tensor.get(), AttrTensorUniqueId, TypeInt64, 1, nullptr),
      StatusNullPointer);
  EXPECT_EQ(library.cudnnBackendSetAttribute(nullptr, AttrTensorUniqueId, TypeInt64, 1, nullptr),
            StatusNullPointer);
}

TEST_F(CudnnDescriptorTest, NothingMayBeMissingOrChangeLater) {
  CudnnDescriptor incomplete(library, DescriptorTensor);
  EXPECT_EQ(finalize(incomplete), StatusBadParam);
  EXPECT_THAT(reason, HasSubstr("a tensor descriptor lacks CUDNN_ATTR_TENSOR_DATA_TYPE"));
  CudnnDescriptor complete = tensor();
  EXPECT_EQ(finalize(complete), StatusSuccess);
  EXPECT_EQ(set(complete, AttrTensorUniqueId, TypeInt64, std::vector<int64_t>{2}), StatusBadParam);
  EXPECT_THAT(reason, HasSubstr("finalized already"));
}

TEST_F(CudnnDescriptorTest, ReferencesAreFinishedAndOfTheirType) {
  CudnnDescriptor operation(library, DescriptorMatmulOperation);
  CudnnDescriptor unfinished = tensor(), description(library, DescriptorMatmul);
  Descriptor reference = unfinished.get();
  EXPECT_EQ(set(operation, AttrMatmulA, TypeDescriptor, std::vector<Descriptor>{reference}),
            StatusNotFinalized);
  description.set(AttrMatmulPrecision, TypeDataType, DataF32);
  description.finalize();
  reference = description.get();
  EXPECT_EQ(set(operation, AttrMatmulA, TypeDescriptor, std::vector<Descriptor>{reference}),
            StatusDescriptorType);
  EXPECT_THAT(reason, HasSubstr("is a matmul descriptor, not a tensor descriptor"));
}

TEST_F(CudnnDescriptorTest, OperandsGoTogether) {
  CudnnGraph graph(library);
  auto x = graph.memory(1, DataF32, {1, 2, 3, 4}, {24, 12, 4, 1});
  auto y = graph.memory(2, DataF32, {1, 2, 3, 5}, {30, 15, 5, 1});
  try {
    graph.pointwise(PointwiseExp, x, nullptr, y);
    FAIL() << "no error";
  } catch (const runtime::Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH"));
    EXPECT_THAT(error.what(), HasSubstr("don't go together"));
  }
}

TEST_F(CudnnDescriptorTest, VirtualTensorsAreMadeInTheGraph) {
  CudnnGraph graph(library);
  auto x = graph.inner(DataF32, {1, 1, 4, 8});
  auto y = graph.memory(2, DataF32, {1, 1, 4, 8}, {32, 32, 8, 1});
  graph.pointwise(PointwiseExp, x, nullptr, y);
  try {
    graph.finalize(reinterpret_cast<Handle>(1));
    FAIL() << "no error";
  } catch (const runtime::Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("is virtual, but no operation makes it"));
  }
}

TEST_F(CudnnDescriptorTest, VariantPacksHaveEveryPointer) {
  Handle handle = nullptr;
  library.check(library.cudnnCreate(&handle), "cudnnCreate");
  CudnnGraph graph(library);
  auto x = graph.memory(1, DataF32, {1, 32, 1, 1}, {32, 1, 32, 32});
  auto y = graph.memory(2, DataF32, {1, 32, 1, 1}, {32, 1, 32, 32});
  graph.pointwise(PointwiseExp, x, nullptr, y);
  graph.finalize(handle);
  runtime::CudnnPlan plan(library, graph, {handle}, {}, "test");
  auto *memory = static_cast<char *>(allocate(512, MemoryKind::Device));
  auto refusal = [&](const std::vector<runtime::CudnnPlan::Binding> &bindings) -> std::string {
    try {
      plan.execute(handle, bindings, nullptr);
    } catch (const runtime::Error &error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(refusal({{1, memory}}), AllOf(HasSubstr("cudnnBackendExecute of 'test' failed"),
                                            HasSubstr("no pointer for tensor 2")));
  EXPECT_THAT(refusal({{1, memory}, {2, memory + 264}}), HasSubstr("isn't aligned to 16"));
  EXPECT_THAT(refusal({{1, memory}, {2, memory + 256}, {3, memory}}), HasSubstr("3 pointers"));
  EXPECT_THAT(refusal({{1, memory}, {1, memory}}), HasSubstr("has two pointers"));
  release(memory, MemoryKind::Device);
  library.cudnnDestroy(handle);
  EXPECT_EQ(library.cudnnDestroy(handle), StatusNotInitialized);
}

TEST(CudnnReportsDeathTest, WhatIsNotSimulated) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto dies = ExitedWithCode(reportExitCode);
  EXPECT_EXIT(
      {
        CudnnLibrary library("test");
        CudnnDescriptor descriptor(library, DescriptorType(10));
      },
      dies, "cuDNN: descriptor type 10 is not simulated");
  EXPECT_EXIT(
      {
        CudnnLibrary library("test");
        CudnnDescriptor tensor(library, DescriptorTensor);
        tensor.set(Attribute(904), TypeInt64, int64_t(1));
      },
      dies, "cuDNN: attribute 904 of a tensor descriptor is not simulated");
  EXPECT_EXIT(
      {
        CudnnLibrary library("test");
        CudnnDescriptor pointwise(library, DescriptorPointwise);
        pointwise.set(AttrPointwiseMode, TypePointwiseMode, PointwiseMode(102));
        pointwise.set(AttrPointwisePrecision, TypeDataType, DataF32);
        pointwise.finalize();
      },
      dies, "cuDNN: pointwise mode 102 is not simulated");
  EXPECT_EXIT(
      {
        CudnnLibrary library("test");
        CudnnDescriptor tensor(library, DescriptorTensor);
        library.cudnnBackendDestroyDescriptor(tensor.get());
        tensor.set(AttrTensorUniqueId, TypeInt64, int64_t(1));
      },
      dies, "a cuDNN descriptor is used that doesn't exist");
}

void planGradientThatReadsLseByQueries() {
  CudnnLibrary library("test");
  CudnnGraph graph(library);
  ulsc_attention_desc desc{2, 16, 16, 2, 1, 16, ULSC_BF16, 1, 1.0, 0, "test"};
  buildAttentionGrad(graph, desc, runtime::LseOrder::Queries);
  Handle handle = nullptr;
  library.check(library.cudnnCreate(&handle), "cudnnCreate");
  graph.finalize(handle);
  runtime::CudnnPlan plan(library, graph, {handle}, {int64_t(1) << 30, 0}, "test");
}

// Such a graph would give wrong gradients without a word.
TEST(CudnnReportsDeathTest, StatisticsThatKernelsWouldMisread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  if (settings().architecture / 10 == 9)
    return planGradientThatReadsLseByQueries();
  EXPECT_EXIT(planGradientThatReadsLseByQueries(), ExitedWithCode(reportExitCode),
              "statistics.*that are not row-major");
}

} // namespace
} // namespace ulsc::simulator::test

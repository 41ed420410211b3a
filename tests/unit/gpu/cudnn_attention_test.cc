// Does cuDNN know our graph of fused attention? Its heuristics answer for a device that is described, not there.
#include <gtest/gtest.h>

#include "base/text.h"
#include "gpu/cuda/attention.h"
#include "gpu/cuda/dnn.h"

namespace sbp::gpu {
namespace {

// What cuDNN's heuristics want to know of a device. Of the data sheets of the A100 and the H100.
std::string Device(int capability, int multiprocessors, int shared_memory) {
  return StrCat(R"({"cudaDeviceId": 0, "deviceVer": )", capability, R"(, "driverVer": 13000, "multiProcessorCount": )",
                multiprocessors, R"(, "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": )",
                shared_memory,
                R"(, "reservedSharedMemoryPerBlock": 1024, "totalGlobalMem": 80000000000, "l2CacheSize": 41943040,
          "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
          "warpSize": 32, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
          "maxThreadsPerSM": 2048, "smClockRateKHz": 1410000, "memClockRateKHz": 1593000, "pciDeviceId": 0,
          "isTccDriver": 0, "supportCoopLaunch": 1, "deviceName": "described"})");
}

AttentionCall CallOf(DType type, int64_t size, int64_t queries, int64_t keys) {
  AttentionCall call;
  call.dtype = type;
  call.batch = 2;
  call.heads = 8;
  call.kv_heads = 2;
  call.queries = queries;
  call.keys = keys;
  call.size = call.value_size = size;
  const auto dense = [&](int64_t heads, int64_t positions) {
    return std::array<int64_t, 3>{heads * positions * size, positions * size, size};
  };
  call.q_strides = call.out_strides = dense(call.heads, queries);
  call.k_strides = call.v_strides = dense(call.kv_heads, keys);
  return call;
}

class CudnnAttention : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (cudnnGetVersion() < 90800) GTEST_SKIP() << "cuDNN before 9.8 describes no devices";
  }
  static int64_t Engines(const AttentionCall& call) {
    const auto engines = cuda::CountAttentionEngines(call, GetParam());
    EXPECT_TRUE(engines.ok()) << engines.status().message();
    return engines.ok() ? *engines : 0;
  }
};

TEST_P(CudnnAttention, HasEnginesForWhatTheKernelAsks) {
  for (const DType type : {DType::kF16, DType::kBF16}) {
    for (const int64_t size : {64, 128}) {
      for (const auto& [queries, keys] : {std::pair{128, 128}, std::pair{100, 77}}) {
        AttentionCall call = CallOf(type, size, queries, keys);
        const std::string what = StrCat(DTypeName(type), " ", size, " ", queries, " ", keys);
        EXPECT_GT(Engines(call), 0) << what;
        call.causal = true;
        EXPECT_GT(Engines(call), 0) << what << " causal";
        call.bias_batch = 1;
        call.bias_heads = call.heads;
        EXPECT_GT(Engines(call), 0) << what << " causal with a bias";
        call.causal = false;
        call.bias_heads = 1;
        EXPECT_GT(Engines(call), 0) << what << " with a bias";
      }
    }
  }
}

// As tests/unit/kernel_gpu/attention_test.cc runs them.
TEST_P(CudnnAttention, HasEnginesForSmallHeadsAndPackedOnes) {
  AttentionCall call = CallOf(DType::kBF16, 8, 8, 24);
  EXPECT_GT(Engines(call), 0) << "heads of 8";
  call.q_strides = call.out_strides = {8 * 64, 8, 64};
  call.k_strides = call.v_strides = {24 * 16, 8, 16};
  EXPECT_GT(Engines(call), 0) << "packed";
  for (const auto& [batch, heads] : {std::pair{2, 1}, std::pair{1, 8}, std::pair{2, 8}}) {
    call.bias_batch = batch;
    call.bias_heads = heads;
    EXPECT_GT(Engines(call), 0) << "bias " << batch << " x " << heads;
  }
}

TEST_P(CudnnAttention, HasNoneForHeadsOfOddSizes) { EXPECT_EQ(Engines(CallOf(DType::kF16, 6, 128, 128)), 0); }

// Each of its reasons lets a convolution or fused attention be done otherwise.
TEST(CudnnStatus, EveryReasonForNotDoingACallIsOne) {
  for (const cudnnStatus_t status :
       {CUDNN_STATUS_NOT_SUPPORTED, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, CUDNN_STATUS_NOT_SUPPORTED_SHAPE,
        CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH, CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT}) {
    EXPECT_TRUE(cuda::IsNotSupported(status)) << status;
  }
  for (const cudnnStatus_t status : {CUDNN_STATUS_SUCCESS, CUDNN_STATUS_BAD_PARAM, CUDNN_STATUS_INTERNAL_ERROR,
                                     CUDNN_STATUS_EXECUTION_FAILED, CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED}) {
    EXPECT_FALSE(cuda::IsNotSupported(status)) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, CudnnAttention, testing::Values(Device(800, 108, 166912), Device(900, 132, 232448)),
                         [](const auto& info) { return info.index == 0 ? "sm80" : "sm90"; });

}  // namespace
}  // namespace sbp::gpu

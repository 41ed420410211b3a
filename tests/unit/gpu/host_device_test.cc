// The host's device: memory, streams and events, products and convolutions against sums written out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/minifloat.h"
#include "gpu/for_each.h"
#include "gpu/gpu.h"
#include "gpu/host/host.h"

namespace sbp::gpu {
namespace {

using testing::ElementsAre;

class HostDeviceTest : public testing::Test {
 protected:
  HostDeviceTest() : device_(OpenHostDevice(3)), stream_(std::move(device_->MakeStream()).value()) {}

  std::byte* Put(const std::vector<float>& values) {
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(float));
    std::byte* data = stream_->Scratch(bytes).value();
    EXPECT_TRUE(stream_->Upload(reinterpret_cast<const std::byte*>(values.data()), data, bytes).ok());
    return data;
  }
  std::vector<float> Take(const std::byte* data, size_t n) {
    std::vector<float> values(n);
    EXPECT_TRUE(
        stream_->Download(data, reinterpret_cast<std::byte*>(values.data()), static_cast<int64_t>(n * sizeof(float)))
            .ok());
    return values;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(HostDeviceTest, ScratchIsAlignedAndServedAgainAfterReset) {
  EXPECT_EQ(device_->ordinal(), 3);
  std::byte* first = stream_->Scratch(1).value();
  std::byte* second = stream_->Scratch(64 << 20).value();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 256, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second) % 256, 0u);
  stream_->ResetScratch();
  EXPECT_EQ(stream_->Scratch(5).value(), first);
}

TEST_F(HostDeviceTest, EventsHaveTimes) {
  auto begin = stream_->MakeEvent(true).value(), end = stream_->MakeEvent(true).value(),
       untimed = stream_->MakeEvent(false).value();
  for (Event* event : {begin.get(), end.get(), untimed.get()}) ASSERT_TRUE(stream_->Record(*event).ok());
  EXPECT_GE(stream_->SecondsBetween(*begin, *end).value(), 0);
  EXPECT_FALSE(stream_->SecondsBetween(*begin, *untimed).ok());
  EXPECT_EQ(*stream_->error_word(), 0u);
}

TEST_F(HostDeviceTest, GemmTransposesStretchesAndScales) {
  GemmCall call;
  call.m = 2, call.n = 2, call.k = 3;
  call.a = Put({1, 2, 3, 4, 5, 6});
  call.c = Put({1, 0, 0, 1, 1, 1});
  call.out = Put({10, 10, 10, 10});
  ASSERT_TRUE(stream_->Gemm(call).ok());
  EXPECT_THAT(Take(call.out, 4), ElementsAre(4, 5, 10, 11));
  call.c = Put({1, 0, 1, 0, 1, 1});
  call.transpose_c = true;
  call.alpha = 2, call.beta = 1;
  ASSERT_TRUE(stream_->Gemm(call).ok());
  EXPECT_THAT(Take(call.out, 4), ElementsAre(12, 15, 30, 33));
  // Two batches of one matrix on the right; the left ones are stored k x m.
  GemmCall batched;
  batched.batch = 2, batched.m = 1, batched.n = 1, batched.k = 2, batched.stride_a = 2;
  batched.transpose_a = true;
  batched.a = Put({1, 2, 3, 4});
  batched.c = Put({1, 10});
  batched.out = Put({0, 0});
  ASSERT_TRUE(stream_->Gemm(batched).ok());
  EXPECT_THAT(Take(batched.out, 2), ElementsAre(21, 43));
  batched.k = 0;
  ASSERT_TRUE(stream_->Gemm(batched).ok());
  EXPECT_THAT(Take(batched.out, 2), ElementsAre(0, 0));
}

// What calls before have told and left behind is nobody's failure; what stays is.
TEST(ErrorThatStays, IsNotWhatCanBeCleared) {
  std::vector<int> errors;
  const auto take = [&] {
    if (errors.empty()) return 0;
    const int error = errors.back();
    if (error < 100) errors.pop_back();
    return error;
  };
  EXPECT_EQ(ErrorThatStays(0, take), 0);
  errors = {7};
  EXPECT_EQ(ErrorThatStays(0, take), 0);
  EXPECT_TRUE(errors.empty());
  errors = {700};
  EXPECT_EQ(ErrorThatStays(0, take), 700);
}

TEST_F(HostDeviceTest, GemmOfHalvesSumsInFloat) {
  GemmCall call;
  call.dtype = DType::kBF16;
  call.m = 1, call.n = 1, call.k = 300;
  std::vector<uint16_t> ones(300, static_cast<uint16_t>(EncodeMinifloat(kBF16Layout, 1.0, false)));
  uint16_t sum = 0;
  call.a = call.c = reinterpret_cast<const std::byte*>(ones.data());
  call.out = reinterpret_cast<std::byte*>(&sum);
  ASSERT_TRUE(stream_->Gemm(call).ok());
  EXPECT_EQ(DecodeMinifloat(kBF16Layout, sum), 300);  // bf16 sums would stop at 256
}

TEST_F(HostDeviceTest, ConvWithGroupsPadsAndStrides) {
  ConvCall call;
  call.groups = 2;
  call.x_shape = {1, 2, 3, 3}, call.w_shape = {2, 1, 2, 2}, call.y_shape = {1, 2, 2, 2};
  call.strides = {2, 2}, call.dilations = {1, 1}, call.pads_begin = {1, 1};
  call.x = Put({1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  call.w = Put({1, 1, 1, 1, 1, 2, 3, 4});
  call.y = Put(std::vector<float>(8, -1));
  ASSERT_TRUE(stream_->Conv(call).value());
  EXPECT_THAT(Take(call.y, 8), ElementsAre(1, 5, 11, 28, 4, 7, 6, 10));
}

}  // namespace
}  // namespace sbp::gpu

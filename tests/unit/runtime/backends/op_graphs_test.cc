// Graphs of ops, on a device of the host: they compute what the kernels do, and only where that pays.
#include "runtime/backends/gpu/op_graphs.h"

#include <gtest/gtest.h>

#include <numeric>

#include "gpu/for_each.h"
#include "gpu/host/host.h"

namespace sbp {
namespace {

class OpGraphsTest : public testing::Test {
 protected:
  OpGraphsTest() {
    step_.kernel = &row_;
    program_.steps = {step_, step_};
    std::iota(numbers_.begin(), numbers_.end(), 1.0F);
  }

  TensorView View(float* data) { return WholeView(DType::kF32, {4}, reinterpret_cast<std::byte*>(data)); }

  // y = 2 x + 1 in two kernels, which take the clock so long to start.
  Status Work(TensorView in, TensorView& out) {
    now_ += plain_seconds_;
    ++works_;
    if (fails_) return RunFailed("no such kernel");
    if (downloads_) SBP_RETURN_IF_ERROR(stream_->Synchronize());
    const auto* x = in.as<float>();
    auto* y = out.as<float>();
    SBP_RETURN_IF_ERROR(gpu::ForEach(*stream_, 4, [=](int64_t i) { y[i] = 2 * x[i]; }));
    SBP_RETURN_IF_ERROR(gpu::ForEach(*stream_, 4, [=](int64_t i) { y[i] += 1; }));
    out.whole = {4};
    return OkStatus();
  }

  // Runs it `times` times on new numbers, and checks each result.
  void RunAndCheck(int times, const void* op, float* x, float* y) {
    for (int n = 0; n < times; ++n) {
      for (int i = 0; i < 4; ++i) x[i] = static_cast<float>(10 * n + i);
      const std::vector<TensorView> operands{View(x)};
      std::vector<TensorView> results{View(y)};
      results[0].whole = {};
      const Status status = graphs_.Run(op, program_, operands, results, [&] { return Work(operands[0], results[0]); });
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(results[0].whole, Shape{4});
      for (int i = 0; i < 4; ++i) ASSERT_EQ(y[i], 2 * x[i] + 1) << "run " << n;
    }
  }

  const KernelRow row_{"Relu", {}, KernelDevice::kCuda, nullptr};
  LocalStep step_;
  LocalProgram program_;
  std::unique_ptr<gpu::Device> device_ = gpu::OpenHostDevice(0);
  const std::unique_ptr<gpu::Stream> stream_ = device_->MakeStream().value();
  double now_ = 0, plain_seconds_ = 3, launch_seconds_ = 1;
  // Launches are seen by what is asked of the clock: twice each while a graph is judged.
  OpGraphs graphs_{*stream_, [this] { return now_ += launch_seconds_; }};
  int works_ = 0;
  bool fails_ = false, downloads_ = false;
  std::array<float, 64> numbers_{};
  int op_ = 0, other_op_ = 0;
};

TEST_F(OpGraphsTest, ReplacesKernelsOnceTheyAreKnown) {
  RunAndCheck(20, &op_, &numbers_[0], &numbers_[4]);
  EXPECT_EQ(works_, 4);  // three runs, and what the graph is made of
  EXPECT_EQ(graphs_.launches(), 17);
}

TEST_F(OpGraphsTest, IsDroppedWhereItDoesNotPay) {
  plain_seconds_ = 0;  // no slower than a launch
  RunAndCheck(20, &op_, &numbers_[0], &numbers_[4]);
  EXPECT_EQ(graphs_.launches(), 3);
  EXPECT_EQ(works_, 3 + 1 + 14);
}

TEST_F(OpGraphsTest, OtherMemoryAndOtherOpsHaveTheirOwn) {
  for (int n = 0; n < 6; ++n) {
    RunAndCheck(1, &op_, &numbers_[0], &numbers_[4]);
    RunAndCheck(1, &op_, &numbers_[8], &numbers_[4]);
    RunAndCheck(1, &op_, &numbers_[8], &numbers_[12]);
    RunAndCheck(1, &other_op_, &numbers_[8], &numbers_[12]);
  }
  EXPECT_EQ(works_, 4 * 4);
  for (int n = 0; n < 20; ++n) RunAndCheck(1, &op_, &numbers_[16], &numbers_[20 + 2 * n]);
  EXPECT_EQ(graphs_.launches(), 4 * 3);  // of an op that is always elsewhere none
}

TEST_F(OpGraphsTest, WhatTheHostHasAPartInRunsWithout) {
  downloads_ = true;
  RunAndCheck(10, &op_, &numbers_[0], &numbers_[4]);
  EXPECT_EQ(graphs_.launches(), 0);
  EXPECT_EQ(works_, 11);  // one was tried
  program_.steps[1].on_host = true;
  downloads_ = false;
  RunAndCheck(10, &other_op_, &numbers_[0], &numbers_[4]);
  EXPECT_EQ(graphs_.launches(), 0);
}

TEST_F(OpGraphsTest, OneKernelIsAsGood) {
  program_.steps.resize(1);
  RunAndCheck(10, &op_, &numbers_[0], &numbers_[4]);
  EXPECT_EQ(graphs_.launches(), 0);
}

TEST_F(OpGraphsTest, FailuresAreTold) {
  fails_ = true;
  const std::vector<TensorView> operands{View(&numbers_[0])};
  std::vector<TensorView> results{View(&numbers_[4])};
  const auto run = [&] {
    return graphs_.Run(&op_, program_, operands, results, [&] { return Work(operands[0], results[0]); });
  };
  EXPECT_EQ(run().message(), "no such kernel");
  fails_ = false;
  for (int n = 0; n < 3; ++n) EXPECT_TRUE(run().ok());
  fails_ = true;  // while the graph is made, and then again
  EXPECT_EQ(run().message(), "no such kernel");
  fails_ = false;
  EXPECT_TRUE(run().ok());
  EXPECT_EQ(graphs_.launches(), 0);
}

}  // namespace
}  // namespace sbp

// Failures and order of thread communicators; what they compute is in boxing_test.cc.
#include "runtime/exchange/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "runtime/backends/threads/thread_communicator.h"
#include "unit/runtime/device_threads.h"
#include "unit/runtime/values.h"

namespace sbp {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

Status Failure() { return Status(Code::kRunFailed, "kernel of device 2 failed"); }

TEST(ThreadCommunicator, AbortReachesEveryBlockedRankOfEveryGroup) {
  const Mesh mesh = *ParseMesh("2,3");
  std::vector<DeviceCommunicators> communicators = MakeThreadCommunicators(mesh, {});
  const Clock::time_point start = Clock::now();
  const std::vector<Status> results = OnDevices(mesh.num_devices(), [&](int64_t device) {
    if (device == 2) {
      std::this_thread::sleep_for(milliseconds(30));
      communicators[2].axes[0]->Abort(Failure());
      return communicators[2].all->Barrier();
    }
    // Devices 0 and 3 meet and then wait with all; the others wait along the second axis or with all at once.
    return device % 3 == 0
               ? communicators[device].axes[0]->Barrier().ok() ? communicators[device].all->Barrier() : Failure()
           : communicators[device].axes[device % 2]->Barrier().ok() ? communicators[device].all->Barrier()
                                                                    : communicators[device].all->status();
  });
  for (const Status& status : results) EXPECT_EQ(status.message(), Failure().message());
  EXPECT_LT(Clock::now() - start, milliseconds(1000));
}

TEST(ThreadCommunicator, TheFirstFailureWins) {
  std::vector<DeviceCommunicators> communicators = MakeThreadCommunicators(*ParseMesh("2"), {});
  EXPECT_TRUE(communicators[1].all->status().ok());
  communicators[0].all->Abort(Failure());
  communicators[1].axes[0]->Abort(Status(Code::kRunFailed, "later"));
  EXPECT_EQ(communicators[1].all->status().message(), Failure().message());
}

TEST(ThreadCommunicator, ARankThatDoesNotComeIsNamed) {
  std::vector<DeviceCommunicators> communicators =
      MakeThreadCommunicators(*ParseMesh("2,2"), {.timeout = milliseconds(60)});
  const std::vector<Status> results = OnDevices(4, [&](int64_t device) {
    return device == 3 ? OkStatus() : communicators[device].axes[1]->Barrier();  // groups {0, 1} and {2, 3}
  });
  EXPECT_TRUE(results[0].ok());
  EXPECT_TRUE(results[1].ok());
  EXPECT_EQ(results[2].code(), Code::kRunFailed);
  EXPECT_EQ(results[2].message(), "device 2 waited 60 ms in a collective for device 3");
  EXPECT_EQ(communicators[0].all->Barrier().message(), results[2].message());
}

TEST(ThreadCommunicator, WhatNobodyHoldsIsADefect) {
  std::vector<DeviceCommunicators> communicators = MakeThreadCommunicators(*ParseMesh("2"), {});
  OwnedPart source, target[2];
  MakePart(DType::kF32, {4}, {{0, 1}}, source);
  for (OwnedPart& part : target) MakePart(DType::kF32, {4}, {{0, 2}}, part);
  const std::vector<Status> results = OnDevices(2, [&](int64_t device) {
    return communicators[device].all->Exchange(source.view, target[device].view, {{{0, 1}}, {{0, 1}}},
                                               {{{0, 2}}, {{0, 2}}});
  });
  EXPECT_EQ(results[0].code(), Code::kDefect);
  EXPECT_THAT(results[0].message(), ::testing::HasSubstr("wants [0:2], part of which nobody holds"));
}

TEST(ThreadCommunicator, BytesOfEveryRank) {
  std::vector<DeviceCommunicators> communicators = MakeThreadCommunicators(*ParseMesh("3"), {});
  const std::string texts[] = {"one", "", "three"};
  for (const Status& status : OnDevices(3, [&](int64_t device) {
         SBP_ASSIGN_OR_RETURN(const std::vector<std::string> all,
                              communicators[device].all->AllGatherBytes(texts[device]));
         EXPECT_THAT(all, ::testing::ElementsAreArray(texts));
         return OkStatus();
       })) {
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

// Sums that depend on their order, in all groups at once, with ranks that come late: always the same bits.
TEST(ThreadCommunicator, SumsDoNotDependOnTiming) {
  const Mesh mesh = *ParseMesh("2,3");
  constexpr int64_t kCount = 20'001;
  std::vector<std::vector<float>> inputs(6, std::vector<float>(kCount));
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (std::vector<float>& input : inputs) {
    for (float& value : input) value = uniform(random) * std::ldexp(1.F, static_cast<int>(random() % 20));
  }
  std::vector<std::vector<float>> first;
  for (int round = 0; round < 5; ++round) {
    std::vector<DeviceCommunicators> communicators = MakeThreadCommunicators(mesh, {});
    std::vector<std::vector<float>> values = inputs;
    const std::vector<Status> results = OnDevices(6, [&](int64_t device) {
      const TensorView view = WholeView(DType::kF32, {kCount}, reinterpret_cast<std::byte*>(values[device].data()));
      for (int axis = 0; axis < 2; ++axis) {
        if ((device + round) % 3 == 0) std::this_thread::sleep_for(milliseconds(2));
        SBP_RETURN_IF_ERROR(communicators[device].axes[axis]->AllReduce(ReduceKind::kSum, view, view));  // in place
      }
      return OkStatus();
    });
    for (const Status& status : results) ASSERT_TRUE(status.ok()) << status.message();
    for (int64_t i = 0; i < kCount; ++i) {
      // Along the first axis first, each sum from rank 0 up.
      const float sum = (inputs[0][i] + inputs[3][i]) + (inputs[1][i] + inputs[4][i]) + (inputs[2][i] + inputs[5][i]);
      ASSERT_EQ(values[4][i], sum);
    }
    if (round == 0) first = values;
    ASSERT_EQ(values, first);
  }
}

}  // namespace
}  // namespace sbp

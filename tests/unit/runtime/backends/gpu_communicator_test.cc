// Collectives on devices: every boxing step leaves what its layouts say, whichever way the bytes take.
#include "runtime/backends/gpu/gpu_communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/backends/gpu/gpu_space.h"
#include "support/host_gpus.h"
#include "unit/runtime/boxing_steps.h"
#include "unit/runtime/device_threads.h"

namespace sbp {
namespace {

class GpuBoxing : public ::testing::TestWithParam<const char*> {};

TEST_P(GpuBoxing, EveryStepFillsTheTargets) {
  const Mesh mesh = *ParseMesh(GetParam());
  const auto backend = MakeHostBackend({.count = 16});
  ASSERT_TRUE(backend->Claim(mesh).ok());
  auto handles = backend->Connect(mesh);
  ASSERT_TRUE(handles.ok()) << handles.status().message();
  BoxingSteps steps(mesh, 3);
  steps.AddAll();
  for (const Status& status : OnDevices(mesh.num_devices(), [&](int64_t device) {
         GpuDevice& gpu = *backend->gpus()[device];
         GpuSpace space(gpu, *gpu.communication);
         return steps.RunDevice(device, (*handles)[device], space);
       })) {
    ASSERT_TRUE(status.ok()) << status.message();
  }
  steps.Check();
}
INSTANTIATE_TEST_SUITE_P(Meshes, GpuBoxing, ::testing::Values("1", "2", "3", "4", "2,2", "2,3", "3,1"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), ',', 'x');
                           return name;
                         });

TEST(GpuCommunicator, AFailureEndsThoseWhoWait) {
  const Mesh mesh = *ParseMesh("2,2");
  const auto backend = MakeHostBackend();
  ASSERT_TRUE(backend->Claim(mesh).ok());
  auto handles = backend->Connect(mesh);
  ASSERT_TRUE(handles.ok());
  const std::vector<Status> results = OnDevices(4, [&](int64_t device) {
    DeviceCommunicators& own = (*handles)[device];
    if (device == 3) own.all->Abort(RunFailed("device 3 failed"));
    SBP_RETURN_IF_ERROR(own.axes[device % 2]->Barrier());
    return own.all->Barrier();
  });
  for (const Status& status : results) EXPECT_EQ(status.message(), "device 3 failed");
}

TEST(GpuCommunicator, WhatNobodyHoldsIsADefect) {
  const Mesh mesh = *ParseMesh("2");
  const auto backend = MakeHostBackend();
  ASSERT_TRUE(backend->Claim(mesh).ok());
  auto handles = backend->Connect(mesh);
  ASSERT_TRUE(handles.ok());
  OwnedPart source, target[2];
  MakePart(DType::kF32, {4}, {{0, 1}}, source);
  for (OwnedPart& part : target) MakePart(DType::kF32, {4}, {{0, 2}}, part);
  const std::vector<Status> results = OnDevices(2, [&](int64_t device) {
    return (*handles)[device].all->Exchange(source.view, target[device].view, {{{0, 1}}, {{0, 1}}},
                                            {{{0, 2}}, {{0, 2}}});
  });
  for (const Status& status : results) {
    EXPECT_EQ(status.code(), Code::kDefect);
    EXPECT_THAT(status.message(), ::testing::HasSubstr("wants [0:2], part of which nobody holds"));
  }
}

TEST(GpuNews, TheWatchEndsCollectivesOfAFailedRun) {
  const Mesh mesh = *ParseMesh("2");
  const auto backend = MakeHostBackend();
  ASSERT_TRUE(backend->Claim(mesh).ok());
  auto handles = backend->Connect(mesh);
  ASSERT_TRUE(handles.ok());
  // Device 1 never comes; somebody else finds that the run has failed.
  const std::vector<Status> results = OnDevices(2, [&](int64_t device) {
    if (device == 0) return (*handles)[0].all->Barrier();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    backend->gpus()[1]->news->Abort(RunFailed("rank 7 is gone"));
    return OkStatus();
  });
  EXPECT_EQ(results[0].message(), "rank 7 is gone");
}

// A device that never does what was started: the run fails by the rank's name, though nobody waits for the device.
TEST(GpuNews, SilenceEndsTheRun) {
  GpuNews news(AloneLaunch());
  news.Expect(std::chrono::milliseconds(100));
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    news.Alive();
  }
  EXPECT_TRUE(news.status().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_THAT(news.status().message(), ::testing::HasSubstr("rank 0: no GPU of it has started or ended anything for"));
}

TEST(GpuNews, WhatIsNotExpectedIsNotMissed) {
  GpuNews news(AloneLaunch());
  news.Expect(std::chrono::milliseconds(50));
  news.Rest();
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_TRUE(news.status().ok());
}

// Destructors that hang, too: the process ends, with the rank and the failure.
TEST(GpuNews, AFailedRunThatDoesNotEndIsEnded) {
  const auto hang = [] {
    GpuNews news(AloneLaunch(), {std::chrono::milliseconds(50)});
    news.Abort(RunFailed("device 0 was not done"));
    std::this_thread::sleep_for(std::chrono::seconds(30));  // as a destructor that waits for the device
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(hang(), ::testing::ExitedWithCode(5), "error: rank 0: device 0 was not done; its GPU does not end");
}

TEST(GpuNews, AFailedRunThatEndsIsLeftAlone) {
  std::atomic<int> ended{0};
  {
    GpuNews news(AloneLaunch(), {std::chrono::milliseconds(50), [&](int, const Status&) { ++ended; }});
    news.Abort(RunFailed("boom"));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace sbp

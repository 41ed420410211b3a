// Collectives on devices: every boxing step leaves what its layouts say, whichever way the bytes take.
#include "runtime/gpu/gpu_communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/gpu/gpu_space.h"
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

}  // namespace
}  // namespace sbp

#include "base/jobs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <vector>

namespace sbp {
namespace {

TEST(RunJobs, EachOnceByAnyNumberOfThreads) {
  for (const int threads : {0, 1, 3, 100}) {
    std::vector<std::atomic<int>> runs(17);
    RunJobs(runs.size(), threads, {}, {}, [&](size_t i) { ++runs[i]; });
    for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1);
  }
  RunJobs(0, 4, {}, {}, [](size_t) { FAIL(); });
}

TEST(RunJobs, WhatAPieceThrowsIsThrownOnceAllHaveEnded) {
  std::atomic<int> running = 0;
  EXPECT_THROW(RunJobs(50, 4, {}, {},
                       [&](size_t i) {
                         ++running;
                         if (i == 7) {
                           --running;
                           throw std::bad_alloc();
                         }
                         --running;
                       }),
               std::bad_alloc);
  EXPECT_EQ(running, 0);
}

TEST(RunJobs, EndsWhenCancelled) {
  std::atomic<int> done = 0;
  RunJobs(
      1000, 2, {}, [&] { return done >= 10; }, [&](size_t) { ++done; });
  EXPECT_GE(done, 10);
  EXPECT_LE(done, 12);
}

}  // namespace
}  // namespace sbp

#include "runtime/processes/failure_detector.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"

namespace sbp {
namespace {

TEST(FirstFailure, LaterOnesChangeNothing) {
  FirstFailure failure;
  EXPECT_FALSE(failure.failed());
  EXPECT_TRUE(failure.status().ok());
  EXPECT_TRUE(failure.Set(RunFailed("first")));
  EXPECT_FALSE(failure.Set(RunFailed("second"), /*elsewhere=*/true));
  EXPECT_TRUE(failure.failed());
  EXPECT_EQ(failure.status().message(), "first");
  EXPECT_TRUE(failure.elsewhere().ok()) << "it was here";
  FirstFailure told;
  EXPECT_TRUE(told.Set(RunFailed("there"), /*elsewhere=*/true));
  EXPECT_EQ(told.elsewhere().message(), "there");
}

TEST(FirstFailure, OneOfManyThreadsIsFirst) {
  FirstFailure failure;
  std::atomic<int> firsts{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      if (!failure.Set(RunFailed(StrCat("thread ", t)))) return;
      ++firsts;
      EXPECT_EQ(failure.status().message(), StrCat("thread ", t));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(firsts, 1);
}

TEST(Silence, EightBeatsWithoutASign) {
  Silence silence;
  for (int beat = 1; beat < 8; ++beat) EXPECT_FALSE(silence.Beat(false)) << beat;
  EXPECT_FALSE(silence.Beat(true)) << "a sign in the last moment";
  for (int beat = 1; beat < 8; ++beat) EXPECT_FALSE(silence.Beat(false)) << beat;
  EXPECT_TRUE(silence.Beat(false));
  EXPECT_EQ(silence.Words(), "has given no sign of life for 4 s: it is stopped, or its machine cannot be reached");
}

TEST(Silence, TheFirstSignMayTakeLonger) {
  Silence silence(20);
  for (int beat = 1; beat < 20; ++beat) EXPECT_FALSE(silence.Beat(false)) << beat;
  EXPECT_TRUE(silence.Beat(false));
  EXPECT_FALSE(silence.Beat(true));
  for (int beat = 1; beat < 8; ++beat) EXPECT_FALSE(silence.Beat(false)) << beat;
  EXPECT_TRUE(silence.Beat(false)) << "once it was heard, as anybody";
}

TEST(Progress, IsMissedOnlyWhereItIsExpected) {
  const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
  Progress progress;
  wait();
  EXPECT_FALSE(progress.Overdue());
  progress.Expect(std::chrono::milliseconds(10));
  wait();
  EXPECT_TRUE(progress.Overdue());
  progress.Alive();
  progress.Expect(std::chrono::milliseconds(60'000));
  EXPECT_FALSE(progress.Overdue());
  EXPECT_EQ(progress.patience_seconds(), 60);
  progress.Expect(std::chrono::milliseconds(10));
  wait();
  progress.Rest();
  EXPECT_FALSE(progress.Overdue());
}

}  // namespace
}  // namespace sbp

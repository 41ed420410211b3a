// How a run that nobody can finish is noticed: what every backend knows of failures, and when somebody who says nothing
// is taken for dead. What carries news and signs of life (connections, messages, a GPU's streams) is the backends'.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/status.h"

namespace sbp {

// The first failure of a run that is known here; later ones are its consequences, as a rule. Thread-safe.
class FirstFailure {
 public:
  // Was it the first? `elsewhere`: another process told it, or is itself what failed.
  bool Set(const Status& failure, bool elsewhere = false);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  Status status() const;     // OK: none yet
  Status elsewhere() const;  // the same, if it was set so

 private:
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  Status failure_;          // under mutex_, like the next one
  bool elsewhere_ = false;  // before failed_
};

// Signs of life between processes: each gives one to those who listen to it every kBeatEvery, whatever else it does.
inline constexpr std::chrono::milliseconds kBeatEvery{500};

// One listener's ear for one other process. What is counted is the listener's own beats: a machine that slept as a
// whole takes nobody for dead. For one thread.
class Silence {
 public:
  static constexpr int kBeats = 8;  // without a sign, and the other is dead
  // `beats_before_first`: so long the first sign may take, where the others begin when all have come.
  explicit Silence(int beats_before_first = kBeats) : beats_before_first_(beats_before_first) {}

  // A beat of the listener's; `heard`: a sign came since the one before. Is the other taken for dead?
  bool Beat(bool heard);
  // "has given no sign of life for 4 s: it is stopped, or its machine cannot be reached"
  std::string Words() const;

 private:
  const int beats_before_first_;
  int silent_ = 0;  // beats
  bool ever_heard_ = false;
};

// Work of this process itself that may stand still without anybody returning to say so, as a GPU's. Here it is time
// that counts. Thread-safe.
class Progress {
 public:
  // From now until Rest something is expected at least so often.
  void Expect(std::chrono::milliseconds patience);
  void Alive();
  void Rest() { patience_.store(0); }

  bool Overdue() const;
  int64_t patience_seconds() const { return patience_.load() / 1000; }

 private:
  std::atomic<int64_t> patience_{0}, last_sign_{0};  // milliseconds; patience 0: nothing is expected
};

}  // namespace sbp

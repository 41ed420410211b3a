// Seconds that several pieces of work may take together.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace sbp {

// From its making on. Never spent by default.
class TimeBudget {
 public:
  TimeBudget() = default;
  explicit TimeBudget(double seconds) : end_(Seconds(Clock::now()) + seconds) {}

  bool is_limited() const { return end_ < std::numeric_limits<double>::infinity(); }
  bool IsSpent() const { return Seconds(Clock::now()) >= end_; }
  // For the next piece, of which it is not known how many follow: half of what is left, and above 0.
  double NextPiece() const { return std::max(kLeast, (end_ - Seconds(Clock::now())) / 2); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kLeast = 1e-2;
  static double Seconds(Clock::time_point time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
  }

  double end_ = std::numeric_limits<double>::infinity();
};

}  // namespace sbp

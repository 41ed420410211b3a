#include "search/multipliers.h"

#include <algorithm>
#include <cmath>

namespace sbp {
namespace {

constexpr double kMemory = 0.5;    // of the direction, for what earlier steps said
constexpr int32_t kPatience = 20;  // steps without a better bound before the pace is lowered
constexpr double kSlower = 0.8;
constexpr double kLeastPace = 1e-4;
constexpr double kFallBack = 1.0;  // a bound this many gaps below the best sends the multipliers back to it

}  // namespace

MultiplierAscent::MultiplierAscent(const Core& core)
    : core_(core),
      dual_(core),
      multipliers_(core.limits.size(), 0),
      best_multipliers_(core.limits.size(), 0),
      direction_(core.limits.size(), 0),
      best_bound_(-kForbidden) {}

void MultiplierAscent::Direct(std::span<const double> usage) {
  for (size_t step = 0; step < direction_.size(); ++step) {
    const double over = usage[step] - core_.limits[step];
    direction_[step] = kMemory * direction_[step] + (1 - kMemory) * over;
    if (multipliers_[step] <= 0 && direction_[step] < 0) direction_[step] = 0;
  }
}

void MultiplierAscent::Step(double upper) {
  const double bound = dual_.Pass();
  choice_ = dual_.Round(false);
  if (core_.limits.empty()) {
    best_bound_ = std::max(best_bound_, bound);
    return;
  }
  const double clear = std::max(1.0, 1e-6 * std::fabs(best_bound_));
  stalled_ = bound > best_bound_ + clear ? 0 : stalled_ + 1;
  if (bound > best_bound_) {
    best_bound_ = bound;
    best_multipliers_ = multipliers_;
  }
  if (std::isinf(upper)) upper = best_bound_ + std::fabs(best_bound_);
  const double gap = std::max(upper - best_bound_, 1.0);
  if (stalled_ > kPatience) {
    pace_ = std::max(kLeastPace, pace_ * kSlower);
    stalled_ = 0;
  }
  if (bound < best_bound_ - kFallBack * gap) {
    multipliers_ = best_multipliers_;
    std::fill(direction_.begin(), direction_.end(), 0.0);
    pace_ = std::max(kLeastPace, pace_ * kSlower);
    dual_.SetMultipliers(multipliers_);
    return;
  }
  Direct(UsageOf(core_, choice_));
  double length = 0;
  for (const double part : direction_) length += part * part;
  if (length == 0) return;
  const double step = pace_ * gap / length;
  for (size_t i = 0; i < multipliers_.size(); ++i)
    multipliers_[i] = std::max(0.0, multipliers_[i] + step * direction_[i]);
  dual_.SetMultipliers(multipliers_);
}

}  // namespace sbp

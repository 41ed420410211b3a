#include "search/multipliers.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace sbp {
namespace {

// Cycles of steps whose pace falls from high to low. Long memory of the direction (the average of many choices is
// nearly a fractional optimum) and high pace shake messages out of the fixed points that coordinate ascent gets stuck
// in; short memory and two passes a step then polish. The kinds take turns because problems differ in which of them
// they need.
constexpr double kPaceAtStart = 0.3;  // of Polyak's step
constexpr double kPaceFalls = 0.05;   // over a cycle
constexpr double kCycleFalls = 0.8;   // per cycle
struct CycleKind {
  int32_t steps;
  double memory;
  int passes;
  double least_start;  // pace of the latest cycles
  bool from_best;      // begins at the best multipliers so far
};
constexpr CycleKind kKinds[] = {{40, 0.8, 2, 0.01, true}, {100, 0.95, 1, 0.05, false}};

}  // namespace

MultiplierAscent::MultiplierAscent(const Core& core)
    : core_(core),
      dual_(core),
      multipliers_(core.limits.size(), 0),
      best_multipliers_(core.limits.size(), 0),
      direction_(core.limits.size(), 0),
      best_bound_(dual_.bound()) {}

void MultiplierAscent::Direct(std::span<const double> usage, double memory) {
  for (size_t step = 0; step < direction_.size(); ++step) {
    direction_[step] = memory * direction_[step] + (1 - memory) * (usage[step] - core_.limits[step]);
    if (multipliers_[step] <= 0 && direction_[step] < 0) direction_[step] = 0;
  }
}

void MultiplierAscent::Step(double upper) {
  const CycleKind& kind = kKinds[cycle_ % std::size(kKinds)];
  double bound = dual_.Pass();
  for (int pass = 1; pass < kind.passes; ++pass) bound = dual_.Pass();
  work_ = kind.passes * dual_.pass_work();
  choice_ = dual_.Round(false);
  usage_ = UsageOf(core_, choice_);
  if (bound > best_bound_) {
    best_bound_ = bound;
    best_multipliers_ = multipliers_;
  }
  if (core_.limits.empty()) return;
  const double start = std::max(kind.least_start, kPaceAtStart * std::pow(kCycleFalls, cycle_));
  const double pace = start * std::pow(kPaceFalls, static_cast<double>(step_) / kind.steps);
  const bool begins = step_ == 0 && cycle_ > 0;
  if (++step_ == kind.steps) {
    step_ = 0;
    ++cycle_;
  }
  if (begins && kind.from_best) {
    multipliers_ = best_multipliers_;
    std::fill(direction_.begin(), direction_.end(), 0.0);
    dual_.SetMultipliers(multipliers_);
    return;
  }
  if (std::isinf(upper)) upper = best_bound_ + std::max(std::fabs(best_bound_), 1e6);
  // A step towards the best known cost; from further below, up to twice the gap.
  const double gap = std::max(upper - best_bound_, 1.0);
  const double reach = std::min(upper - bound, 2 * gap);
  Direct(usage_, kind.memory);
  double length = 0;
  for (const double part : direction_) length += part * part;
  if (length == 0) return;
  const double step = pace * std::max(reach, 1.0) / length;
  for (size_t i = 0; i < multipliers_.size(); ++i) {
    multipliers_[i] = std::max(0.0, multipliers_[i] + step * direction_[i]);
  }
  dual_.SetMultipliers(multipliers_);
}

}  // namespace sbp

#include "search/multipliers.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace sbp {
namespace {

// Cycles of steps, of several kinds that take turns because problems differ in which of them they need.
//  * Pace falls from high to low. Long memory of the direction (the average of many choices is nearly a fractional
//    optimum) and high pace shake messages out of the fixed points that coordinate ascent gets stuck in; short memory
//    and two passes a step then polish.
//  * Levels: each step aims a little above the best bound. That little grows while it is reached, and halves, beginning
//    again at the best multipliers, where it is not. Slow to begin with, and nearer to the end than the others where
//    much memory is short at many times.
constexpr double kPaceAtStart = 0.3;  // of Polyak's step
constexpr double kPaceFalls = 0.05;   // over a cycle
constexpr double kCycleFalls = 0.8;   // per cycle
}  // namespace

struct CycleKind {
  int32_t steps;
  double memory;
  int passes;
  double least_start;  // pace of the latest cycles
  bool from_best;      // begins at the best multipliers so far
  bool levels;
};

namespace {

constexpr CycleKind kKinds[] = {
    {40, 0.8, 2, 0.01, true, false}, {30, 0.8, 3, 0, true, true}, {100, 0.95, 1, 0.05, false, false}};
constexpr int32_t kMostIdleSteps = 5;  // steps, of a level
constexpr double kLevelAtStart = 0.1;  // of the gap
constexpr double kLevelGrows = 1.5;    // where a tenth of it is reached
constexpr double kLevelFalls = 0.5;

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

void MultiplierAscent::Begin() {
  multipliers_ = best_multipliers_;
  std::fill(direction_.begin(), direction_.end(), 0.0);
  dual_.SetMultipliers(multipliers_);
}

// Along the direction, as far as the bound would have to go to rise by `rise`.
void MultiplierAscent::Move(double rise) {
  double length = 0;
  for (const double part : direction_) length += part * part;
  if (length == 0) return;
  const double step = rise / length;
  for (size_t i = 0; i < multipliers_.size(); ++i) {
    multipliers_[i] = std::max(0.0, multipliers_[i] + step * direction_[i]);
  }
  dual_.SetMultipliers(multipliers_);
}

void MultiplierAscent::LevelStep(const CycleKind& kind, double bound, double gained, double gap) {
  if (step_ == 0) {
    level_ = kLevelAtStart * gap;
    idle_ = 0;
    return Begin();
  }
  idle_ = gained > 0.02 * level_ ? 0 : idle_ + 1;
  if (gained > 0.1 * level_) level_ = std::min(gap, level_ * kLevelGrows);
  if (idle_ >= kMostIdleSteps) {
    idle_ = 0;
    level_ *= kLevelFalls;
    return Begin();
  }
  Direct(usage_, kind.memory);
  Move((1 - kind.memory) * std::min(best_bound_ + level_ - bound, 2 * level_));
}

void MultiplierAscent::Step(double upper) {
  const CycleKind& kind = kKinds[cycle_ % std::size(kKinds)];
  double bound = dual_.Pass();
  for (int pass = 1; pass < kind.passes; ++pass) bound = dual_.Pass();
  work_ = kind.passes * dual_.pass_work();
  choice_ = dual_.Round(false);
  usage_ = UsageOf(core_, choice_);
  const double gained = std::max(0.0, bound - best_bound_);
  if (gained > 0) {
    best_bound_ = bound;
    best_multipliers_ = multipliers_;
  }
  if (core_.limits.empty()) return;
  if (std::isinf(upper)) upper = best_bound_ + std::max(std::fabs(best_bound_), 1e6);
  const double gap = std::max(upper - best_bound_, 1.0);
  if (kind.levels) {
    LevelStep(kind, bound, gained, gap);
  } else if (step_ == 0 && cycle_ > 0 && kind.from_best) {
    Begin();
  } else {
    const double start = std::max(kind.least_start, kPaceAtStart * std::pow(kCycleFalls, cycle_));
    const double pace = start * std::pow(kPaceFalls, static_cast<double>(step_) / kind.steps);
    // A step towards the best known cost; from further below, up to twice the gap.
    Direct(usage_, kind.memory);
    Move(pace * std::max(std::min(upper - bound, 2 * gap), 1.0));
  }
  if (++step_ == kind.steps) {
    step_ = 0;
    ++cycle_;
  }
}

}  // namespace sbp

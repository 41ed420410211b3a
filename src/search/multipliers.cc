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

// Passes that settle messages: as long as one gains that share of what is left up to the best choice. Without memory a
// pass gains as much in a step as out of it.
constexpr int kMostToSettle = 30, kMostWithoutMemory = 2;
constexpr double kSettled = 0.01;
constexpr double kFarAbove = 0.1;  // of the bound: where the best choice may be, when there is none yet
constexpr int kPassesOfExcursion = 3;

}  // namespace

MultiplierAscent::MultiplierAscent(const Core& core, bool settled, double near)
    : core_(core),
      dual_(core),
      multipliers_(core.limits.size(), 0),
      best_multipliers_(core.limits.size(), 0),
      direction_(core.limits.size(), 0),
      best_bound_(dual_.bound()),
      settles_(settled),
      near_(near),
      bundle_(core.limits.size()) {}

void MultiplierAscent::Begin(const MultiplierAscent& folded, const FoldedCore& fold, double upper, double cutoff) {
  for (size_t step = 0; step < multipliers_.size(); ++step) {
    const int32_t image = fold.step_of[step];
    multipliers_[step] = image < 0 ? 0 : folded.best_multipliers_[image] / fold.steps_of[image];
  }
  dual_.SetMultipliers(multipliers_);
  dual_.Begin(folded.dual_, fold);
  settles_ = !multipliers_.empty();
  NoteBound(dual_.bound());
  work_ = 0;
  if (best_bound_ < cutoff) NoteBound(Settle(Above(upper)));
  Restart();
}

// Somewhere above the bound, that the next step may reach for.
double MultiplierAscent::Above(double upper) const {
  return std::isinf(upper) ? best_bound_ + kFarAbove * std::fabs(best_bound_) : upper;
}

void MultiplierAscent::NoteBound(double bound) {
  if (bound <= best_bound_) return;
  best_bound_ = bound;
  best_multipliers_ = multipliers_;
}

// What a choice read off unsettled messages holds says little of the prices of memory.
double MultiplierAscent::Settle(double upper) {
  const int most = multipliers_.empty() ? kMostWithoutMemory : kMostToSettle;
  double bound = dual_.Pass();
  int passes = 1;
  for (; passes < most; ++passes) {
    const double before = bound;
    bound = dual_.Pass();
    const bool gained = bound - before > kSettled * std::max(upper - bound, 1.0);
    if (!gained || upper - bound <= near_ * std::fabs(upper)) break;
  }
  work_ = passes * dual_.pass_work();
  return bound;
}

// Forgets the planes: those that came from messages less settled than now are in the way.
void MultiplierAscent::Restart() {
  bundle_.Begin(best_multipliers_, best_bound_);
  multipliers_ = best_multipliers_;
  bound_at_restart_ = best_bound_;
}

void MultiplierAscent::StepSettled(double upper) {
  upper = Above(upper);
  dual_.SetMultipliers(multipliers_);
  const double bound = Settle(upper);
  choice_ = dual_.Round(false);
  usage_ = UsageOf(core_, choice_);
  NoteBound(bound);
  std::vector<double> slope(usage_.size());
  for (size_t step = 0; step < slope.size(); ++step) slope[step] = usage_[step] - core_.limits[step];
  if (bundle_.Note(bound, slope, upper)) {
    multipliers_.assign(bundle_.next().begin(), bundle_.next().end());
    return;
  }
  converged_ = best_bound_ <= bound_at_restart_;
  Restart();
}

void MultiplierAscent::Excurse(double factor) {
  if (!explorer_) explorer_.emplace(dual_);
  std::vector<double> prices(best_multipliers_);
  for (double& price : prices) price *= factor;
  explorer_->SetMultipliers(prices);
  for (int pass = 0; pass < kPassesOfExcursion; ++pass) explorer_->Pass();
  work_ = kPassesOfExcursion * dual_.pass_work();
}

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
  if (settles_) return StepSettled(upper);
  const CycleKind& kind = kKinds[cycle_ % std::size(kKinds)];
  double bound = dual_.Pass();
  for (int pass = 1; pass < kind.passes; ++pass) bound = dual_.Pass();
  work_ = kind.passes * dual_.pass_work();
  choice_ = dual_.Round(false);
  usage_ = UsageOf(core_, choice_);
  const double gained = std::max(0.0, bound - best_bound_);
  NoteBound(bound);
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

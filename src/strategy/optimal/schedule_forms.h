// Weighted sums of a plan's prices that its schedule never falls below.
//
// A step computes and communicates on two streams (schedule/schedule.h); while a collective runs, compute keeps the
// share o of its speed. Give each second of compute and each second of a collective a weight such that at every moment
// of every schedule
//
//   what is computed beside no collective weighs at most 1, a collective that nothing is computed beside too, and o
//   times the weight of what is computed plus the weight of the collective that runs meanwhile at most 1;
//
// then a step lasts at least the weighted sum of all that it does: integrate over its moments. Waiting for data and
// memory only adds to it. Weights:
//
// (1) The turn (turn.h) parts the step's time in two; with any l_before and l_behind in [0, 1], compute weighs l and
//     collectives 1 - l o of the part they are in. What may run in either weighs the less of both: compute min(l), a
//     collective 1 - o max(l). So a step that waits for weights before the turn (l near 0) and computes behind it (l
//     near 1) is bounded by both, not by the mean of the two.
// (2) Beside that, collectives on bottlenecks (bottlenecks.h) weigh 1, as beside these only ops set aside, local boxing
//     and cuts of kernel groups are computed: which then weigh nothing. What stands at either end is among them: the
//     collectives in front of which, and behind which, everything waits.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "problem/problem.h"
#include "strategy/optimal/bottlenecks.h"
#include "strategy/optimal/price_weights.h"
#include "strategy/optimal/turn.h"

namespace sbp {

struct Landmarks {
  Bottlenecks bottlenecks;
  Turn turn;
};

// Those by which the forms say most of a plan, among a few ways to set ops aside and a few places to turn.
Landmarks LandmarksFor(const Problem& problem, const Plan& plan);

// Which form: (1), or (2) where `waits`.
struct ScheduleForm {
  bool waits = false;
  double before = 1, behind = 1;  // l, each in [0, 1]
  auto operator<=>(const ScheduleForm&) const = default;
};
PriceWeights WeightsOf(const Landmarks& landmarks, double overlap, const ScheduleForm& form);

// A plan's prices, to be added up by several weights.
class PlanSums {
 public:
  // The plan must outlive this.
  explicit PlanSums(const Plan& plan);
  // Seconds of a step by these weights.
  double Total(const PriceWeights& weights) const;
  // Compute seconds of a step, per op.
  const std::vector<double>& ops() const { return ops_; }

 private:
  struct Sent {
    double sent = 0, local = 0;
  };
  bool IsSentEarly(size_t transition, const PriceWeights& weights) const;

  const Plan& plan_;
  std::vector<double> ops_;
  std::vector<Sent> transitions_;
  std::vector<std::vector<uint32_t>> behind_;  // per transition: those that start where it leads
};
inline double WeightedTotal(const Plan& plan, const PriceWeights& weights) { return PlanSums(plan).Total(weights); }

// What the forms (1), or those (2), say of one plan, as a function of both l: least of two planes, so concave.
class FormsOfPlan {
 public:
  FormsOfPlan(const PlanSums& sums, const Landmarks& landmarks, double overlap, bool waits);
  double at(double before, double behind) const;

 private:
  std::array<double, 4> corners_;  // at (before, behind) = (0, 0), (1, 0), (0, 1), (1, 1)
};

// Forms by what some plans say of them: the least of a form over all plans is no more than over these.
class KnownForms {
 public:
  // With the landmarks that say most of this plan.
  KnownForms(const Problem& problem, const Plan& plan) : KnownForms(LandmarksFor(problem, plan), plan) {}
  KnownForms(Landmarks landmarks, const Plan& plan);
  void Add(const Plan& plan);

  struct Highest {
    ScheduleForm form;
    double seconds = 0;  // what it says at most
  };
  // Where the least over the plans is greatest, which is where one more plan may tell most.
  Highest MostPromising(bool waits) const;
  PriceWeights WeightsOf(const ScheduleForm& form) const { return sbp::WeightsOf(landmarks_, overlap_, form); }
  const Landmarks& landmarks() const { return landmarks_; }

 private:
  Landmarks landmarks_;
  double overlap_;
  std::array<std::vector<FormsOfPlan>, 2> plans_;  // by forms (1), and by forms (2)
};

}  // namespace sbp

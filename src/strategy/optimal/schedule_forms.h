// Weighted sums of a plan's prices that its schedule never falls below.
//
// A step computes and communicates on two streams (schedule/schedule.h); while a collective runs, compute keeps the
// share o of its speed. Give each op any weight from 0 to 1, and each collective
//
//   1 - o times the most that an op weighs which may be computed beside it, whatever the plan (beside.h).
//
// Then at every moment of every schedule what runs weighs at most 1: an op or a collective alone does, and beside a
// collective o times the op's weight is added to the collective's. So a step lasts at least the weighted sum of all
// that it does: integrate over its moments. Waiting for data and memory only adds to it. Local boxing and cuts of
// kernel groups are computed beside anything: they weigh `local`, and a collective at most 1 - o local.
//
// What ops weigh goes by their kinds:
//  - A turn (turn.h) parts the step in two, each with weights of its own. So a step that waits for weights before the
//    turn (where ops weigh little) and computes behind it (where they weigh much) is bounded by both, not by the mean
//    of the two. What may run on either side weighs the less of both.
//  - By places (aside.h) ops of the longest chain, of branches, and ops set aside weigh differently. Where the latter
//    weigh 0, their compute is not counted, and what only they may be computed beside counts in full: collectives
//    between the layers of a model, and in the backward pass those between the gradients of activations.
// Of a tensor's readers the first one on the chain, before the turn if there is one, is its early one: a collective
// that serves it has less beside it than one that serves others alone.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "strategy/optimal/aside.h"
#include "strategy/optimal/beside.h"
#include "strategy/optimal/price_weights.h"
#include "strategy/optimal/turn.h"

namespace sbp {

struct Landmarks {
  std::vector<OpPlace> places;  // per op
  std::vector<StepSide> turn;   // per op
  OpKinds kinds;                // of both
  Beside beside;                // by these kinds

  // May nothing be computed while the tensor is sent, whoever reads it, but ops set aside?
  bool IsBottleneck(TensorId tensor) const;
};

// `turn`: empty: all may run on either side.
Landmarks MakeLandmarks(const BesideFinder& finder, std::vector<OpPlace> places, std::vector<StepSide> turn);

// Those by which the forms say most of a plan, among a few ways to set ops aside and a few places to turn.
Landmarks LandmarksFor(const Problem& problem, const Plan& plan);

// What ops weigh, each in [0, 1].
struct ScheduleForm {
  // By OpPlace, before the turn and behind it.
  std::array<double, 3> before = {1, 1, 1}, behind = {1, 1, 1};
  bool counts_local = false;  // does what is local weigh as the least of these, or nothing?
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
  // Of a step.
  const StreamSeconds& seconds() const { return seconds_; }

 private:
  friend class FormsOfPlan;
  struct Sent {
    double sent = 0, local = 0;
  };
  // Is what the transition makes read by one of these, or what is made of that?
  template <typename IsEarly>
  bool Serves(size_t transition, IsEarly is_early) const;

  const Plan& plan_;
  StreamSeconds seconds_;
  std::vector<Sent> transitions_;
  std::vector<std::vector<uint32_t>> behind_;  // per transition: those that start where it leads
};
inline double WeightedTotal(const Plan& plan, const PriceWeights& weights) { return PlanSums(plan).Total(weights); }

constexpr size_t kKindsOfStep = 9;  // sides, each with three places

// What the forms say of one plan: concave in what ops weigh.
class FormsOfPlan {
 public:
  FormsOfPlan(const PlanSums& sums, const Landmarks& landmarks, double overlap);
  double at(const ScheduleForm& form) const;
  // The share of that which the plan owes to where its collectives are: other plans may have theirs elsewhere.
  double DueToPlaces(const ScheduleForm& form) const;

 private:
  double overlap_;
  double local_ = 0;
  std::array<double, kKindsOfStep> computed_ = {};
  std::vector<std::pair<KindSet, double>> sent_;  // by what may be beside it
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
  Highest MostPromising(bool counts_local) const;
  // One whose least over all plans is known: it is 1 / (1 + overlap) of the least sum of prices.
  ScheduleForm Even() const;
  // From a form whose least over all plans is known towards one of which few plans have said anything yet: as far as
  // what these say is not due to places of theirs.
  ScheduleForm Between(const ScheduleForm& from, const ScheduleForm& to) const;
  PriceWeights WeightsOf(const ScheduleForm& form) const { return sbp::WeightsOf(landmarks_, overlap_, form); }
  const Landmarks& landmarks() const { return landmarks_; }

 private:
  Landmarks landmarks_;
  double overlap_;
  std::vector<FormsOfPlan> plans_;
};

}  // namespace sbp

#include "strategy/optimal/schedule_forms.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "boxing/boxing.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "graph/sections.h"
#include "plan/transition_runs.h"

namespace sbp {
namespace {

constexpr double kSharesAside[] = {0.002, 0.02, 0.1};
constexpr size_t kNearOps[] = {4, 24, 200};
// Places to turn that are looked at, first evenly over the step, then around the best: by the ops of all looks.
constexpr size_t kOpsOfTurns = 200'000, kFewestTurns = 4, kMostTurns = 24;
constexpr double kLeastShare = 1.0 / 64;  // of l
constexpr int kPlacesOfGrid = 16, kZooms = 3;

double MostOfCorners(const PlanSums& sums, const Landmarks& landmarks, double overlap) {
  const FormsOfPlan forms(sums, landmarks, overlap, true);
  return std::max({forms.at(1, 1), forms.at(1, 0), forms.at(0, 1), forms.at(0, 0)});
}

// Looks for a turn of which the forms say more.
void FindTurn(const Problem& problem, const PlanSums& sums, double overlap, Landmarks& best) {
  const size_t ops = problem.num_ops();
  if (ops < 2) return;
  const size_t turns = std::clamp(kOpsOfTurns / ops, kFewestTurns, kMostTurns);
  double most = MostOfCorners(sums, best, overlap);
  size_t place = 0;
  const auto look = [&](size_t op) {
    Landmarks found{best.bottlenecks, TurnAt(problem, OpId(op))};
    const double says = MostOfCorners(sums, found, overlap);
    if (says <= most) return;
    most = says;
    place = op;
    best = std::move(found);
  };
  size_t step = std::max<size_t>(1, ops / (turns + 1));
  for (size_t op = step; op < ops; op += step) look(op);
  while (step > 1) {
    step = (step + 1) / 2;
    const size_t middle = place;
    if (middle >= step) look(middle - step);
    if (middle + step < ops) look(middle + step);
  }
}

}  // namespace

PlanSums::PlanSums(const Plan& plan) : plan_(plan), behind_(plan.transitions.size()) {
  const StepRuns runs(plan.graph);
  for (size_t o = 0; o < plan.graph.ops.size(); ++o)
    ops_.push_back(static_cast<double>(runs.of(OpId(o))) * plan.decision(OpId(o)).compute_seconds);
  const std::vector<int64_t> made = RunsOfTransitions(plan, runs);
  std::unordered_map<TensorId, std::vector<uint32_t>> of_tensor;
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    const Transition& transition = plan.transitions[i];
    Sent sent{.local = transition.cut_seconds};
    for (const BoxingStep& step : transition.steps) (RowOf(step.kind).local ? sent.local : sent.sent) += step.seconds;
    sent.sent *= static_cast<double>(made[i]);
    sent.local *= static_cast<double>(made[i]);
    transitions_.push_back(sent);
    of_tensor[transition.tensor].push_back(static_cast<uint32_t>(i));
  }
  for (const auto& [tensor, list] : of_tensor) {
    for (const uint32_t a : list) {
      for (const uint32_t b : list) {
        if (a != b && plan.transitions[a].to == plan.transitions[b].from) behind_[a].push_back(b);
      }
    }
  }
}

// Trees of transitions are two high.
bool PlanSums::IsSentEarly(size_t transition, const PriceWeights& weights) const {
  const auto is_early = [&](const Use& use) { return weights.IsEarly(use.op); };
  const auto reads_early = [&](size_t i) { return std::ranges::any_of(plan_.transitions[i].consumers, is_early); };
  return reads_early(transition) || std::ranges::any_of(behind_[transition], reads_early);
}

double PlanSums::Total(const PriceWeights& weights) const {
  double seconds = 0;
  for (size_t o = 0; o < ops_.size(); ++o) {
    const double weight = weights.OfOp(OpId(o));
    seconds += weight == 0 ? 0 : weight * ops_[o];
  }
  for (size_t i = 0; i < transitions_.size(); ++i) {
    const TensorId tensor = plan_.transitions[i].tensor;
    double weight = weights.SentOf(tensor);
    if (weights.SentEarlyOf(tensor) > weight && IsSentEarly(i, weights)) weight = weights.SentEarlyOf(tensor);
    seconds += weight * transitions_[i].sent + weights.local * transitions_[i].local;
  }
  return seconds;
}

Landmarks LandmarksFor(const Problem& problem, const Plan& plan) {
  const PlanSums sums(plan);
  const double overlap = plan.cluster.device.overlap.value;
  Landmarks best;
  double most = -1;
  for (const double share : kSharesAside) {
    for (const size_t near : kNearOps) {
      Landmarks found{FindBottlenecks(problem, sums.ops(), {.share = share, .near = near}), {}};
      const double says = sums.Total(WeightsOf(found, overlap, {.waits = true}));
      if (says <= most) continue;
      most = says;
      best = std::move(found);
    }
  }
  FindTurn(problem, sums, overlap, best);
  return best;
}

PriceWeights WeightsOf(const Landmarks& landmarks, double overlap, const ScheduleForm& form) {
  const Bottlenecks& bottlenecks = landmarks.bottlenecks;
  const Turn& turn = landmarks.turn;
  const double least = std::min(form.before, form.behind);
  const std::array<double, 3> ops = {least, form.before, form.behind};  // by StepSide
  const std::array<double, 3> sent = {1 - overlap * std::max(form.before, form.behind), 1 - overlap * form.before,
                                      1 - overlap * form.behind};
  PriceWeights weights{.sent = sent[0], .local = form.waits ? 0 : least};
  for (size_t o = 0; o < bottlenecks.aside.size(); ++o) {
    const StepSide side = turn.ops.empty() ? StepSide::kEither : turn.ops[o];
    weights.of_ops.push_back(form.waits && bottlenecks.aside[o] ? 0 : ops[static_cast<size_t>(side)]);
  }
  for (size_t t = 0; t < bottlenecks.tensors.size(); ++t) {
    const StepSide side = turn.tensors.empty() ? StepSide::kEither : turn.tensors[t];
    weights.sent_of.push_back(form.waits && bottlenecks.tensors[t] ? 1 : sent[static_cast<size_t>(side)]);
  }
  if (turn.ops.empty() || form.before >= form.behind) return weights;
  for (const StepSide side : turn.ops) weights.early.push_back(side == StepSide::kBefore);
  weights.sent_early = weights.sent_of;
  for (size_t t = 0; t < turn.tensors.size(); ++t) {
    if (turn.tensors[t] == StepSide::kEither) weights.sent_early[t] = std::max(weights.sent_early[t], sent[1]);
  }
  return weights;
}

FormsOfPlan::FormsOfPlan(const PlanSums& sums, const Landmarks& landmarks, double overlap, bool waits) {
  for (size_t i = 0; i < corners_.size(); ++i) {
    const ScheduleForm form{waits, static_cast<double>(i % 2), static_cast<double>(i / 2)};
    corners_[i] = sums.Total(WeightsOf(landmarks, overlap, form));
  }
}

double FormsOfPlan::at(double before, double behind) const {
  const auto& [none, first, second, both] = corners_;
  const double by_first = none + (first - none) * before + (both - first) * behind;
  const double by_second = none + (second - none) * behind + (both - second) * before;
  return std::min(by_first, by_second);
}

KnownForms::KnownForms(Landmarks landmarks, const Plan& plan)
    : landmarks_(std::move(landmarks)), overlap_(plan.cluster.device.overlap.value) {
  Add(plan);
}

void KnownForms::Add(const Plan& plan) {
  const PlanSums sums(plan);
  for (const bool waits : {false, true}) plans_[waits ? 1 : 0].emplace_back(sums, landmarks_, overlap_, waits);
}

// A grid, then finer ones around its best place.
KnownForms::Highest KnownForms::MostPromising(bool waits) const {
  Highest best{.form = {.waits = waits}, .seconds = -1};
  const auto look = [&](double before, double behind) {
    double least = plans_[waits ? 1 : 0].front().at(before, behind);
    for (const FormsOfPlan& plan : plans_[waits ? 1 : 0]) least = std::min(least, plan.at(before, behind));
    if (least > best.seconds) best = {.form = {waits, before, behind}, .seconds = least};
  };
  double width = 1 - kLeastShare;
  ScheduleForm middle{waits, 1 - width / 2, 1 - width / 2};
  for (int zoom = 0; zoom <= kZooms; ++zoom) {
    const auto place = [&](double around, int i) {
      return std::clamp(around + width * (static_cast<double>(i) / kPlacesOfGrid - 0.5), kLeastShare, 1.0);
    };
    for (int i = 0; i <= kPlacesOfGrid; ++i) {
      for (int k = 0; k <= kPlacesOfGrid; ++k) look(place(middle.before, i), place(middle.behind, k));
    }
    middle = best.form;
    width *= 4.0 / kPlacesOfGrid;
  }
  return best;
}

}  // namespace sbp

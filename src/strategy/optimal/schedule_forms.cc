#include "strategy/optimal/schedule_forms.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
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

constexpr double kSharesAside[] = {0.002, 0.02, 0.1, 1};
constexpr size_t kNearOps[] = {4, 24, 200};
// Places to turn that are looked at, first evenly over the step, then around the best: by the ops of all looks.
constexpr size_t kOpsOfTurns = 100'000, kFewestTurns = 4, kMostTurns = 12;
constexpr double kLeastShare = 1.0 / 64;  // of l
constexpr int kPlacesOfGrid = 3 * 3 * 3 * 3 * 3 * 3, kZooms = 9;
constexpr double kZoom = 0.55;
constexpr double kMuchDue = 0.5;  // of what a form says of one plan, to places of its collectives

// Numbers of kinds.
constexpr size_t KindOf(StepSide side, OpPlace place) {
  return 3 * static_cast<size_t>(side) + static_cast<size_t>(place);
}

constexpr OpPlace kPlaces[] = {OpPlace::kChain, OpPlace::kBranch, OpPlace::kAside};

std::array<double, kKindsOfStep> WeightsOfKinds(const ScheduleForm& form) {
  std::array<double, kKindsOfStep> weights = {};
  for (const OpPlace place : kPlaces) {
    const auto i = static_cast<size_t>(place);
    weights[KindOf(StepSide::kEither, place)] = std::min(form.before[i], form.behind[i]);
    weights[KindOf(StepSide::kBefore, place)] = form.before[i];
    weights[KindOf(StepSide::kBehind, place)] = form.behind[i];
  }
  return weights;
}

double LocalOf(const ScheduleForm& form) {
  return form.counts_local ? std::min(std::ranges::min(form.before), std::ranges::min(form.behind)) : 0;
}

double MostOf(KindSet kinds, const std::array<double, kKindsOfStep>& weights, double least) {
  for (size_t kind = 0; kind < kKindsOfStep; ++kind) {
    if ((kinds >> kind & 1) != 0) least = std::max(least, weights[kind]);
  }
  return least;
}

double MostOfCorners(const PlanSums& sums, const Landmarks& landmarks, double overlap) {
  const FormsOfPlan forms(sums, landmarks, overlap);
  double most = 0;
  for (unsigned corner = 0; corner < 64; ++corner) {
    const auto bit = [&](unsigned i) { return static_cast<double>(corner >> i & 1); };
    most = std::max(most, forms.at({{bit(0), bit(1), bit(2)}, {bit(3), bit(4), bit(5)}}));
  }
  return most;
}

class LandmarkSearch {
 public:
  LandmarkSearch(const Problem& problem, const Plan& plan)
      : problem_(problem), sums_(plan), overlap_(plan.cluster.device.overlap.value), finder_(problem) {}

  Landmarks Run() {
    TrySetsAside();
    FindTurn();
    TrySetsAside();  // now that the backward pass is told from the forward pass
    return std::move(best_);
  }

 private:
  bool Try(std::vector<OpPlace> places, std::vector<StepSide> turn) {
    Landmarks found = MakeLandmarks(finder_, std::move(places), std::move(turn));
    const double says = MostOfCorners(sums_, found, overlap_);
    if (says <= most_) return false;
    most_ = says;
    best_ = std::move(found);
    return true;
  }

  void TrySetsAside() {
    if (sets_.empty()) {
      for (const double share : kSharesAside) {
        for (const size_t near : kNearOps) {
          std::vector<OpPlace> places = PlacesOfOps(problem_, sums_.seconds(), {.share = share, .near = near});
          if (std::ranges::find(sets_, places) == sets_.end()) sets_.push_back(std::move(places));
        }
      }
    }
    for (const std::vector<OpPlace>& places : sets_) {
      if (places != best_.places) Try(places, best_.turn);
    }
  }

  // At ops of the longest chain, all of which run on one side then.
  void FindTurn() {
    std::vector<size_t> chain;
    for (size_t o = 0; o < best_.places.size(); ++o) {
      if (best_.places[o] == OpPlace::kChain) chain.push_back(o);
    }
    const size_t turns = std::clamp(kOpsOfTurns / std::max<size_t>(1, problem_.num_ops()), kFewestTurns, kMostTurns);
    size_t place = 0;
    const auto look = [&](size_t i) {
      if (Try(best_.places, SidesOfTurn(problem_, OpId(chain[i])))) place = i;
    };
    size_t step = std::max<size_t>(1, chain.size() / (turns + 1));
    for (size_t i = step; i < chain.size(); i += step) look(i);
    while (step > 1) {
      step = (step + 1) / 2;
      const size_t middle = place;
      if (middle >= step) look(middle - step);
      if (middle + step < chain.size()) look(middle + step);
    }
  }

  const Problem& problem_;
  const PlanSums sums_;
  const double overlap_;
  const BesideFinder finder_;
  std::vector<std::vector<OpPlace>> sets_;  // those to try
  Landmarks best_;
  double most_ = -1;
};

}  // namespace

bool Landmarks::IsBottleneck(TensorId tensor) const {
  KindSet aside = 0;
  for (const StepSide side : {StepSide::kEither, StepSide::kBefore, StepSide::kBehind})
    aside |= KindSet{1} << KindOf(side, OpPlace::kAside);
  return (beside.any[tensor.index()] & ~aside) == 0;
}

Landmarks MakeLandmarks(const BesideFinder& finder, std::vector<OpPlace> places, std::vector<StepSide> turn) {
  Landmarks made;
  for (size_t o = 0; o < places.size(); ++o) {
    const StepSide side = turn.empty() ? StepSide::kEither : turn[o];
    made.kinds.kind.push_back(static_cast<uint8_t>(KindOf(side, places[o])));
    const int rank =
        places[o] == OpPlace::kAside ? 0 : (places[o] == OpPlace::kChain ? 2 : 1) + (side == StepSide::kBefore ? 2 : 0);
    made.kinds.rank.push_back(static_cast<uint8_t>(rank));
  }
  made.places = std::move(places);
  made.turn = std::move(turn);
  made.beside = finder.Find(made.kinds);
  return made;
}

Landmarks LandmarksFor(const Problem& problem, const Plan& plan) { return LandmarkSearch(problem, plan).Run(); }

PriceWeights WeightsOf(const Landmarks& landmarks, double overlap, const ScheduleForm& form) {
  const std::array<double, kKindsOfStep> of_kinds = WeightsOfKinds(form);
  PriceWeights weights{.local = LocalOf(form)};
  for (const uint8_t kind : landmarks.kinds.kind) weights.of_ops.push_back(of_kinds[kind]);
  const auto beside = [&](KindSet kinds) { return 1 - overlap * MostOf(kinds, of_kinds, weights.local); };
  weights.sent = beside(~KindSet{0});
  for (const KindSet kinds : landmarks.beside.any) weights.sent_of.push_back(beside(kinds));
  for (const KindSet kinds : landmarks.beside.early) weights.sent_early.push_back(beside(kinds));
  weights.early_reader = landmarks.beside.early_reader;
  return weights;
}

PlanSums::PlanSums(const Plan& plan) : plan_(plan), behind_(plan.transitions.size()) {
  const StepRuns runs(plan.graph);
  for (size_t o = 0; o < plan.graph.ops.size(); ++o)
    seconds_.ops.push_back(static_cast<double>(runs.of(OpId(o))) * plan.decision(OpId(o)).compute_seconds);
  seconds_.tensors.resize(plan.graph.tensors.size());
  const std::vector<int64_t> made = RunsOfTransitions(plan, runs);
  std::unordered_map<TensorId, std::vector<uint32_t>> of_tensor;
  for (size_t i = 0; i < plan.transitions.size(); ++i) {
    const Transition& transition = plan.transitions[i];
    Sent sent{.local = transition.cut_seconds};
    for (const BoxingStep& step : transition.steps) (RowOf(step.kind).local ? sent.local : sent.sent) += step.seconds;
    sent.sent *= static_cast<double>(made[i]);
    sent.local *= static_cast<double>(made[i]);
    seconds_.tensors[transition.tensor.index()] += sent.sent;
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
template <typename IsEarly>
bool PlanSums::Serves(size_t transition, IsEarly is_early) const {
  const auto reads_early = [&](size_t i) {
    return std::ranges::any_of(plan_.transitions[i].consumers, [&](const Use& use) { return is_early(use.op); });
  };
  return reads_early(transition) || std::ranges::any_of(behind_[transition], reads_early);
}

double PlanSums::Total(const PriceWeights& weights) const {
  double seconds = 0;
  for (size_t o = 0; o < seconds_.ops.size(); ++o) {
    const double weight = weights.OfOp(OpId(o));
    seconds += weight == 0 ? 0 : weight * seconds_.ops[o];
  }
  for (size_t i = 0; i < transitions_.size(); ++i) {
    const TensorId tensor = plan_.transitions[i].tensor;
    double weight = weights.SentOf(tensor);
    const auto is_early = [&](OpId op) { return weights.IsEarly(op, tensor); };
    if (weights.SentEarlyOf(tensor) > weight && Serves(i, is_early)) weight = weights.SentEarlyOf(tensor);
    seconds += weight * transitions_[i].sent + weights.local * transitions_[i].local;
  }
  return seconds;
}

FormsOfPlan::FormsOfPlan(const PlanSums& sums, const Landmarks& landmarks, double overlap) : overlap_(overlap) {
  for (size_t o = 0; o < landmarks.kinds.kind.size(); ++o) computed_[landmarks.kinds.kind[o]] += sums.seconds_.ops[o];
  const Beside& beside = landmarks.beside;
  std::map<KindSet, double> sent;
  for (size_t i = 0; i < sums.transitions_.size(); ++i) {
    local_ += sums.transitions_[i].local;
    if (sums.transitions_[i].sent <= 0) continue;
    const size_t t = sums.plan_.transitions[i].tensor.index();
    const auto is_early = [&](OpId op) { return op == beside.early_reader[t]; };
    sent[sums.Serves(i, is_early) ? beside.early[t] : beside.any[t]] += sums.transitions_[i].sent;
  }
  sent_.assign(sent.begin(), sent.end());
}

double FormsOfPlan::at(const ScheduleForm& form) const {
  const std::array<double, kKindsOfStep> of_kinds = WeightsOfKinds(form);
  const double local = LocalOf(form);
  double seconds = local * local_;
  for (size_t kind = 0; kind < kKindsOfStep; ++kind) seconds += of_kinds[kind] * computed_[kind];
  for (const auto& [kinds, sent] : sent_) seconds += (1 - overlap_ * MostOf(kinds, of_kinds, local)) * sent;
  return seconds;
}

double FormsOfPlan::DueToPlaces(const ScheduleForm& form) const {
  const std::array<double, kKindsOfStep> of_kinds = WeightsOfKinds(form);
  const double most = std::ranges::max(of_kinds);
  double seconds = 0;
  for (const auto& [kinds, sent] : sent_) seconds += overlap_ * (most - MostOf(kinds, of_kinds, LocalOf(form))) * sent;
  return seconds / at(form);
}

KnownForms::KnownForms(Landmarks landmarks, const Plan& plan)
    : landmarks_(std::move(landmarks)), overlap_(plan.cluster.device.overlap.value) {
  Add(plan);
}

void KnownForms::Add(const Plan& plan) { plans_.emplace_back(PlanSums(plan), landmarks_, overlap_); }

// Everything weighs the same, as in a sum of prices.
ScheduleForm KnownForms::Even() const {
  const double l = 1 / (1 + overlap_);
  return {{l, l, l}, {l, l, l}, true};
}

ScheduleForm KnownForms::Between(const ScheduleForm& from, const ScheduleForm& to) const {
  const double due = plans_.front().DueToPlaces(to);
  const double back = due * std::min(1.0, due / kMuchDue);
  ScheduleForm between = to;
  for (size_t i = 0; i < between.before.size(); ++i) {
    between.before[i] += back * (from.before[i] - to.before[i]);
    between.behind[i] += back * (from.behind[i] - to.behind[i]);
  }
  return between;
}

// A grid, then finer ones around its best place.
KnownForms::Highest KnownForms::MostPromising(bool counts_local) const {
  Highest best{.form = {.counts_local = counts_local}, .seconds = -1};
  const auto look = [&](const ScheduleForm& form) {
    double least = plans_.front().at(form);
    for (const FormsOfPlan& plan : plans_) {
      if (least <= best.seconds) return;
      least = std::min(least, plan.at(form));
    }
    if (least > best.seconds) best = {.form = form, .seconds = least};
  };
  double width = 1;
  ScheduleForm middle{{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, counts_local};
  for (int zoom = 0; zoom < kZooms; ++zoom) {
    for (int place = 0; place < kPlacesOfGrid; ++place) {
      ScheduleForm form = middle;
      int digits = place;
      for (std::array<double, 3>* const side : {&form.before, &form.behind}) {
        for (size_t i = 0; i < side->size(); ++i, digits /= 3)
          (*side)[i] = std::clamp((*side)[i] + width * (digits % 3 - 1) / 2.0, i == 0 ? kLeastShare : 0, 1.0);
      }
      look(form);
    }
    middle = best.form;
    width *= kZoom;
  }
  return best;
}

}  // namespace sbp

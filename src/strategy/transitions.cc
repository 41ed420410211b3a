#include "strategy/transitions.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/text.h"

namespace sbp {
namespace {

// A hub must save more than sums of doubles may differ by.
constexpr double kLeastSaving = 1e-12;

// Of more hubs than this only those are looked at that lie on every axis as one of the ends does, or whole: each costs
// a search for paths.
constexpr size_t kManyHubs = 1024;

bool IsBetween(const NdSbp& hub, const NdSbp& written, std::span<const NdSbp> wanted) {
  for (int axis = 0; axis < hub.size(); ++axis) {
    const auto lies_so = [&](const NdSbp& layout) { return layout[axis] == hub[axis]; };
    if (hub[axis].is_broadcast() || lies_so(written)) continue;
    if (std::none_of(wanted.begin(), wanted.end(), lies_so)) return false;
  }
  return true;
}

double Seconds(const BoxingPath& path) {
  return path.reachable ? path.seconds : std::numeric_limits<double>::infinity();
}

// Where a path to `to` starts: the hub where that is less work.
bool FromHub(const BoxingPath& from_written, const BoxingPath& from_hub) {
  if (!from_hub.reachable) return false;
  if (!from_written.reachable || from_hub.seconds < from_written.seconds) return true;
  return from_hub.seconds == from_written.seconds && from_hub.steps.size() < from_written.steps.size();
}

double SecondsWithHub(const TensorType& type, const NdSbp& written, const NdSbp& hub, std::span<const NdSbp> wanted,
                      BoxingTable& boxing) {
  double sum = Seconds(boxing.Path(type, written, hub));
  for (const NdSbp& layout : wanted) {
    if (layout == hub) continue;
    sum += std::min(Seconds(boxing.Path(type, written, layout)), Seconds(boxing.Path(type, hub, layout)));
  }
  return sum;
}

Transition TransitionFor(TensorId tensor, const NdSbp& from, const NdSbp& to, const BoxingPath& path) {
  Transition transition;
  transition.tensor = tensor;
  transition.from = from;
  transition.to = to;
  transition.steps = path.steps;
  for (const BoxingStep& step : path.steps) {
    transition.seconds += step.seconds;
    transition.wire_bytes += step.wire_bytes;
  }
  return transition;
}

}  // namespace

std::vector<NdSbp> HubsOf(const Problem& problem, TensorId tensor) {
  std::vector<NdSbp> hubs;
  std::unordered_set<NdSbp> met;
  std::set<std::pair<uint32_t, size_t>> asked;  // classes of readers, and rows of their slots
  const auto [begin, end] = problem.uses.of(tensor);
  for (const Use* use = begin; use != end; ++use) {
    const SlotList& slots = problem.class_at(use->op).operands;
    if (!asked.emplace(problem.class_of[use->op.index()], slots.row(use->operand)).second) continue;
    for (const NdSbp& layout : slots[use->operand].layouts) {
      if (met.insert(layout).second) hubs.push_back(layout);
    }
  }
  return hubs;
}

BestHub FindBestHub(const TensorType& type, const NdSbp& written, std::span<const NdSbp> wanted,
                    std::span<const NdSbp> hubs, BoxingTable& boxing) {
  BestHub best{written, SecondsWithHub(type, written, written, wanted, boxing)};
  if (wanted.size() < 2) return best;
  const auto consider = [&](const NdSbp& hub) {
    if (hub == written || hub == best.hub) return;
    const double seconds = SecondsWithHub(type, written, hub, wanted, boxing);
    if (seconds < best.seconds * (1 - kLeastSaving)) best = {hub, seconds};
  };
  for (const NdSbp& layout : wanted) {
    consider(layout);
    for (const BoxingStep& step : boxing.Path(type, written, layout).steps) consider(step.to);
  }
  const bool many = hubs.size() > kManyHubs;
  for (const NdSbp& hub : hubs) {
    if (!many || IsBetween(hub, written, wanted)) consider(hub);
  }
  return best;
}

Status MakeTransitions(TensorId tensor, const Tensor& facts, const NdSbp& written, const std::vector<Demand>& demands,
                       std::span<const NdSbp> hubs, BoxingTable& boxing, std::vector<TimedTransition>& out) {
  std::vector<NdSbp> wanted;
  for (const Demand& demand : demands) wanted.push_back(demand.layout);
  const NdSbp hub = FindBestHub(facts.type, written, wanted, hubs, boxing).hub;
  std::vector<TimedTransition> made;
  TimedTransition to_hub;
  to_hub.time = std::numeric_limits<uint32_t>::max();
  if (hub != written) {
    to_hub.transition = TransitionFor(tensor, written, hub, boxing.Path(facts.type, written, hub));
  }
  for (const Demand& demand : demands) {
    if (demand.layout == hub) {
      to_hub.transition.consumers = demand.consumers;
      to_hub.time = std::min(to_hub.time, demand.first);
      continue;
    }
    const BoxingPath& direct = boxing.Path(facts.type, written, demand.layout);
    const BoxingPath& onward = boxing.Path(facts.type, hub, demand.layout);
    const bool from_hub = hub != written && FromHub(direct, onward);
    const BoxingPath& path = from_hub ? onward : direct;
    if (!path.reachable) {
      return NoPlan(StrCat("tensor ", Quote(facts.name), " of type ", ToString(facts.type),
                           ": no sequence of collectives from ", ToString(written), " to ", ToString(demand.layout)));
    }
    if (from_hub) to_hub.time = std::min(to_hub.time, demand.first);
    made.push_back({TransitionFor(tensor, from_hub ? hub : written, demand.layout, path), demand.first});
    made.back().transition.consumers = demand.consumers;
  }
  if (hub != written) made.insert(made.begin(), std::move(to_hub));
  std::stable_sort(made.begin(), made.end(),
                   [](const TimedTransition& a, const TimedTransition& b) { return a.time < b.time; });
  std::move(made.begin(), made.end(), std::back_inserter(out));
  return OkStatus();
}

}  // namespace sbp

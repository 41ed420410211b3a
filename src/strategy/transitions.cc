#include "strategy/transitions.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "problem/demands.h"
#include "sbp/sbp.h"

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

bool IsPartialEverywhere(const NdSbp& from, std::span<const NdSbp> wanted) {
  return from.has_partial() &&
         std::all_of(wanted.begin(), wanted.end(), [](const NdSbp& l) { return l.has_partial(); });
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

// The transitions of one tensor, in the making.
class TransitionMaker {
 public:
  TransitionMaker(TensorId tensor, const Tensor& facts, const TensorDemands& demands, const Problem& problem)
      : tensor_(tensor), facts_(facts), demands_(demands), problem_(problem), boxing_(*problem.boxing) {}

  Status Run(std::span<const NdSbp> hubs, std::vector<TimedTransition>& out, NdSbp& end) {
    end = demands_.standing;
    if (!demands_.wanted) return OkStatus();
    SBP_RETURN_IF_ERROR(ToStanding());
    std::vector<NdSbp> wanted;
    for (const Demand& demand : demands_.boxed) wanted.push_back(demand.layout);
    hub_ = FindBestHub(facts_.type, demands_.standing, wanted, hubs, boxing_, demands_.not_partial).hub;
    to_hub_.time = std::numeric_limits<uint32_t>::max();
    for (const Demand& demand : demands_.boxed) SBP_RETURN_IF_ERROR(Meet(demand));
    if (demands_.not_partial) SBP_RETURN_IF_ERROR(MeetEnd(wanted, end));
    if (hub_ != demands_.standing) {
      SBP_ASSIGN_OR_RETURN(TimedTransition to_hub, Make(demands_.standing, hub_));
      to_hub.transition.consumers = std::move(to_hub_.transition.consumers);
      to_hub.time = to_hub_.time;
      to_hub.by = std::move(to_hub_.by);
      made_.insert(made_.begin() + (demands_.standing != demands_.written ? 1 : 0), std::move(to_hub));
    }
    std::stable_sort(made_.begin(), made_.end(),
                     [](const TimedTransition& a, const TimedTransition& b) { return a.time < b.time; });
    std::move(made_.begin(), made_.end(), std::back_inserter(out));
    return OkStatus();
  }

 private:
  Result<TimedTransition> Make(const NdSbp& from, const NdSbp& to) {
    const BoxingPath& path = boxing_.Path(facts_.type, from, to);
    if (!path.reachable) {
      return NoPlan(StrCat("tensor ", Quote(facts_.name), " of type ", ToString(facts_.type),
                           ": no sequence of collectives from ", ToString(from), " to ", ToString(to)));
    }
    return TimedTransition{TransitionFor(tensor_, from, to, path)};
  }

  // Before all others.
  Status ToStanding() {
    if (demands_.standing == demands_.written) return OkStatus();
    SBP_ASSIGN_OR_RETURN(TimedTransition made, Make(demands_.written, demands_.standing));
    made.transition.consumers = demands_.as_it_stands.consumers;
    made.time = demands_.as_it_stands.first;
    for (const Demand& demand : demands_.boxed) made.time = std::min(made.time, demand.first);  // they start from it
    made.by = demands_.as_it_stands.by;
    made_.push_back(std::move(made));
    return OkStatus();
  }

  Status Meet(const Demand& demand) {
    if (demand.layout == hub_) {
      to_hub_.transition.consumers = demand.consumers;
      to_hub_.time = std::min(to_hub_.time, demand.first);
      to_hub_.by = demand.by;
      return OkStatus();
    }
    const BoxingPath& direct = boxing_.Path(facts_.type, demands_.standing, demand.layout);
    const bool from_hub = hub_ != demands_.standing && FromHub(direct, boxing_.Path(facts_.type, hub_, demand.layout));
    if (from_hub) to_hub_.time = std::min(to_hub_.time, demand.first);
    SBP_ASSIGN_OR_RETURN(TimedTransition made, Make(from_hub ? hub_ : demands_.standing, demand.layout));
    made.transition.consumers = demand.consumers;
    made.time = demand.first;
    made.by = demand.by;
    made_.push_back(std::move(made));
    return OkStatus();
  }

  // A layout that stands already where there is one, else one made for the purpose.
  Status MeetEnd(std::span<const NdSbp> wanted, NdSbp& end) {
    if (!demands_.standing.has_partial()) return OkStatus();
    end = hub_;
    for (const NdSbp& layout : wanted) {
      if (end.has_partial()) end = layout;
    }
    if (!end.has_partial()) return OkStatus();
    const CheapestEnd direct = FindCheapestEnd(facts_.type, demands_.standing, boxing_);
    const CheapestEnd onward = FindCheapestEnd(facts_.type, hub_, boxing_);
    const bool from_hub = onward.seconds < direct.seconds;
    end = from_hub ? onward.layout : direct.layout;
    SBP_ASSIGN_OR_RETURN(TimedTransition made, Make(from_hub ? hub_ : demands_.standing, end));
    made.time = static_cast<uint32_t>(problem_.num_ops());
    made.by = StrCat("graph output ", Quote(facts_.name), ", which must not stay partial");
    if (from_hub) to_hub_.time = std::min(to_hub_.time, made.time);
    made_.push_back(std::move(made));
    return OkStatus();
  }

  const TensorId tensor_;
  const Tensor& facts_;
  const TensorDemands& demands_;
  const Problem& problem_;
  BoxingTable& boxing_;
  NdSbp hub_;
  TimedTransition to_hub_;  // what is known of it: its readers, its time
  std::vector<TimedTransition> made_;
};

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

BestHub FindBestHub(const TensorType& type, const NdSbp& from, std::span<const NdSbp> wanted,
                    std::span<const NdSbp> hubs, BoxingTable& boxing, bool not_partial) {
  const bool more = not_partial && IsPartialEverywhere(from, wanted);
  const auto seconds_with = [&](const NdSbp& hub) {
    double seconds = SecondsWithHub(type, from, hub, wanted, boxing);
    if (more && hub.has_partial()) {
      seconds += std::min(FindCheapestEnd(type, from, boxing).seconds, FindCheapestEnd(type, hub, boxing).seconds);
    }
    return seconds;
  };
  BestHub best{from, seconds_with(from)};
  if (wanted.size() + (more ? 1 : 0) < 2) return best;
  const auto consider = [&](const NdSbp& hub) {
    if (hub == from || hub == best.hub) return;
    const double seconds = seconds_with(hub);
    if (seconds < best.seconds * (1 - kLeastSaving)) best = {hub, seconds};
  };
  for (const NdSbp& layout : wanted) {
    consider(layout);
    for (const BoxingStep& step : boxing.Path(type, from, layout).steps) consider(step.to);
  }
  const bool many = hubs.size() > kManyHubs;
  for (const NdSbp& hub : hubs) {
    if (!many || IsBetween(hub, from, wanted)) consider(hub);
  }
  return best;
}

double SecondsOfStep(const TensorType& type, const NdSbp& written, const NdSbp& standing,
                     std::span<const CountedLayout> wanted, std::span<const NdSbp> hubs, BoxingTable& boxing,
                     bool not_partial, int64_t end_runs) {
  const auto runs_of = [&](const CountedLayout& demand) { return demand.runs > 0 ? demand.runs : end_runs; };
  std::vector<NdSbp> boxed;
  int64_t of_standing = 0, of_hub = 0;
  for (const CountedLayout& demand : wanted) {
    of_standing = std::max(of_standing, runs_of(demand));
    if (demand.layout != standing) boxed.push_back(demand.layout);
  }
  if (not_partial || of_standing == 0) of_standing = std::max(of_standing, end_runs);
  const NdSbp hub = FindBestHub(type, standing, boxed, hubs, boxing, not_partial).hub;
  double later = 0;
  for (const CountedLayout& demand : wanted) {
    if (demand.layout == standing) continue;
    const BoxingPath& direct = boxing.Path(type, standing, demand.layout);
    const BoxingPath& onward = boxing.Path(type, hub, demand.layout);
    if (demand.layout == hub || FromHub(direct, onward)) of_hub = std::max(of_hub, runs_of(demand));
    if (demand.layout != hub)
      later += static_cast<double>(runs_of(demand)) * std::min(Seconds(direct), Seconds(onward));
  }
  if (not_partial && hub.has_partial() && IsPartialEverywhere(standing, boxed)) {
    const double direct = FindCheapestEnd(type, standing, boxing).seconds;
    const double onward = FindCheapestEnd(type, hub, boxing).seconds;
    if (onward < direct) of_hub = std::max(of_hub, end_runs);
    later += static_cast<double>(end_runs) * std::min(direct, onward);
  }
  const double to_standing = static_cast<double>(of_standing) * Seconds(boxing.Path(type, written, standing));
  if (hub == standing) return to_standing + later;
  return to_standing + static_cast<double>(of_hub) * Seconds(boxing.Path(type, standing, hub)) + later;
}

Status MakeTransitions(TensorId tensor, const Tensor& facts, const TensorDemands& demands, std::span<const NdSbp> hubs,
                       const Problem& problem, std::vector<TimedTransition>& out, NdSbp& end) {
  return TransitionMaker(tensor, facts, demands, problem).Run(hubs, out, end);
}

}  // namespace sbp

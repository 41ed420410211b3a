#include "strategy/optimal/regular.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/layers.h"
#include "plan/layer_kinds.h"
#include "plan/plan.h"
#include "schedule/schedule.h"
#include "strategy/optimal/scheduled_plan.h"

namespace sbp {
namespace {

constexpr size_t kOpsOfTrials = 60'000;  // of all trials together
constexpr size_t kFewestTrials = 4, kMostTrials = 24;

class Regulariser {
 public:
  Regulariser(const Problem& problem, const StrategyOptions& options, const SearchOptions& search)
      : problem_(problem),
        options_(options),
        search_(search),
        layers_(FindRepeatedLayers(*problem.graph)),
        trials_left_(std::clamp(kOpsOfTrials / std::max<size_t>(1, problem.num_ops()), kFewestTrials, kMostTrials)) {}

  Assignment Run(Assignment assignment) {
    const std::optional<Trial> first = layers_.count > 0 ? Price(assignment) : std::nullopt;
    if (!first || first->kinds.kinds <= 1) return assignment;
    best_ = *first;
    most_ = first->seconds * (1 - assignment.uniformity_cost.value_or(0)) / (1 - search_.uniform);
    least_ = first->seconds * (1 - assignment.uniformity_cost.value_or(0));
    ListOps();
    MergeKinds();
    SortRuns();
    least_ = std::min(least_, best_.seconds);
    best_.assignment.uniformity_cost = best_.seconds > 0 ? 1 - least_ / best_.seconds : 0;
    return std::move(best_.assignment);
  }

 private:
  struct Trial {
    Assignment assignment;
    LayerKinds kinds;
    double seconds = 0;
  };

  // None: it does not fit, or pins forbid it.
  std::optional<Trial> Price(const Assignment& assignment) const {
    const Result<Plan> plan = ScheduledPlan(problem_, options_, assignment);
    if (!plan.ok()) return std::nullopt;
    const bool by_schedule = search_.objective == Objective::kSchedule;
    return Trial{assignment, KindsOfLayers(*plan),
                 by_schedule ? MakeSchedule(*plan).summary.step : plan->total.seconds()};
  }

  void ListOps() {
    ops_.resize(layers_.count);
    for (size_t o = 0; o < layers_.of_op.size(); ++o) {
      if (layers_.of_op[o] != Layers::kNone) ops_[layers_.of_op[o]][layers_.kind[o]].push_back(OpId(o));
    }
  }

  bool Allows(OpId op, uint32_t candidate) const {
    if (problem_.pins.empty()) return true;
    const Result<std::vector<uint32_t>> allowed = AllowedCandidates(problem_, op);
    return allowed.ok() && std::ranges::find(*allowed, candidate) != allowed->end();
  }

  // `to` chooses as `from` does, as far as its pins allow.
  void CopyOp(OpId from, OpId to, Assignment& assignment) const {
    if (problem_.class_of[from.index()] != problem_.class_of[to.index()]) return;
    const uint32_t candidate = best_.assignment.ops[from.index()].candidate;
    if (!Allows(to, candidate)) return;
    assignment.ops[to.index()].candidate = candidate;
    const Graph& graph = *problem_.graph;
    const std::vector<TensorId> theirs = graph.OperandsOf(graph.op(from)), own = graph.OperandsOf(graph.op(to));
    for (size_t i = 0; i < own.size(); ++i) {
      if (!own[i].valid() || own[i] == theirs[i] || graph.tensor(own[i]).producer.valid()) continue;
      if (!theirs[i].valid() || graph.tensor(theirs[i]).producer.valid()) continue;
      if (problem_.pins.tensors.contains(own[i])) continue;
      assignment.sources[own[i].index()] = best_.assignment.sources[theirs[i].index()];
    }
  }

  // Each layer as the one that `model` names for it, in the best assignment.
  Assignment Modelled(const std::vector<int32_t>& model) const {
    Assignment assignment = best_.assignment;
    for (int32_t layer = 0; layer < layers_.count; ++layer) {
      if (model[layer] == layer) continue;
      for (const auto& [kind, own] : ops_[layer]) {
        const auto theirs = ops_[model[layer]].find(kind);
        if (theirs == ops_[model[layer]].end() || theirs->second.size() != own.size()) continue;
        for (size_t i = 0; i < own.size(); ++i) CopyOp(theirs->second[i], own[i], assignment);
      }
    }
    return assignment;
  }

  // Takes it if it is more regular and not too dear.
  bool Try(const std::vector<int32_t>& model) {
    if (trials_left_ == 0 || (options_.cancelled && options_.cancelled())) return false;
    --trials_left_;
    std::optional<Trial> trial = Price(Modelled(model));
    if (!trial) return false;
    least_ = std::min(least_, trial->seconds);
    const auto regularity = [](const Trial& of) { return std::pair(of.kinds.kinds, of.kinds.runs); };
    if (trial->seconds > most_ || regularity(*trial) >= regularity(best_)) return false;
    best_ = *std::move(trial);
    return true;
  }

  // The layer of each kind that others are to copy: one in the middle of its longest run, as it has neighbours alike.
  std::vector<int32_t> Models() const {
    std::vector<int32_t> models(best_.kinds.kinds, 0), longest(best_.kinds.kinds, 0);
    const std::vector<int32_t>& kind = best_.kinds.kind;
    for (size_t begin = 0, end = 0; begin < kind.size(); begin = end) {
      while (end < kind.size() && kind[end] == kind[begin]) ++end;
      const auto length = static_cast<int32_t>(end - begin);
      if (length <= longest[kind[begin]]) continue;
      longest[kind[begin]] = length;
      models[kind[begin]] = static_cast<int32_t>(begin + (end - begin) / 2);
    }
    return models;
  }

  std::vector<int32_t> Counts() const {
    std::vector<int32_t> counts(best_.kinds.kinds, 0);
    for (const int32_t kind : best_.kinds.kind) ++counts[kind];
    return counts;
  }

  // Layers of kind `from` as those of kind `to`.
  std::vector<int32_t> Merged(int32_t from, int32_t to) const {
    const std::vector<int32_t> models = Models();
    std::vector<int32_t> model;
    for (size_t layer = 0; layer < best_.kinds.kind.size(); ++layer) {
      model.push_back(best_.kinds.kind[layer] == from ? models[to] : static_cast<int32_t>(layer));
    }
    return model;
  }

  // All as most are; else the rarest kinds first, each as the most frequent one or as what surrounds it.
  void MergeKinds() {
    const std::vector<int32_t> counts = Counts();
    const auto most = static_cast<int32_t>(std::ranges::max_element(counts) - counts.begin());
    if (best_.kinds.kinds > 2 && Try(std::vector<int32_t>(layers_.count, Models()[most]))) return;
    for (bool gained = true; gained && best_.kinds.kinds > 1;) {
      gained = false;
      for (const auto& [from, to] : Pairs()) {
        if (gained = Try(Merged(from, to)); gained) break;
      }
    }
  }

  // Kinds to merge, the rarest first into its neighbours, most frequent ones first.
  std::vector<std::pair<int32_t, int32_t>> Pairs() const {
    const std::vector<int32_t> counts = Counts();
    const std::vector<int32_t>& kind = best_.kinds.kind;
    const auto most = static_cast<int32_t>(std::ranges::max_element(counts) - counts.begin());
    std::vector<std::set<int32_t>> beside(counts.size());
    for (size_t layer = 1; layer < kind.size(); ++layer) {
      if (kind[layer] == kind[layer - 1]) continue;
      beside[kind[layer]].insert(kind[layer - 1]);
      beside[kind[layer - 1]].insert(kind[layer]);
    }
    std::vector<std::pair<int32_t, int32_t>> pairs;
    for (int32_t from = 0; from < best_.kinds.kinds; ++from) {
      if (from == most) continue;
      beside[from].insert(most);
      for (const int32_t to : beside[from]) {
        if (counts[to] >= counts[from]) pairs.emplace_back(from, to);
      }
    }
    std::ranges::stable_sort(pairs, [&](const auto& a, const auto& b) {
      return std::pair(counts[a.first], -counts[a.second]) < std::pair(counts[b.first], -counts[b.second]);
    });
    return pairs;
  }

  // As many layers of each kind as there are, one kind after the other: in the order of their first layers, or the most
  // frequent one first or last.
  void SortRuns() {
    const std::vector<int32_t> counts = Counts();
    std::vector<int32_t> order(counts.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int32_t>(k);
    std::set<std::vector<int32_t>> orders = {order};
    std::ranges::stable_sort(order, {}, [&](int32_t kind) { return counts[kind]; });
    orders.insert(order);
    std::ranges::reverse(order);
    orders.insert(order);
    for (const std::vector<int32_t>& one : orders) {
      if (best_.kinds.runs <= best_.kinds.kinds) return;
      const std::vector<int32_t> models = Models();
      std::vector<int32_t> model;
      for (const int32_t kind : one) {
        for (int32_t i = 0; i < counts[kind]; ++i) {
          const auto layer = static_cast<int32_t>(model.size());
          model.push_back(best_.kinds.kind[layer] == kind ? layer : models[kind]);
        }
      }
      if (Try(model)) return;
    }
  }

  const Problem& problem_;
  const StrategyOptions& options_;
  const SearchOptions& search_;
  const Layers layers_;
  std::vector<std::map<uint32_t, std::vector<OpId>>> ops_;  // per layer, by kind: in the graph's order
  Trial best_;
  double most_ = 0, least_ = 0;  // seconds that a plan may take, and that the best one known takes
  size_t trials_left_;
};

}  // namespace

Assignment MakeRegular(const Problem& problem, const StrategyOptions& options, const SearchOptions& search,
                       Assignment assignment) {
  return Regulariser(problem, options, search).Run(std::move(assignment));
}

}  // namespace sbp

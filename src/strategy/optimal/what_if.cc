#include "strategy/optimal/what_if.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "search/solve.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/layout_network.h"

namespace sbp {
namespace {

constexpr double kEffortOfOne = 0.2;  // of the search for one candidate
constexpr double kEffortOfAll = 0.5;  // of the search that bounds the others
constexpr double kNever = std::numeric_limits<double>::infinity();

// Only one candidate of the node is left.
void Force(CostNetwork& network, int32_t node, int32_t candidate) {
  const std::span<const int64_t> all = network.costs[network.nodes[node].costs];
  std::vector<int64_t> costs(all.size(), kInfiniteCost);
  costs[candidate] = all[candidate];
  if (!network.integral) {
    std::vector<double> fractions(all.size(), static_cast<double>(kInfiniteCost));
    fractions[candidate] = network.fractions[network.nodes[node].costs][candidate];
    network.fractions.push_back(std::move(fractions));
  }
  network.nodes[node].costs = network.costs.AddDistinct(costs);
}

class WhatIf {
 public:
  WhatIf(const Problem& problem, const LayoutNetwork& layouts, const Assignment& best, OpId op,
         const StrategyOptions& options)
      : problem_(problem), layouts_(layouts), best_(best), op_(op), options_(options) {
    priced_.graph = *problem.graph;
    priced_.mesh = problem.mesh;
    priced_.cluster = problem.boxing->cluster();
    priced_.options.memory_limit = options.memory_limit;
  }

  std::vector<ForcedStep> Steps(std::span<const uint32_t> candidates, size_t searched) {
    std::vector<ForcedStep> steps;
    for (const uint32_t candidate : candidates) {
      steps.push_back({0, SecondsOf(With(candidate))});
    }
    searched = std::min(searched, candidates.size());
    for (size_t i = 0; i < searched && !Cancelled(); ++i) SearchWith(candidates[i], steps[i]);
    if (searched < candidates.size() && !Cancelled()) BoundAll(candidates.subspan(searched), &steps[searched]);
    return steps;
  }

 private:
  bool Cancelled() const { return options_.cancelled && options_.cancelled(); }
  int32_t Node() const { return LayoutNetwork::node_of(op_); }

  Assignment With(uint32_t candidate) const {
    Assignment assignment = best_;
    assignment.ops[op_.index()].candidate = candidate;
    return assignment;
  }

  // Of the assignment as a plan; infinity where it is none or does not fit.
  double SecondsOf(const Assignment& assignment) {
    const EvaluateOptions price{.reasons = false, .memory = options_.memory_limit.has_value()};
    return Evaluate(problem_, assignment, priced_, price).ok() ? priced_.total.seconds() : kNever;
  }

  SolveOptions SearchFrom(const Assignment& assignment, double effort) const {
    SolveOptions search;
    search.effort = effort;
    search.threads = options_.threads;
    search.seed = options_.seed;
    search.stop = options_.cancelled;
    if (Result<std::vector<int32_t>> start = layouts_.Write(assignment); start.ok()) search.start = *std::move(start);
    return search;
  }

  // The candidate's number in the network; none: it is not worth a look.
  std::optional<int32_t> NumberOf(uint32_t candidate) const {
    const std::span<const uint32_t> known = layouts_.candidates_of(op_);
    const auto found = std::find(known.begin(), known.end(), candidate);
    if (found == known.end()) return std::nullopt;
    return static_cast<int32_t>(found - known.begin());
  }

  void SearchWith(uint32_t candidate, ForcedStep& step) {
    const std::optional<int32_t> number = NumberOf(candidate);
    if (!number) return;
    CostNetwork network = layouts_.network();
    Force(network, Node(), *number);
    Assignment assignment = With(candidate);
    const SolveResult solved = Solve(network, SearchFrom(assignment, kEffortOfOne));
    step.at_least = solved.proved_infeasible ? kNever : solved.lower_bound;
    if (solved.evaluation.forbidden) return;
    layouts_.Read(solved.choice, assignment);
    step.at_most = std::min(step.at_most, SecondsOf(assignment));
  }

  void BoundAll(std::span<const uint32_t> candidates, ForcedStep* steps) const {
    SolveOptions search = SearchFrom(best_, kEffortOfAll);
    search.forced = true;
    search.forced_node = Node();
    const SolveResult solved = Solve(layouts_.network(), search);
    if (solved.forced.empty()) return;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (const std::optional<int32_t> number = NumberOf(candidates[i])) {
        steps[i].at_least = solved.forced[Node()][*number];
      }
    }
  }

  const Problem& problem_;
  const LayoutNetwork& layouts_;
  const Assignment& best_;
  const OpId op_;
  const StrategyOptions& options_;
  Plan priced_;  // the last one
};

}  // namespace

Result<std::vector<ForcedStep>> StepsIfForced(const Problem& problem, const Assignment& best, OpId op,
                                              std::span<const uint32_t> candidates, size_t searched,
                                              const StrategyOptions& options) {
  SBP_ASSIGN_OR_RETURN(const LayoutNetwork layouts,
                       LayoutNetwork::Build(problem, {.memory_limit = options.memory_limit, .relaxed = true}));
  return WhatIf(problem, layouts, best, op, options).Steps(candidates, searched);
}

}  // namespace sbp

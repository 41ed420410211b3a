#include "strategy/optimal/what_if.h"

#include <algorithm>
#include <limits>

#include "search/solve.h"
#include "strategy/evaluate.h"
#include "strategy/optimal/layout_network.h"

namespace sbp {
namespace {

constexpr double kEffortOfOne = 0.2;  // of the search for one candidate
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

// Seconds of the assignment as a plan; infinity where it is none or does not fit.
double SecondsOf(const Problem& problem, const Assignment& assignment, const StrategyOptions& options) {
  Plan plan;
  plan.graph = *problem.graph;
  plan.mesh = problem.mesh;
  plan.cluster = problem.boxing->cluster();
  plan.options.memory_limit = options.memory_limit;
  return Evaluate(problem, assignment, plan).ok() ? plan.total.seconds() : kNever;
}

}  // namespace

Result<std::vector<ForcedStep>> StepsIfForced(const Problem& problem, const Assignment& best, OpId op,
                                              std::span<const uint32_t> candidates, const StrategyOptions& options) {
  SBP_ASSIGN_OR_RETURN(const LayoutNetwork layouts,
                       LayoutNetwork::Build(problem, {.memory_limit = options.memory_limit, .relaxed = true}));
  const std::span<const uint32_t> known = layouts.candidates_of(op);
  const int32_t node = LayoutNetwork::node_of(op);
  CostNetwork network = layouts.network();
  const int32_t all = network.nodes[node].costs;
  SolveOptions search;
  search.effort = kEffortOfOne;
  search.threads = options.threads;
  search.seed = options.seed;
  search.stop = options.cancelled;
  std::vector<ForcedStep> steps;
  for (const uint32_t candidate : candidates) {
    ForcedStep& step = steps.emplace_back(ForcedStep{0, kNever});
    Assignment assignment = best;
    assignment.ops[op.index()].candidate = candidate;
    step.at_most = SecondsOf(problem, assignment, options);
    const auto found = std::find(known.begin(), known.end(), candidate);
    if (found == known.end() || (options.cancelled && options.cancelled())) continue;
    network.nodes[node].costs = all;
    Force(network, node, static_cast<int32_t>(found - known.begin()));
    search.start.clear();
    if (Result<std::vector<int32_t>> start = layouts.Write(assignment); start.ok()) search.start = *std::move(start);
    const SolveResult solved = Solve(network, search);
    step.at_least = solved.proved_infeasible ? kNever : solved.lower_bound;
    if (solved.evaluation.forbidden) continue;
    layouts.Read(solved.choice, assignment);
    step.at_most = std::min(step.at_most, SecondsOf(problem, assignment, options));
  }
  return steps;
}

}  // namespace sbp

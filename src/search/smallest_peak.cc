#include "search/smallest_peak.h"

#include <algorithm>
#include <span>

namespace sbp {
namespace {

constexpr int kTrials = 12;
constexpr double kEffort = 0.2;    // of one trial
constexpr int64_t kPatience = 24;  // steps of the dual

// The same choices at no cost, save those that are forbidden.
CostNetwork WithoutCosts(const CostNetwork& network) {
  CostNetwork result = network;
  result.costs = {};
  result.fractions.clear();
  result.integral = true;
  result.unit = 1;
  std::vector<int64_t> row;
  for (int32_t id = 0; id < network.costs.size(); ++id) {
    row.assign(network.costs[id].begin(), network.costs[id].end());
    for (int64_t& cost : row) cost = cost >= kInfiniteCost ? kInfiniteCost : 0;
    result.costs.AddDistinct(row);
  }
  return result;
}

SolveOptions OfTrial(const SolveOptions& options) {
  SolveOptions trial;
  trial.effort = kEffort;
  trial.patience = kPatience;
  trial.threads = options.threads;
  trial.seed = options.seed;
  trial.stop = options.stop;
  return trial;
}

}  // namespace

std::vector<int32_t> SmallestPeak(const CostNetwork& network, std::span<const int32_t> start,
                                  const SolveOptions& options) {
  if (options.stop && options.stop()) return {start.begin(), start.end()};
  CostNetwork trial = WithoutCosts(network);
  SolveOptions effort = OfTrial(options);
  std::vector<int32_t> best(start.begin(), start.end());
  // Without a limit first: is there any choice that is not forbidden?
  Evaluation found = Evaluate(trial, best);
  if (found.forbidden) {
    trial.usage_limit.reset();
    best = Solve(trial, effort).choice;
    found = Evaluate(trial, best);
    if (found.forbidden) return best;
  }
  int64_t failed = std::min(network.usage_limit.value_or(0), found.peak);
  for (int count = 0; count < kTrials && failed + 1 < found.peak; ++count) {
    if (options.stop && options.stop()) break;
    const int64_t limit = failed + (found.peak - failed) / 2;
    trial.usage_limit = limit;
    effort.start = best;
    const SolveResult result = Solve(trial, effort);
    const Evaluation evaluation = Evaluate(trial, result.choice);
    if (!evaluation.forbidden && evaluation.peak < found.peak) {
      best = result.choice;
      found = evaluation;
    }
    if (found.peak > limit) failed = limit;
  }
  return best;
}

int64_t LeastPeak(const CostNetwork& network, int64_t least, int64_t reached, const SolveOptions& options) {
  if (options.stop && options.stop()) return least;
  CostNetwork trial = WithoutCosts(network);
  SolveOptions effort = OfTrial(options);
  int64_t open = reached;  // nobody has proved that nothing keeps within
  for (int count = 0; count < kTrials && least < open; ++count) {
    if (options.stop && options.stop()) break;
    trial.usage_limit = count == 0 ? open - 1 : least + (open - 1 - least) / 2;  // perhaps nothing is smaller
    const SolveResult result = Solve(trial, effort);
    // What is not forbidden costs nothing, so a bound above that is a proof as well.
    if (result.proved_infeasible || result.lower_bound_units > 0) {
      least = *trial.usage_limit + 1;
    } else {
      open = *trial.usage_limit;
    }
  }
  return least;
}

}  // namespace sbp

#include "strategy/optimal/smallest_plan.h"

#include <algorithm>

#include "search/smallest_peak.h"
#include "search/solve.h"

namespace sbp {
namespace {

constexpr double kEffort = 0.3;                         // of one search
constexpr double kRoom[] = {1.0, 1.02, 1.1, 1.3, 2.0};  // limits, by the smallest peak of the network
constexpr double kCopyPrice = 1;                        // seconds a byte: more than any boxing takes

SolveOptions SmallSearch(const StrategyOptions& options) {
  SolveOptions search;
  search.effort = kEffort;
  search.threads = options.threads;
  search.seed = options.seed;
  search.stop = options.cancelled;
  return search;
}

}  // namespace

Status OfferSmallPlans(const Problem& problem, const Assignment& start, const StrategyOptions& options,
                       const std::function<Status(const Assignment&)>& offer) {
  SBP_ASSIGN_OR_RETURN(LayoutNetwork network,
                       LayoutNetwork::Build(problem, {.memory_limit = options.memory_limit, .copy_price = kCopyPrice}));
  SolveOptions search = SmallSearch(options);
  std::vector<int32_t> choice(network.network().nodes.size(), 0);
  if (Result<std::vector<int32_t>> written = network.Write(start); written.ok()) choice = *std::move(written);
  search.start = SmallestPeak(network.network(), choice, search);
  const auto peak = static_cast<double>(Evaluate(network.network(), search.start).peak);
  for (const double room : kRoom) {
    network.SetMemoryLimit(static_cast<int64_t>(peak * room));
    const SolveResult solved = Solve(network.network(), search);
    if (solved.evaluation.forbidden) continue;
    Assignment assignment;
    network.Read(solved.choice, assignment);
    SBP_RETURN_IF_ERROR(offer(assignment));
  }
  return OkStatus();
}

int64_t LeastPeakOfPlans(const LayoutNetwork& relaxed, int64_t reached, const StrategyOptions& options) {
  return LeastPeak(relaxed.network(), 0, reached, SmallSearch(options));
}

}  // namespace sbp

#include "strategy/optimal/first_plans.h"

#include <algorithm>

namespace sbp {

Status OfferFirstPlans(const Problem& problem, const StrategyOptions& options, size_t most_ops,
                       const std::function<Status(const Assignment&)>& offer) {
  const size_t most = most_ops / std::max<size_t>(1, problem.num_ops());
  SBP_ASSIGN_OR_RETURN(const StrategyRow* einsum, FindStrategy("einsum"));
  for (size_t way = 0; way < std::min(options.num_ways, most); ++way) {
    if (options.cancelled && options.cancelled()) break;
    const Result<Problem> pinned = options.way(way);
    if (!pinned.ok()) continue;
    const Result<Assignment> first = einsum->solve(*pinned, options);
    if (first.ok()) SBP_RETURN_IF_ERROR(offer(*first));
  }
  return OkStatus();
}

}  // namespace sbp

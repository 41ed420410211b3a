#include "strategy/optimal/uniform.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/checked_math.h"
#include "base/status.h"
#include "search/cost_network.h"

namespace sbp {
namespace {

constexpr int kDepth = 6;  // edges around a node; ends of a stack of layers are looked at as far as this on their own

}  // namespace

UniformSearch::UniformSearch(const LayoutNetwork& network) : network_(network) {
  const std::optional<NodeParts> parts = PartsOf(network.network(), network.Kinds(), kDepth);
  if (!parts) return;
  Result<Quotient> quotient = Quotient::Of(network.network(), *parts);
  if (quotient.ok()) quotient_ = *std::move(quotient);
}

std::optional<SolveResult> UniformSearch::Solve(std::span<const std::vector<int32_t>> starts,
                                                const SolveOptions& options) {
  if (!quotient_) return std::nullopt;
  const CostNetwork& whole = network_.network();
  quotient_->HoldAs(whole);
  SolveOptions of_quotient = options;
  of_quotient.progress = nullptr;
  of_quotient.start.clear();
  of_quotient.memory = &memory_;
  std::optional<std::tuple<bool, int64_t, int64_t>> best;  // forbidden, peak above the limit, cost
  const int64_t limit = whole.usage_limit.value_or(kInt64Max);
  for (const std::vector<int32_t>& start : starts) {
    if (start.empty()) continue;
    std::vector<int32_t> contracted = quotient_->Contract(start);
    const Evaluation evaluation = Evaluate(quotient_->network(), contracted);
    const std::tuple found(evaluation.forbidden, std::max<int64_t>(0, evaluation.peak - limit), evaluation.cost);
    if (best && *best <= found) continue;
    best = found;
    of_quotient.start = std::move(contracted);
  }
  SolveResult result = sbp::Solve(quotient_->network(), of_quotient);
  result.choice = quotient_->Expand(result.choice);
  result.evaluation = Evaluate(whole, result.choice);
  result.lower_bound = 0;
  result.lower_bound_units = 0;
  result.proved_infeasible = false;
  return result;
}

}  // namespace sbp

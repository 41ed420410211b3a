#include "strategy/optimal/uniform.h"

#include "base/status.h"
#include "search/quotient.h"

namespace sbp {
namespace {

constexpr int kDepth = 6;  // edges around a node; ends of a stack of layers are looked at as far as this on their own

}  // namespace

std::optional<SolveResult> SolveUniform(const LayoutNetwork& network, const SolveOptions& options) {
  const std::optional<NodeParts> parts = PartsOf(network.network(), network.Kinds(), kDepth);
  if (!parts) return std::nullopt;
  const Result<Quotient> quotient = Quotient::Of(network.network(), *parts);
  if (!quotient.ok()) return std::nullopt;
  SolveOptions of_quotient = options;
  of_quotient.progress = nullptr;
  of_quotient.has_known_bound = false;
  if (!options.start.empty()) of_quotient.start = quotient->Contract(options.start);
  SolveResult result = Solve(quotient->network(), of_quotient);
  result.choice = quotient->Expand(result.choice);
  result.evaluation = Evaluate(network.network(), result.choice);
  result.lower_bound = 0;
  result.lower_bound_units = 0;
  result.proved_infeasible = false;
  return result;
}

}  // namespace sbp

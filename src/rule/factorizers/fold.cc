// Ops that fold any number of broadcast operands into one: sum, mean, max, min, and the same on bools.
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/broadcast.h"
#include "rule/factorizers/composite.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

std::vector<int> PresentOperands(const FactorizerContext& context) {
  std::vector<int> present;
  for (size_t i = 0; i < context.num_operands(); ++i) {
    if (context.has(i)) present.push_back(static_cast<int>(i));
  }
  return present;
}

// P(kind) in all the given operands, B in the others, P(kind) in result 0.
void AddJointly(FactorizerContext& context, ReduceKind kind, std::span<const int> operands) {
  ExplicitSignature signature{std::vector<Sbp>(context.num_operands()), std::vector<Sbp>(context.num_results())};
  for (int i : operands) signature.operands[i] = Sbp::Partial(kind);
  signature.results[0] = Sbp::Partial(kind);
  context.map().signatures.push_back(std::move(signature));
}

}  // namespace

// @fold(sum | mean | max | min). All of them rise with each operand. The maximum of maxima may be taken in any order,
// so P(max) in all operands at once is P(max); a sum of maxima is no maximum of sums.
Status FactorizeFold(FactorizerContext& context) {
  SBP_RETURN_IF_ERROR(BroadcastAll(context));
  const std::string& kind = context.name_arguments[0];
  const std::vector<int> operands = PresentOperands(context);
  auto& partials = context.map().partials;
  if (kind == "sum" || kind == "mean") partials.push_back({PartialClause::Kind::kLinear, operands, {}});
  for (int i : operands) partials.push_back({PartialClause::Kind::kMonotone, {i}, {}});
  if (operands.size() > 1 && kind == "max") AddJointly(context, ReduceKind::kMax, operands);
  if (operands.size() > 1 && kind == "min") AddJointly(context, ReduceKind::kMin, operands);
  return OkStatus();
}

// @clip: min(max(x, low), high). The lower bound joins x in P(max), the upper bound joins either in P(min).
Status FactorizeClip(FactorizerContext& context) {
  SBP_RETURN_IF_ERROR(BroadcastAll(context));
  for (int i : PresentOperands(context)) {
    context.map().partials.push_back({PartialClause::Kind::kMonotone, {i}, {}});
  }
  const auto place = [&](std::string_view name) { return static_cast<int>(context.operand(name)); };
  const int x = place("input"), low = place("min"), high = place("max");
  const bool has_low = context.has(low), has_high = context.has(high);
  if (has_low) AddJointly(context, ReduceKind::kMax, std::array{x, low});
  if (has_high) AddJointly(context, ReduceKind::kMin, std::array{x, high});
  if (has_low && has_high) AddJointly(context, ReduceKind::kMin, std::array{low, high});
  return OkStatus();
}

}  // namespace sbp

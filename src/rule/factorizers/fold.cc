// Ops that fold any number of broadcast operands into one: sum, mean, max, min, and the same on bools.
#include <array>
#include <span>
#include <string>
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
  const bool low = context.num_operands() > 1 && context.has(1);
  const bool high = context.num_operands() > 2 && context.has(2);
  if (low) AddJointly(context, ReduceKind::kMax, std::array{0, 1});
  if (high) AddJointly(context, ReduceKind::kMin, std::array{0, 2});
  if (low && high) AddJointly(context, ReduceKind::kMin, std::array{1, 2});
  return OkStatus();
}

}  // namespace sbp

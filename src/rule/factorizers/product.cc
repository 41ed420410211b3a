// Products, quotients and powers. Which partial values pass depends on the values of an operand that is known.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/literal.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/broadcast.h"
#include "rule/factorizers/composite.h"
#include "rule/factorizers/layout.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

enum class Sign { kUnknown, kPositive, kNegative };

// Positive or negative when every element of the operand is known to be.
Sign SignOf(const FactorizerContext& context, size_t operand) {
  const Literal* value = context.value(operand);
  if (value == nullptr) return Sign::kUnknown;
  std::vector<double> values(value->floats);
  values.insert(values.end(), value->ints.begin(), value->ints.end());
  if (values.empty()) return Sign::kUnknown;
  if (std::all_of(values.begin(), values.end(), [](double v) { return v > 0; })) return Sign::kPositive;
  if (std::all_of(values.begin(), values.end(), [](double v) { return v < 0; })) return Sign::kNegative;
  return Sign::kUnknown;
}

void AddPartial(FactorizerContext& context, PartialClause::Kind kind, int operand) {
  context.map().partials.push_back({kind, {operand}, {}});
}

// A factor of known sign keeps the order of the other operand's values, or turns it over.
void AddByScale(FactorizerContext& context, int operand, size_t scale) {
  const Sign sign = SignOf(context, scale);
  if (sign == Sign::kPositive) AddPartial(context, PartialClause::Kind::kMonotone, operand);
  if (sign == Sign::kNegative) AddPartial(context, PartialClause::Kind::kAntitone, operand);
}

}  // namespace

Status FactorizeProduct(FactorizerContext& context) {
  SBP_RETURN_IF_ERROR(BroadcastAll(context));
  AddPartial(context, PartialClause::Kind::kLinear, 0);
  AddPartial(context, PartialClause::Kind::kLinear, 1);
  AddByScale(context, 0, 1);
  AddByScale(context, 1, 0);
  return OkStatus();
}

Status FactorizeQuotient(FactorizerContext& context) {
  SBP_RETURN_IF_ERROR(BroadcastAll(context));
  if (!IsInteger(context.type(0).dtype)) AddPartial(context, PartialClause::Kind::kLinear, 0);
  AddByScale(context, 0, 1);
  return OkStatus();
}

// @where: X where the condition holds, else Y. A branch that is known to be zero adds nothing to a sum of the other.
Status FactorizeWhere(FactorizerContext& context) {
  SBP_RETURN_IF_ERROR(BroadcastAll(context));
  const auto is_zero = [&](size_t operand) {
    const Literal* value = context.value(operand);
    return value != nullptr &&
           std::all_of(value->floats.begin(), value->floats.end(), [](double v) { return v == 0; }) &&
           std::all_of(value->ints.begin(), value->ints.end(), [](int64_t v) { return v == 0; });
  };
  auto& partials = context.map().partials;
  partials.push_back({PartialClause::Kind::kLinear, {1, 2}, {}});
  if (is_zero(2)) AddPartial(context, PartialClause::Kind::kLinear, 1);
  if (is_zero(1)) AddPartial(context, PartialClause::Kind::kLinear, 2);
  partials.push_back({PartialClause::Kind::kMonotone, {1, 2}, {}});
  AddPartial(context, PartialClause::Kind::kMonotone, 1);
  AddPartial(context, PartialClause::Kind::kMonotone, 2);
  return OkStatus();
}

// x^1 is linear; x^3 and roots rise with x, even powers do not; b^y of a known b > 0 rises or falls with y and turns a
// sum of exponents into a product.
Status FactorizePower(FactorizerContext& context) {
  SBP_RETURN_IF_ERROR(BroadcastAll(context));
  const std::optional<double> exponent = KnownScalar(context, 1);
  if (exponent == 1.0) AddPartial(context, PartialClause::Kind::kLinear, 0);
  const bool even = exponent && std::fmod(*exponent, 2.0) == 0.0;
  if (exponent && *exponent > 0 && !even) AddPartial(context, PartialClause::Kind::kMonotone, 0);
  const std::optional<double> base = KnownScalar(context, 0);
  if (!base || *base <= 0 || !IsFloat(context.type(0).dtype)) return OkStatus();
  AddPartial(context, *base >= 1 ? PartialClause::Kind::kMonotone : PartialClause::Kind::kAntitone, 1);
  context.map().signatures.push_back(
      {{Sbp::Broadcast(), Sbp::Partial(ReduceKind::kSum)}, {Sbp::Partial(ReduceKind::kProd)}});
  return OkStatus();
}

}  // namespace sbp

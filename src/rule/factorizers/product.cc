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

void AddPartial(FactorizerContext& context, PartialClause::Kind kind, size_t operand) {
  context.map().partials.push_back({kind, {static_cast<int>(operand)}, {}});
}

// A factor of known sign keeps the order of the other operand's values, or turns it over.
void AddByScale(FactorizerContext& context, size_t operand, size_t scale) {
  const Sign sign = SignOf(context, scale);
  if (sign == Sign::kPositive) AddPartial(context, PartialClause::Kind::kMonotone, operand);
  if (sign == Sign::kNegative) AddPartial(context, PartialClause::Kind::kAntitone, operand);
}

}  // namespace

Status FactorizeProduct(FactorizerContext& context) {
  const size_t x = context.operand("x"), y = context.operand("y");
  SBP_RETURN_IF_ERROR(BroadcastAll(context));
  AddPartial(context, PartialClause::Kind::kLinear, x);
  AddPartial(context, PartialClause::Kind::kLinear, y);
  AddByScale(context, x, y);
  AddByScale(context, y, x);
  return OkStatus();
}

Status FactorizeQuotient(FactorizerContext& context) {
  const size_t x = context.operand("x"), y = context.operand("y");
  SBP_RETURN_IF_ERROR(BroadcastAll(context));
  if (!IsInteger(context.type(x).dtype)) AddPartial(context, PartialClause::Kind::kLinear, x);
  AddByScale(context, x, y);
  return OkStatus();
}

// @where: X where the condition holds, else Y. A branch that is known to be zero adds nothing to a sum of the other.
Status FactorizeWhere(FactorizerContext& context) {
  const size_t x = context.operand("X"), y = context.operand("Y");
  SBP_RETURN_IF_ERROR(BroadcastAll(context));
  const auto is_zero = [&](size_t operand) {
    const Literal* value = context.value(operand);
    return value != nullptr &&
           std::all_of(value->floats.begin(), value->floats.end(), [](double v) { return v == 0; }) &&
           std::all_of(value->ints.begin(), value->ints.end(), [](int64_t v) { return v == 0; });
  };
  const std::vector<int> both = {static_cast<int>(x), static_cast<int>(y)};
  auto& partials = context.map().partials;
  partials.push_back({PartialClause::Kind::kLinear, both, {}});
  if (is_zero(y)) AddPartial(context, PartialClause::Kind::kLinear, x);
  if (is_zero(x)) AddPartial(context, PartialClause::Kind::kLinear, y);
  partials.push_back({PartialClause::Kind::kMonotone, both, {}});
  AddPartial(context, PartialClause::Kind::kMonotone, x);
  AddPartial(context, PartialClause::Kind::kMonotone, y);
  return OkStatus();
}

// x^1 is linear; x^3 and roots rise with x, even powers do not; b^y of a known b > 0 rises or falls with y and turns a
// sum of exponents into a product.
Status FactorizePower(FactorizerContext& context) {
  const size_t x = context.operand("x"), y = context.operand("exponent");
  SBP_RETURN_IF_ERROR(BroadcastAll(context));
  const std::optional<double> exponent = KnownScalar(context, y);
  if (exponent == 1.0) AddPartial(context, PartialClause::Kind::kLinear, x);
  const bool even = exponent && std::fmod(*exponent, 2.0) == 0.0;
  if (exponent && *exponent > 0 && !even) AddPartial(context, PartialClause::Kind::kMonotone, x);
  const std::optional<double> base = KnownScalar(context, x);
  if (!base || *base <= 0 || !IsFloat(context.type(x).dtype)) return OkStatus();
  AddPartial(context, *base >= 1 ? PartialClause::Kind::kMonotone : PartialClause::Kind::kAntitone, y);
  ExplicitSignature signature{std::vector<Sbp>(context.num_operands()), {Sbp::Partial(ReduceKind::kProd)}};
  signature.operands[y] = Sbp::Partial(ReduceKind::kSum);
  context.map().signatures.push_back(std::move(signature));
  return OkStatus();
}

}  // namespace sbp

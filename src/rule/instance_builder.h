// The steps of RuleSet::Instantiate: what each reads and writes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/graph.h"
#include "rule/expression.h"
#include "rule/factor_map.h"
#include "rule/overload.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"
#include "sbp/shard_math.h"

namespace sbp {

// One op on its way to a RuleInstance.
struct InstanceBuilder {
  const OpQuery& query;
  const Binding& binding;
  const RuleSet& rules;  // that the op stands in
  RuleInstance& out;     // types and names of operands and results are set; map.operands sized; dtypes of results known

  const OpOverload& overload() const { return *binding.overload; }
  // What the op says of an attribute, or the schema's default; nullptr when neither.
  const AttributeValue* Attribute(std::string_view name) const;
  // Gives result `result` its shape; every dimension is whole until a factor is put there.
  void SetResultShape(size_t result, Shape shape);
};

// Names and functions in the expressions of a rule. Factors of unknown size (-1) are an error.
class InstanceScope : public ExpressionScope {
 public:
  explicit InstanceScope(const InstanceBuilder& builder) : builder_(builder) {}
  Result<ExpressionValue> Name(const Expression& node) const override;
  Result<ExpressionValue> Call(const Expression& node, std::span<const ExpressionValue> arguments) const override;

 private:
  Result<ExpressionValue> OfOperand(const Expression& node, const ParameterSlot* slot,
                                    std::span<const ExpressionValue> arguments) const;
  Result<ExpressionValue> OfAttribute(const Expression& node, std::span<const ExpressionValue> arguments) const;
  int64_t Count(std::string_view name) const;

  const InstanceBuilder& builder_;
};

// is, dtype, wide, lowest, highest: their value for an element type; kUndefined where there is none.
bool IsTypeFunction(std::string_view name);
Result<ExpressionValue> CallTypeFunction(const Expression& node, DType type,
                                         std::span<const ExpressionValue> arguments);
// The type that an attribute names; kUndefined when it names none.
DType TypeOfAttribute(const AttributeValue* value);

// Factors and their sizes from the operands' shapes, then the results' shapes. Errors say which dimension of which
// operand does not fit which letter.
Status BindNotation(const RuleLine& line, InstanceBuilder& builder);

// `rule as Op(...)`: asks the rules about that op on the operands that the call names, and takes over its factors,
// where they lie, the shapes of the results, what reduces, and, where the op is on the same operands and types, which
// sums and orders of values pass. Operands that the call does not name stay whole.
Status InheritRule(const RuleLine& line, InstanceBuilder& builder);

// reduce, linear, aware, ... by name. Letters that a factorizer did not make are skipped: it had no use for them.
Status ApplyClauses(const RuleLine& line, InstanceBuilder& builder);

// Factor of a name, or -1.
FactorId FindFactor(const FactorMap& map, std::string_view name);

}  // namespace sbp

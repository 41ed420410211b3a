// What the text of an expansion computes, as attributes and operands of the ops that it calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "decompose/expansion_builder.h"
#include "decompose/expansion_scope.h"
#include "graph/graph.h"
#include "rule/expression.h"
#include "rule/syntax.h"

namespace sbp {

// kBadInput: "FILE:LINE:COL: MESSAGE".
Status ErrorInText(const SourcePosition& at, std::string_view message);

// An absent value leaves the attribute out. Error: a tensor, at `at`.
Status SetAttribute(const Expression& at, const std::string& name, const ExpansionValue& value, Attributes& attributes);

// Operands of one op; numbers among them take the type of the first tensor that is not bool, without one f32 if some
// number has a fraction, else i64. Errors: as TensorOf.
Result<std::vector<TensorId>> OperandsOf(const std::vector<ExpansionValue>& operands, ExpansionBuilder& builder);

// A value as a tensor; numbers become constants of `type`, lists of integers are i64. Invalid: an absent value. Errors
// (kBadInput): a string; a list that is too long for a constant.
Result<TensorId> TensorOf(const ExpansionValue& value, DType type, ExpansionBuilder& builder);

}  // namespace sbp

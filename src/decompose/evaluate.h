// Runs the text of an expansion: rules/README.md, "Expansions".
#pragma once

#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "decompose/expansion_builder.h"
#include "rule/syntax.h"

namespace sbp {

// Errors of a vjp that refuses an operand contain this.
inline constexpr std::string_view kNoDerivative = "has no derivative by";

// The first expansion of the overload whose `when` holds, written into `builder`. Errors say file:line:col.
Status EvaluateExpansion(const OpOverload& overload, ExpansionBuilder& builder);

// The first vjp of the overload whose `when` holds for what `builder` is about; nullptr: there is none.
Result<const Expansion*> ApplicableVjp(const OpOverload& overload, const ExpansionBuilder& builder);

// The cotangents of the wanted operands, shaped and typed like them (invalid: zero), from those of the results that are
// `reached`. The results and these cotangents become inputs of what is built, named as in the text: "y", "d.y". Errors
// say file:line:col: what the block refuses, does not set, or sets in a shape that does not broadcast.
Result<std::vector<TensorId>> EvaluateVjp(const Expansion& vjp, const std::vector<bool>& reached,
                                          const std::vector<bool>& wanted, ExpansionBuilder& builder);

}  // namespace sbp

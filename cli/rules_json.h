// rules list --format json: every op with its signatures, for programs that make functions of them.
#pragma once

#include <string>

#include "rule/rule_set.h"

namespace sbp {

// {"ops": [{"op", "family", "builtin", "overloads": N, "doc", "signatures": [...]}]}, ops by name. A signature is an
// overload, in the order in which they are tried:
//   {"text": "Tensor (Tensor x, *, int axis=-1)", "doc", "parameters": [...], "open": true, "results": [...]}
// "open": takes further attributes. A parameter has "name" and "kind" ("Tensor", "Scalar", "int[]", ...), and, where it
// is so, "type" (of tensors: a dtype, a group, or the parameter whose type it has), "optional", "variadic",
// "attribute", "default" (numbers that are not finite are strings: "inf"), and "reads_value": results, layouts or
// expansion follow from its value. A result has "name", "type", "optional", "variadic".
std::string RulesJson(const RuleSet& rules);

}  // namespace sbp

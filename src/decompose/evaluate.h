// Runs the text of an expansion: rules/README.md, "Expansions".
#pragma once

#include "base/status.h"
#include "decompose/expansion_builder.h"
#include "rule/syntax.h"

namespace sbp {

// The first expansion of the overload whose `when` holds, written into `builder`. Errors say file:line:col.
Status EvaluateExpansion(const OpOverload& overload, ExpansionBuilder& builder);

}  // namespace sbp

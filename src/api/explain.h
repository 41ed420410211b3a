// Why an op, a tensor or a scope of a plan is laid out as it is.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "explain/explain.h"
#include "plan/plan.h"
#include "rule/rule_set.h"

namespace sbp {

// Explain (explain/explain.h) of a plan alone: the problem that it answers is built again. `rules`: RulesOfPlan.
Result<std::string> ExplainPlan(const Plan& plan, const RuleSet& rules, std::string_view name, bool json = false,
                                const ExplainFormat& format = {});

}  // namespace sbp

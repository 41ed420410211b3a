// Reading plans for the commands that start from one.
#pragma once

#include <string>

#include "base/status.h"
#include "plan/plan.h"
#include "rule/rule_set.h"

namespace sbp {

Result<Plan> ReadPlanFile(const std::string& path);
// The built-in rules and the user's, whose text the plan holds.
Result<RuleSet> RulesOfPlan(const Plan& plan);

}  // namespace sbp

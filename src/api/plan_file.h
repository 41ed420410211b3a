// Plans from files, and whether they can be trusted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "check/violation.h"
#include "plan/plan.h"
#include "rule/rule_set.h"

namespace sbp {

// Any encoding; "-" is stdin. Errors (kBadInput): no such file, not a plan, with file:line:column.
Result<Plan> ReadPlanFile(const std::string& path);
// The built-in rules and the user's, whose text the plan holds.
Result<RuleSet> RulesOfPlan(const Plan& plan);

// What CheckPlan finds; and, where values of inputs shaped the graph, control flow that is not what these values make
// of it (other numbers of trips), which only resolving anew shows.
std::vector<Violation> FindViolations(const Plan& plan, const RuleSet& rules);

// How the plan's graph differs from what the model at `path` is, resolved as the plan says. Error: no such model.
Result<std::vector<Violation>> CompareWithModel(const Plan& plan, const RuleSet& rules, const std::string& path);

// For callers that execute or expand a plan and trust its every number. Error (kBadInput): what `check` finds in it,
// the first of it in check's words, and how much.
Status RefuseWrongPlan(const Plan& plan, const RuleSet& rules, const std::string& path);

// Seconds of the step as it is executed; none where a plan is not right, or is none.
std::optional<double> StepOf(const Plan& plan);

}  // namespace sbp

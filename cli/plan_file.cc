#include "cli/plan_file.h"

#include "io/documents.h"
#include "io/file.h"

namespace sbp {

Result<Plan> ReadPlanFile(const std::string& path) {
  SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  return ReadPlan(bytes, path);
}

Result<RuleSet> RulesOfPlan(const Plan& plan) {
  SBP_ASSIGN_OR_RETURN(RuleSet rules, RuleSet::Builtin());
  for (const auto& [name, text] : plan.options.rule_files) SBP_RETURN_IF_ERROR(rules.Add(text, name));
  return rules;
}

}  // namespace sbp

#include "cli/plan_file.h"

#include "base/text.h"
#include "check/check.h"
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

Status RefuseWrongPlan(const Plan& plan, const RuleSet& rules, const std::string& path) {
  constexpr size_t kShown = 3;
  const std::vector<Violation> violations = CheckPlan(plan, rules);
  if (violations.empty()) return OkStatus();
  std::string text = StrCat(path, ": not a plan that can be trusted");
  for (size_t i = 0; i < violations.size() && i < kShown; ++i) {
    const Violation& v = violations[i];
    text += StrCat("\n  ", v.where, ": ", v.what);
    if (!v.expected.empty()) text += StrCat("; expected ", v.expected);
    if (!v.found.empty()) text += StrCat(", found ", v.found);
  }
  const size_t count = violations.size();
  return BadInput(StrCat(text, "\n", count, count == 1 ? " violation" : " violations",
                         count > kShown ? ", all of them with sbp-plan check" : ""));
}

}  // namespace sbp

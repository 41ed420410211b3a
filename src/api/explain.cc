#include "api/explain.h"

#include "pipeline/pipeline.h"
#include "problem/problem.h"

namespace sbp {

Result<std::string> ExplainPlan(const Plan& plan, const RuleSet& rules, std::string_view name, bool json,
                                const ExplainFormat& format) {
  SBP_ASSIGN_OR_RETURN(const Problem problem, RebuildProblem(plan, rules));
  return Explain(problem, plan, name, json, format);
}

}  // namespace sbp

#include "api/page.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "page/page.h"
#include "page/trace.h"
#include "pipeline/pipeline.h"
#include "problem/problem.h"
#include "render/facts.h"

namespace sbp {
namespace {

Result<std::optional<Problem>> ProblemOf(const Plan& plan, const RuleSet& rules) {
  if (IsBareGraph(plan)) return std::optional<Problem>();
  SBP_ASSIGN_OR_RETURN(Problem problem, RebuildProblem(plan, rules));
  return std::optional<Problem>(std::move(problem));
}

}  // namespace

Result<std::string> PageOfPlan(const Plan& plan, const RuleSet& rules, const TraceFile* trace, std::string_view file) {
  std::optional<PlanTrace> read;
  if (trace != nullptr) {
    SBP_ASSIGN_OR_RETURN(read, ReadTrace(trace->text, trace->path, plan));
  }
  SBP_ASSIGN_OR_RETURN(const std::optional<Problem> problem, ProblemOf(plan, rules));
  return WritePage(
      plan, {.file = std::string(file), .problem = problem ? &*problem : nullptr, .trace = read ? &*read : nullptr});
}

Result<std::string> PageOfPlans(const Plan& before, const RuleSet& rules_before, const Plan& after,
                                const RuleSet& rules_after, std::string_view file_before, std::string_view file_after) {
  SBP_ASSIGN_OR_RETURN(const std::optional<Problem> first, ProblemOf(before, rules_before));
  SBP_ASSIGN_OR_RETURN(const std::optional<Problem> second, ProblemOf(after, rules_after));
  return WriteDiffPage(before, after,
                       {.before = {.file = std::string(file_before), .problem = first ? &*first : nullptr},
                        .after = {.file = std::string(file_after), .problem = second ? &*second : nullptr}});
}

}  // namespace sbp

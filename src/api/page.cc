#include "api/page.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/played.h"
#include "page/options.h"
#include "page/page.h"
#include "page/trace.h"
#include "pipeline/pipeline.h"
#include "problem/problem.h"
#include "render/facts.h"
#include "schedule/micro_batches.h"

namespace sbp {
namespace {

Result<std::optional<Problem>> ProblemOf(const Plan& plan, const RuleSet& rules) {
  if (IsBareGraph(plan)) return std::optional<Problem>();
  SBP_ASSIGN_OR_RETURN(Problem problem, RebuildProblem(plan, rules));
  return std::optional<Problem>(std::move(problem));
}

// What a page asks of a plan, kept for as long as it is written.
struct Asked {
  std::optional<Problem> problem;
  std::optional<MicroBatches> played;

  PageOptions Options(std::string_view file) const {
    return {.file = std::string(file), .problem = problem ? &*problem : nullptr, .played = played ? &*played : nullptr};
  }
};

Result<Asked> Ask(const Plan& plan, const RuleSet& rules) {
  Asked asked;
  SBP_ASSIGN_OR_RETURN(asked.problem, ProblemOf(plan, rules));
  SBP_ASSIGN_OR_RETURN(asked.played, PlayPhysical(plan, kMostTasksOfPage));
  return asked;
}

}  // namespace

Result<std::string> PageOfPlan(const Plan& plan, const RuleSet& rules, const TraceFile* trace, std::string_view file) {
  std::optional<PlanTrace> read;
  if (trace != nullptr) {
    SBP_ASSIGN_OR_RETURN(read, ReadTrace(trace->text, trace->path, plan));
  }
  SBP_ASSIGN_OR_RETURN(const Asked asked, Ask(plan, rules));
  PageOptions options = asked.Options(file);
  options.trace = read ? &*read : nullptr;
  return WritePage(plan, options);
}

Result<std::string> PageOfPlans(const Plan& before, const RuleSet& rules_before, const Plan& after,
                                const RuleSet& rules_after, std::string_view file_before, std::string_view file_after) {
  SBP_ASSIGN_OR_RETURN(const Asked first, Ask(before, rules_before));
  SBP_ASSIGN_OR_RETURN(const Asked second, Ask(after, rules_after));
  return WriteDiffPage(before, after, {.before = first.Options(file_before), .after = second.Options(file_after)});
}

}  // namespace sbp

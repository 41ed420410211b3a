// Plan documents: read, checked, shown and written again.
#include "plan/plan.h"

#include <optional>

#include "check/check.h"
#include "explain/explain.h"
#include "fuzz/target.h"
#include "io/documents.h"
#include "pipeline/pipeline.h"
#include "render/render.h"
#include "report/report.h"

namespace sbp::fuzz {

namespace {

// The built-in rules and the plan's own, where it has some that can be read: a copy takes longer than all the rest.
std::optional<RuleSet> UsersRules(const Plan& plan) {
  if (plan.options.rule_files.empty()) return std::nullopt;
  RuleSet rules = BuiltinRules();
  for (const auto& [name, text] : plan.options.rule_files) {
    const Status added = rules.Add(text, name);
    if (!added.ok()) RequireRefusal(added);
  }
  return rules;
}

// The first op and the first tensor; the plan may be one that does not check.
void ExplainSome(const Plan& plan, const RuleSet& rules) {
  const Result<Problem> problem = RebuildProblem(plan, rules);
  if (!problem.ok()) return RequireRefusal(problem.status());
  for (const bool json : {false, true}) {
    if (!plan.graph.ops.empty()) (void)Explain(*problem, plan, plan.graph.ops.front().name, json);
    if (!plan.graph.tensors.empty()) (void)Explain(*problem, plan, plan.graph.tensors.front().name, json);
  }
}

}  // namespace

void RunPlan(std::string_view bytes) {
  const Result<Plan> plan = ReadPlan(bytes, "input");
  if (!plan.ok()) return RequireRefusal(plan.status());
  const std::string json = WritePlan(*plan, Encoding::kJson);
  for (const Encoding encoding : {Encoding::kJson, Encoding::kPrototxt, Encoding::kBinary}) {
    const Result<Plan> again = ReadPlan(WritePlan(*plan, encoding), "written");
    Require(again.ok(), again.status().message());
    Require(WritePlan(*again, Encoding::kJson) == json, "the plan changed in a round trip");
  }
  (void)Dump(*plan);
  (void)FormatSummary(*plan);
  (void)SummaryJson(*plan, {});
  const std::optional<RuleSet> users = UsersRules(*plan);
  const RuleSet& rules = users ? *users : BuiltinRules();
  (void)CheckPlan(*plan, rules);
  for (const std::string_view path : {"plan.dot", "plan.txt"}) {
    const FormatRow& format = *FormatForPath(path).value();
    (void)format.render(*plan, {.max_nodes = 50});
    (void)format.render(*plan, {.expand = {"*"}, .max_nodes = 50});
  }
  Require(DiffPlans(*plan, *plan, {}).empty(), "a plan differs from itself");
  ExplainSome(*plan, rules);
  Require(CompareGraphs(plan->graph, plan->graph).empty(), "a graph differs from itself");
}

}  // namespace sbp::fuzz

// Plan documents: read, checked, shown and written again.
#include "plan/plan.h"

#include "check/check.h"
#include "fuzz/target.h"
#include "io/documents.h"
#include "report/report.h"

namespace sbp::fuzz {

void RunPlan(std::string_view bytes) {
  const Result<Plan> plan = ReadPlan(bytes, "input");
  if (!plan.ok()) return;
  const std::string json = WritePlan(*plan, Encoding::kJson);
  for (const Encoding encoding : {Encoding::kJson, Encoding::kPrototxt, Encoding::kBinary}) {
    const Result<Plan> again = ReadPlan(WritePlan(*plan, encoding), "written");
    Require(again.ok(), again.status().message());
    Require(WritePlan(*again, Encoding::kJson) == json, "the plan changed in a round trip");
  }
  (void)Dump(*plan);
  (void)FormatSummary(*plan);
  (void)SummaryJson(*plan, {});
  RuleSet rules = BuiltinRules();
  for (const auto& [name, text] : plan->options.rule_files) {
    if (!rules.Add(text, name).ok()) return;
  }
  (void)CheckPlan(*plan, rules);
  Require(CompareGraphs(plan->graph, plan->graph).empty(), "a graph differs from itself");
}

}  // namespace sbp::fuzz

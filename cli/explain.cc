// explain: why an op or a tensor of a plan is laid out as it is.
#include "api/explain.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "api/plan_file.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/output.h"
#include "explain/explain.h"
#include "plan/plan.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

struct ExplainFlags {
  std::string plan, name;
  OutputFlags output;
  size_t max_candidates = ExplainFormat().max_candidates;
  bool all = false;
};

Status ExplainName(const ExplainFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const Plan plan, ReadPlanFile(flags.plan));
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, RulesOfPlan(plan));
  const ExplainFormat format{
      .notation = flags.output.layout_notation(), .max_candidates = flags.max_candidates, .all = flags.all};
  SBP_ASSIGN_OR_RETURN(const std::string text, ExplainPlan(plan, rules, flags.name, flags.output.json(), format));
  return Print(text);
}

}  // namespace

Command SetupExplain(CLI::App& app) {
  auto flags = std::make_shared<ExplainFlags>();
  app.add_option("plan", flags->plan, "a plan; - is stdin")->required()->type_name("PLAN");
  app.add_option("name", flags->name, "an op, a tensor or a scope of it, or SCOPE:ROLE")
      ->required()
      ->type_name("OP|TENSOR|SCOPE");
  app.add_option("--max-candidates", flags->max_candidates,
                 "in text: how many candidates to list, the chosen one and the cheapest others")
      ->check(RefuseNegative)
      ->capture_default_str();
  app.add_flag("--all", flags->all, "in text: all candidates, their prices by every criterion, all ranks, the rule");
  AddFormatFlag(app, flags->output);
  AddNotationFlag(app, flags->output);
  return [flags] { return ExplainName(*flags); };
}

}  // namespace sbp

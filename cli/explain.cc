// explain: a plan in numbers; why an op or a tensor of it is laid out as it is; what a training graph keeps for its
// backward pass.
#include "api/explain.h"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "api/model.h"
#include "api/plan_file.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "explain/explain.h"
#include "graph/graph.h"
#include "io/documents.h"
#include "io/file.h"
#include "pipeline/pipeline.h"
#include "plan/plan.h"
#include "report/report.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

struct ExplainFlags {
  std::string plan, name;
  OutputFlags output;
  size_t max_candidates = ExplainFormat().max_candidates;
  bool all = false;
  bool kept = false;
  std::vector<std::string> rules;
};

Status ExplainName(const ExplainFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const Plan plan, ReadPlanFile(flags.plan));
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, RulesOfPlan(plan));
  const ExplainFormat format{
      .notation = flags.output.layout_notation(), .max_candidates = flags.max_candidates, .all = flags.all};
  SBP_ASSIGN_OR_RETURN(const std::string text, ExplainPlan(plan, rules, flags.name, flags.output.json(), format));
  return Print(text);
}

Status ExplainWhole(const ExplainFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const Plan plan, ReadPlanFile(flags.plan));
  return Print(flags.output.json() ? SummaryJson(plan, {})
                                   : FormatSummary(plan, {.notation = flags.output.layout_notation()}));
}

Status ExplainKeptTensors(const ExplainFlags& flags) {
  constexpr size_t kRows = 10, kAllRows = 100000;
  const size_t rows = flags.all ? kAllRows : kRows;
  SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(flags.plan));
  const auto info = Recognise(bytes, flags.plan);
  if (info.ok() && info->kind == DocumentKind::kPlan) {
    if (!flags.rules.empty()) return UsageError("--rules: a plan holds its own");
    SBP_ASSIGN_OR_RETURN(const Plan plan, ReadPlan(bytes, flags.plan));
    SBP_ASSIGN_OR_RETURN(const RuleSet rules, RulesOfPlan(plan));
    SBP_RETURN_IF_ERROR(CheckTrainingGraph(plan.graph, flags.plan));
    return Print(ExplainKept(plan, rules, flags.output.json(), rows));
  }
  if (info.ok() && info->kind == DocumentKind::kCluster) {
    return BadInput(StrCat(flags.plan, " is a cluster; expected a training graph or a plan"));
  }
  SBP_ASSIGN_OR_RETURN(const Graph graph, LoadModel(bytes, flags.plan, flags.plan));
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.rules));
  SBP_RETURN_IF_ERROR(CheckTrainingGraph(graph, flags.plan));
  return Print(ExplainKept(graph, rules, flags.output.json(), rows));
}

Status RunExplain(const ExplainFlags& flags) {
  if (flags.kept) {
    if (!flags.name.empty())
      return UsageError(StrCat("--kept is of the whole graph; leave ", Quote(flags.name), " out"));
    return ExplainKeptTensors(flags);
  }
  if (!flags.rules.empty()) return UsageError("--rules is for --kept; a plan holds its own");
  return flags.name.empty() ? ExplainWhole(flags) : ExplainName(flags);
}

}  // namespace

Command SetupExplain(CLI::App& app) {
  auto flags = std::make_shared<ExplainFlags>();
  app.add_option("plan", flags->plan, "a plan; with --kept also a training graph; - is stdin")
      ->required()
      ->type_name("PLAN");
  app.add_option("name", flags->name,
                 "an op, a tensor or a scope of it, or SCOPE:ROLE, or the end of an op's name; none: the summary of "
                 "the whole plan")
      ->type_name("OP|TENSOR|SCOPE");
  app.add_flag("--kept", flags->kept,
               "what the forward pass of a training graph keeps for the backward pass: bytes by op type and by scope, "
               "the largest tensors and who needs each, what custom VJPs save");
  app.add_option("--rules", flags->rules, "of --kept and a training graph: rules besides the built-in ones")
      ->type_name("FILE");
  app.add_option("--max-candidates", flags->max_candidates,
                 "in text: how many candidates to list, the chosen one and the cheapest others")
      ->check(RefuseNegative)
      ->capture_default_str();
  app.add_flag("--all", flags->all,
               "in text: all candidates, their prices by every criterion, all ranks, the rule; with --kept all rows");
  AddFormatFlag(app, flags->output);
  AddNotationFlag(app, flags->output);
  return [flags] { return RunExplain(*flags); };
}

}  // namespace sbp

#include "api/plan_file.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <variant>

#include "api/grad.h"
#include "api/model.h"
#include "api/reference.h"
#include "base/ids.h"
#include "base/text.h"
#include "check/check.h"
#include "fold/resolve.h"
#include "fold/resolve_options.h"
#include "graph/graph.h"
#include "io/documents.h"
#include "io/file.h"
#include "schedule/measure.h"

namespace sbp {
namespace {

// As Violation::where spells ops with subgraphs and their results.
std::set<std::string> ControlFlow(const Graph& graph) {
  std::set<std::string> places;
  for (const Op& op : graph.ops) {
    const auto& attributes = op.attributes->entries();
    if (std::ranges::none_of(attributes, [](const auto& entry) {
          return std::holds_alternative<std::shared_ptr<const Graph>>(entry.second);
        })) {
      continue;
    }
    places.insert(StrCat(graph.type_of(op), " ", Quote(op.name)));
    for (const TensorId output : op.outputs) {
      if (output.valid()) places.insert(StrCat("tensor ", Quote(graph.tensor(output).name)));
    }
  }
  return places;
}

}  // namespace

Result<Plan> ReadPlanFile(const std::string& path) {
  SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  return ReadPlan(bytes, path);
}

Result<RuleSet> RulesOfPlan(const Plan& plan) {
  SBP_ASSIGN_OR_RETURN(RuleSet rules, RuleSet::Builtin());
  for (const auto& [name, text] : plan.options.rule_files) SBP_RETURN_IF_ERROR(rules.Add(text, name));
  return rules;
}

std::vector<Violation> FindViolations(const Plan& plan, const RuleSet& rules) {
  std::vector<Violation> violations = CheckPlan(plan, rules);
  if (!violations.empty() || plan.graph.assumptions.empty()) return violations;
  const std::set<std::string> control_flow = ControlFlow(plan.graph);
  if (control_flow.empty()) return violations;
  ResolveOptions options = ResolveOptionsOf(plan, plan.graph);
  options.simplify = false;
  options.bindings.clear();  // sizes are numbers here
  const Result<Resolved> resolved = Resolve(plan.graph, rules, options);
  if (!resolved.ok()) {
    return {{"graph", "does not resolve with the values that it assumes", "the graph of the plan",
             resolved.status().message()}};
  }
  for (Violation& v : CompareGraphs(plan.graph, resolved->graph)) {
    if (control_flow.contains(v.where)) violations.push_back(std::move(v));
  }
  return violations;
}

Result<std::vector<Violation>> CompareWithModel(const Plan& plan, const RuleSet& rules, const std::string& path) {
  SBP_ASSIGN_OR_RETURN(const LoadedModel model, LoadModelFile(path));
  std::vector<Violation> violations;
  if (!plan.model_fingerprint.empty() && model.fingerprint != plan.model_fingerprint) {
    violations.push_back({StrCat("model ", Quote(path)), "is not the file that was planned (its contents differ)",
                          plan.model_fingerprint, model.fingerprint});
  }
  const bool trains = !plan.options.train.empty();
  const auto resolve = trains ? ResolveToDifferentiate : ResolveWithInputs;
  Result<Resolved> resolved = resolve(model.graph, rules, ResolveOptionsOf(plan, model.graph), {});
  if (resolved.ok() && trains) {
    const ResolveOptions again = {.strict = plan.options.strict, .simplify = plan.options.simplify};
    resolved = MakeTrainingGraph(std::move(resolved->graph), rules, plan.options.train, again);
  }
  if (!resolved.ok()) {
    violations.push_back({StrCat("model ", Quote(path)), "does not resolve with the dimensions of the plan",
                          "the graph of the plan", resolved.status().message()});
    return violations;
  }
  for (Violation& v : CompareGraphs(plan.graph, resolved->graph)) violations.push_back(std::move(v));
  return violations;
}

Status RefuseWrongPlan(const Plan& plan, const RuleSet& rules, const std::string& path) {
  constexpr size_t kShown = 3;
  const std::vector<Violation> violations = FindViolations(plan, rules);
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

std::optional<double> StepOf(const Plan& plan) {
  if (plan.mesh.num_axes() == 0) return std::nullopt;
  const Result<RuleSet> rules = RulesOfPlan(plan);
  if (!rules.ok() || !FindViolations(plan, *rules).empty()) return std::nullopt;
  return StepSeconds(plan, StepMeasure::kSchedule);
}

}  // namespace sbp

// compare: several strategies on one model, side by side.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/model.h"
#include "api/planning.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "pipeline/pipeline.h"
#include "pipeline/request.h"
#include "plan/plan.h"
#include "report/report.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

bool NeedsMore(const StrategyRow& row) {
  return std::ranges::any_of(row.options, [](const StrategyOption& option) { return option.required; });
}

// All that can run as they are.
std::string AllComparable() {
  std::vector<std::string_view> names;
  for (const StrategyRow& row : AllStrategies()) {
    if (!NeedsMore(row)) names.push_back(row.name);
  }
  return Join(names, ",");
}

struct CompareFlags {
  PlanningFlags planning;
  OutputFlags output;
  std::string strategies = AllComparable();
  std::vector<std::string> meshes;  // empty: --mesh
};

// --meshes: several of the flag, each several by ';'.
Result<std::vector<Mesh>> ParseMeshes(const std::vector<std::string>& texts) {
  std::vector<Mesh> meshes;
  for (const std::string& text : texts) {
    for (const std::string_view one : Split(text, ';')) {
      Result<Mesh> mesh = ParseMesh(Trim(one));
      if (!mesh.ok()) return UsageError(StrCat("--meshes: ", mesh.status().message()));
      if (std::ranges::find(meshes, *mesh) != meshes.end()) {
        return UsageError(StrCat("--meshes: ", ToString(*mesh), " is there twice"));
      }
      meshes.push_back(*std::move(mesh));
    }
  }
  return meshes;
}

// A row of the comparison: "einsum", "greedy:time".
struct StrategyChoice {
  const StrategyRow* row = nullptr;
  std::string criterion;  // "": the default
};
Result<StrategyChoice> ParseChoice(const std::string& name) {
  const size_t colon = name.find(':');
  StrategyChoice choice;
  SBP_ASSIGN_OR_RETURN(choice.row, FindStrategy(name.substr(0, colon)));
  for (const StrategyOption& option : choice.row->options) {
    if (!option.required) continue;
    return UsageError(
        StrCat("compare cannot run ", Quote(choice.row->name), ", which needs an ", option.name, "; infer can"));
  }
  if (colon == std::string::npos) return choice;
  choice.criterion = name.substr(colon + 1);
  if (OptionOfKind(*choice.row, OptionKind::kCriterion) == nullptr) {
    const std::string_view with = (*ChooseStrategy("", choice.criterion))->name;
    return UsageError(StrCat(Quote(name), ": only ", with, " has criteria to choose from, as in ", with, ":",
                             StrategyOptions().criterion));
  }
  SBP_RETURN_IF_ERROR(FindCriterion(choice.criterion).status());
  return choice;
}

void ShareBound(std::span<const std::unique_ptr<Plan>> plans) {
  const auto found = std::ranges::find_if(plans, [](const auto& plan) { return plan->has_bound; });
  if (found == plans.end()) return;
  for (const auto& plan : plans) {
    if (plan->has_bound) continue;
    plan->has_bound = true;
    plan->lower_bound_seconds = (*found)->lower_bound_seconds;
    // Of ops in another order schedules have another bound.
    if (!(*found)->options.reorders) plan->schedule_bound_seconds = (*found)->schedule_bound_seconds;
  }
}

// A line for each strategy on the mesh of `flags`; `on` stands behind its name.
Status CompareOn(const PlanningFlags& flags, const std::vector<std::pair<std::string, StrategyChoice>>& choices,
                 const RuleSet& rules, const std::string& on, std::vector<std::unique_ptr<Plan>>& plans,
                 std::vector<ComparedPlan>& rows) {
  Timings timings;
  SBP_ASSIGN_OR_RETURN(const PlanRequest request, PreparePlan(flags, rules, timings));
  // Of one problem all plans have the same bound: a search among the strategies finds it for all.
  const bool bounded = std::ranges::any_of(choices, [](const auto& choice) { return choice.second.row->has_bound; });
  const size_t first = plans.size();
  for (const auto& [name, choice] : choices) {
    PlanRequest one = request;
    one.options.strategy = choice.row->name;
    std::erase_if(one.strategy.values,
                  [row = choice.row](const auto& value) { return OptionNamed(*row, value.first) == nullptr; });
    if (bounded) one.bound = false;
    if (!choice.criterion.empty()) one.options.criterion = one.strategy.criterion = choice.criterion;
    const auto start = std::chrono::steady_clock::now();
    auto plan = PlanObserved(std::move(one), flags, timings);
    // A strategy that finds no plan is a line of the table, not the end of it.
    if (!plan.ok() && plan.status().code() != Code::kNoPlan) return plan.status().WithContext(name);
    ComparedPlan row;
    row.name = name + on;
    row.mesh = ToString(request.mesh);
    row.planning_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (plan.ok()) {
      plans.push_back(std::make_unique<Plan>(std::move(plan).value()));
      row.plan = plans.back().get();
    } else {
      row.failure = plan.status().message();
    }
    rows.push_back(std::move(row));
  }
  if (!flags.no_bound) ShareBound(std::span(plans).subspan(first));
  return OkStatus();
}

// Each strategy's own options are for one that is compared, which reads them; the others do without.
Status PlaceOptions(const std::vector<std::pair<std::string, StrategyChoice>>& choices, PlanningFlags& flags) {
  for (const auto& [name, value] : flags.strategy_options) {
    const auto owner = std::ranges::find_if(
        choices, [&own = name](const auto& choice) { return OptionNamed(*choice.second.row, own) != nullptr; });
    if (owner == choices.end()) return RefuseOption(name, *choices.front().second.row);
    flags.strategy = owner->second.row->name;
  }
  return OkStatus();
}

Status Compare(CompareFlags flags) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.planning.model.rules));
  if (flags.planning.request.remat == "auto") {
    return UsageError("--remat auto: each strategy would compute other things again; name a policy, or use infer");
  }
  std::vector<std::pair<std::string, StrategyChoice>> choices;
  for (const std::string_view part : Split(flags.strategies, ',')) {  // before any work
    const std::string name(Trim(part));
    SBP_ASSIGN_OR_RETURN(StrategyChoice choice, ParseChoice(name));
    choices.emplace_back(name, std::move(choice));
  }
  SBP_RETURN_IF_ERROR(PlaceOptions(choices, flags.planning));
  SBP_ASSIGN_OR_RETURN(const std::vector<Mesh> meshes, ParseMeshes(flags.meshes));
  std::vector<std::unique_ptr<Plan>> kept;  // ComparedPlan points to them
  std::vector<ComparedPlan> rows;
  if (meshes.empty()) SBP_RETURN_IF_ERROR(CompareOn(flags.planning, choices, rules, "", kept, rows));
  for (const Mesh& mesh : meshes) {
    PlanningFlags one = flags.planning;
    one.mesh = ToString(mesh);
    SBP_RETURN_IF_ERROR(CompareOn(one, choices, rules, StrCat(" ", *one.mesh), kept, rows));
  }
  SBP_RETURN_IF_ERROR(Print(flags.output.json() ? ComparisonJson(rows) : FormatComparison(rows)));
  return kept.empty() ? NoPlan("no strategy found a plan") : OkStatus();
}

}  // namespace

Command SetupCompare(CLI::App& app) {
  auto flags = std::make_shared<CompareFlags>();
  AddPlanningFlags(app, flags->planning);
  app.add_option("--strategies", flags->strategies, "names separated by ','; greedy:NAME chooses greedy's criterion")
      ->type_name("LIST")
      ->capture_default_str();
  app.add_option("--meshes", flags->meshes,
                 "each strategy on each of these, in place of --mesh: 'data=8,model=8; 64', or the flag several times")
      ->type_name("MESH;...")
      ->allow_extra_args(false)
      ->excludes("--mesh");
  AddSearchFlags(app, flags->planning);
  AddTrainingFlags(app, flags->planning);
  AddFormatFlag(app, flags->output);
  return [flags] { return Compare(*flags); };
}

}  // namespace sbp

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
#include "plan/plan.h"
#include "report/report.h"
#include "rule/rule_set.h"
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
};

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
    plan->schedule_bound_seconds = (*found)->schedule_bound_seconds;
  }
}

Status Compare(const CompareFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.planning.model.rules));
  std::vector<std::string> names;
  for (const std::string_view name : Split(flags.strategies, ',')) names.emplace_back(Trim(name));
  std::vector<StrategyChoice> choices;
  for (const std::string& name : names) {  // before any work
    SBP_ASSIGN_OR_RETURN(choices.emplace_back(), ParseChoice(name));
  }
  Timings timings;
  SBP_ASSIGN_OR_RETURN(const PlanRequest request, PreparePlan(flags.planning, rules, timings));
  // Of one problem all plans have the same bound: a search among the strategies finds it for all.
  const bool bounded = std::ranges::any_of(choices, [](const StrategyChoice& choice) { return choice.row->has_bound; });
  std::vector<std::unique_ptr<Plan>> kept;  // ComparedPlan points to them
  std::vector<ComparedPlan> rows;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    PlanRequest one = request;
    one.options.strategy = choices[i].row->name;
    if (bounded) one.bound = false;
    if (!choices[i].criterion.empty()) one.options.criterion = one.strategy.criterion = choices[i].criterion;
    const auto start = std::chrono::steady_clock::now();
    auto plan = PlanObserved(std::move(one), flags.planning, timings);
    // A strategy that finds no plan is a line of the table, not the end of it.
    if (!plan.ok() && plan.status().code() != Code::kNoPlan) return plan.status().WithContext(name);
    ComparedPlan row;
    row.name = name;
    row.planning_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (plan.ok()) {
      kept.push_back(std::make_unique<Plan>(std::move(plan).value()));
      row.plan = kept.back().get();
    } else {
      row.failure = plan.status().message();
    }
    rows.push_back(std::move(row));
  }
  if (!flags.planning.no_bound) ShareBound(kept);
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
  AddFormatFlag(app, flags->output);
  return [flags] { return Compare(*flags); };
}

}  // namespace sbp

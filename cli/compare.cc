// compare: several strategies on one model, side by side.
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "report/report.h"

namespace sbp {
namespace {

struct CompareFlags {
  PlanningFlags planning;
  OutputFlags output;
  std::string strategies = "optimal,greedy,einsum,replicate";
};

// "einsum", "greedy:time".
Status CheckName(const std::string& name) {
  const size_t colon = name.find(':');
  const std::string strategy = name.substr(0, colon);
  SBP_RETURN_IF_ERROR(FindStrategy(strategy).status());
  if (strategy == "fixed") return UsageError("compare cannot run \"fixed\", which needs an assignment; infer can");
  if (colon != std::string::npos && strategy != "greedy") {
    return UsageError(StrCat(Quote(name), ": only greedy has criteria to choose from, as in greedy:bytes"));
  }
  return colon == std::string::npos ? OkStatus() : FindCriterion(name.substr(colon + 1)).status();
}

Status Compare(const CompareFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.planning.model.rules));
  std::vector<std::string> names;
  for (const std::string_view name : Split(flags.strategies, ',')) names.emplace_back(Trim(name));
  for (const std::string& name : names) SBP_RETURN_IF_ERROR(CheckName(name));  // before any work
  Timings timings;
  SBP_ASSIGN_OR_RETURN(const PlanRequest request, PreparePlan(flags.planning, rules, timings));
  std::vector<std::unique_ptr<Plan>> kept;  // ComparedPlan points to them
  std::vector<ComparedPlan> rows;
  for (const std::string& name : names) {
    PlanRequest one = request;
    const size_t colon = name.find(':');
    one.options.strategy = name.substr(0, colon);
    if (colon != std::string::npos) one.options.criterion = one.strategy.criterion = name.substr(colon + 1);
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

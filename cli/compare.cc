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
  std::string strategies = "greedy,einsum,replicate";
};

Status Compare(const CompareFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.planning.model.rules));
  std::vector<std::string> names;
  for (const std::string_view name : Split(flags.strategies, ',')) names.emplace_back(Trim(name));
  Timings timings;
  SBP_ASSIGN_OR_RETURN(const PlanRequest request, PreparePlan(flags.planning, rules, timings));
  std::vector<std::unique_ptr<Plan>> kept;  // ComparedPlan points to them
  std::vector<ComparedPlan> rows;
  for (const std::string& name : names) {
    PlanRequest one = request;
    const size_t colon = name.find(':');
    one.options.strategy = name.substr(0, colon);
    if (colon != std::string::npos) one.options.criterion = one.strategy.criterion = name.substr(colon + 1);
    SBP_RETURN_IF_ERROR(FindStrategy(one.options.strategy).status());
    SBP_RETURN_IF_ERROR(FindCriterion(one.options.criterion).status());
    const auto start = std::chrono::steady_clock::now();
    auto plan = MakePlan(std::move(one), MakeObserver(flags.planning, timings));
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
  return Print(flags.output.json() ? ComparisonJson(rows) : FormatComparison(rows));
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

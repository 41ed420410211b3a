// compare: several strategies on one model, side by side.
#include <memory>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "report/compare.h"

namespace sbp {
namespace {

struct Flags {
  PlanningFlags planning;
  OutputFlags output;
  std::string strategies = "greedy,einsum,replicate";
};

Status Compare(Flags flags) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.planning.model.rules));
  std::vector<std::string> names;
  for (const std::string_view name : Split(flags.strategies, ',')) names.emplace_back(Trim(name));
  Timings timings;
  SBP_ASSIGN_OR_RETURN(const PlanRequest request, PreparePlan(flags.planning, rules, timings));
  std::vector<ComparedPlan> plans;
  for (const std::string& name : names) {
    PlanRequest one = request;
    const size_t colon = name.find(':');
    one.options.strategy = name.substr(0, colon);
    if (colon != std::string::npos) one.options.criterion = one.strategy.criterion = name.substr(colon + 1);
    SBP_RETURN_IF_ERROR(FindStrategy(one.options.strategy).status());
    SBP_RETURN_IF_ERROR(FindCriterion(one.options.criterion).status());
    auto plan = MakePlan(std::move(one), MakeObserver(flags.planning, timings));
    // A strategy that finds no plan is a line of the table, not the end of it.
    if (!plan.ok() && plan.status().code() != Code::kNoPlan) return plan.status().WithContext(name);
    plans.push_back({name, plan.ok() ? std::optional<Plan>(std::move(plan).value()) : std::nullopt,
                     plan.ok() ? "" : plan.status().message()});
  }
  return Print(flags.output.json() ? CompareJson(plans) : FormatCompare(plans));
}

}  // namespace

Command SetupCompare(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  AddPlanningFlags(app, flags->planning);
  app.add_option("--strategies", flags->strategies, "names separated by ','; greedy:NAME chooses greedy's criterion")
      ->type_name("LIST")
      ->capture_default_str();
  AddFormatFlag(app, flags->output);
  return [flags] { return Compare(*flags); };
}

}  // namespace sbp

// export: the layout problem of a model in the form of the IOPDDL contest, for other solvers.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "io/file.h"
#include "search/iopddl.h"
#include "strategy/optimal/layout_network.h"
#include "strategy/optimal/network_size.h"

namespace sbp {
namespace {

struct ExportFlags {
  PlanningFlags planning;
  std::string to = "iopddl";
  std::string out;
};

Status Export(const ExportFlags& flags) {
  Timings timings;
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.planning.model.rules));
  SBP_ASSIGN_OR_RETURN(PlanRequest request, PreparePlan(flags.planning, rules, timings));
  request.options.strategy = "replicate";
  const std::optional<int64_t> memory_limit = std::exchange(request.options.memory_limit, std::nullopt);
  SBP_ASSIGN_OR_RETURN(const Plan plan, PlanObserved(std::move(request), flags.planning, timings));
  SBP_ASSIGN_OR_RETURN(const Problem problem, RebuildProblem(plan, rules));
  SBP_ASSIGN_OR_RETURN(const CandidateLists lists, CandidateLists::All(problem));
  if (!FitsNetwork(problem, lists, false)) {
    return BadInput("the problem has too many pairs of layouts to be written out; a mesh of fewer axes has less");
  }
  SBP_ASSIGN_OR_RETURN(const LayoutNetwork network, LayoutNetwork::Build(problem, {.memory_limit = memory_limit}));
  return WriteFile(flags.out, FormatIopddl(network.network()));
}

}  // namespace

Command SetupExport(CLI::App& app) {
  auto flags = std::make_shared<ExportFlags>();
  AddPlanningFlags(app, flags->planning);
  app.add_option("--to", flags->to, "the form to write")->check(CLI::IsMember({"iopddl"}))->capture_default_str();
  app.add_option("-o,--output", flags->out, "write the problem: .json; - is stdout")->type_name("PROBLEM")->required();
  return [flags] { return Export(*flags); };
}

}  // namespace sbp

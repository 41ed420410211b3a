#include "cli/mesh_flags.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/model.h"
#include "api/planning.h"
#include "api/remat.h"
#include "base/text.h"
#include "base/time_budget.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "graph/graph.h"
#include "meshes/choose.h"
#include "pipeline/pipeline.h"
#include "pipeline/request.h"
#include "plan/plan.h"
#include "remat/policy.h"
#include "remat/segments.h"
#include "report/report.h"
#include "sbp/shard_math.h"
#include "strategy/optimal/search_options.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

constexpr int kMostTop = 16;

Result<MeshChoice> Choose(const PlanningFlags& planning, const MeshFlags& flags, const MeshSearch& search,
                          const RuleSet& rules, bool explains, bool plans_pressed = true,
                          std::optional<double> known_seconds = std::nullopt) {
  SBP_ASSIGN_OR_RETURN(PlanningInput input, ReadPlanningInput(planning));
  MeshSearchOptions options;
  options.keep = flags.top;
  options.explains = explains;
  options.plans_pressed = plans_pressed;
  options.known_seconds = known_seconds;
  const auto threads = planning.strategy_options.find("threads");
  if (threads != planning.strategy_options.end())
    options.threads = static_cast<int>(std::get<int64_t>(threads->second));
  options.cancelled = InterruptAsker();
  options.progress = [tell = ProgressTeller()](std::string_view what) { tell(StrCat("planning: ", what)); };
  return PlanOnMeshes(std::move(input), search, rules, options, NoteChoice);
}

// Each mix of recomputation on the best mesh for it; what is kept of the best mix is all that its search found. Between
// policies of all layers (a mix has a number of layers in its name) only meshes are tried that are best for one of
// these, from its plans, unless the number of devices is open.
Result<MeshChoice> ChooseWithRemat(const PlanningFlags& planning, const MeshFlags& flags, const RuleSet& rules) {
  std::map<std::string, MeshChoice> chosen;
  const TimeBudget budget = TimeOf(planning);
  std::vector<std::shared_ptr<const Plan>> best;
  const PlanWithRemat plan = [&](const std::string& remat, std::optional<double> known) -> Result<std::optional<Plan>> {
    PlanningFlags own = planning;
    own.request.remat = remat;
    if (budget.is_limited()) own.strategy_options["time"] = budget.NextPiece();
    MeshSearch search = flags.search;
    if (remat.find(':') != std::string::npos && !search.fit) search.among = best;
    const bool is_first = remat == AllRematPolicies().front().name, is_last = remat == AllRematPolicies().back().name;
    if (search.fit || flags.top > 1) known.reset();  // of the same devices, and of all plans that are kept
    SBP_ASSIGN_OR_RETURN(MeshChoice found, Choose(own, flags, search, rules, is_last, !is_first, known));
    NoteChoice(StrCat("--remat ", remat, ": ", SumUpMeshes(found)));
    for (const Plan& kept : found.plans) best.push_back(std::make_shared<const Plan>(kept));
    if (found.plans.empty()) return std::optional<Plan>();
    std::optional<Plan> first = found.plans.front();
    chosen.insert_or_assign(remat, std::move(found));
    return first;
  };
  const auto graph_of = [&](const std::string& remat) -> Result<Graph> {
    PlanningFlags own = planning;
    own.request.remat = remat;
    own.mesh = "1";
    Timings load;
    SBP_ASSIGN_OR_RETURN(PlanRequest request, PreparePlan(own, rules, load));
    return std::move(request.graph);
  };
  SBP_ASSIGN_OR_RETURN(const Graph none, graph_of(""));
  const GraphWithRemat graph = [&](const std::string& remat) -> Result<std::string> {
    SBP_ASSIGN_OR_RETURN(const Graph made, graph_of(remat));
    return Dump(made);
  };
  const BoundWithRemat free_bound = [&](const std::string& remat) {
    const auto found = chosen.find(remat);  // absent: it makes the same graph as an earlier one
    return found == chosen.end() ? 0 : found->second.free_bound_seconds;
  };
  const auto layers = static_cast<int64_t>(FindLayers(none).all.size());
  SBP_ASSIGN_OR_RETURN(const RematChoice choice,
                       ChooseRemat(layers, plan, graph, free_bound, [&] { return budget.IsSpent(); }));
  Note(ToString(choice));
  return std::move(chosen.at(choice.remat));
}

}  // namespace

void AddMeshFlags(CLI::App& app, MeshFlags& flags) {
  app.add_option("--devices", flags.search.devices, "choose the mesh, too, of so many devices (in place of --mesh)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, kMostDevices))
      ->excludes("--mesh")
      ->group("Mesh");
  CLI::Option* fit =
      app.add_flag("--fit", flags.search.fit,
                   "of the smallest number of devices, up to --devices or the cluster's, on which a plan "
                   "keeps to --memory-limit and --target-step")
          ->excludes("--mesh")
          ->group("Mesh");
  app.add_option("--axes", flags.search.axes,
                 StrCat("names of its axes, outermost first: as many as it has at most [", kDefaultAxes, "]"))
      ->type_name("NAME,...")
      ->group("Mesh");
  app.add_option("--top", flags.top, "keep the N best meshes' plans: -o plan.json also writes plan.2.json, ...")
      ->type_name("N")
      ->check(CLI::Range(1, kMostTop))
      ->capture_default_str()
      ->group("Mesh");
  app.add_option_function<std::string>(
         "--target-step", [&flags](const std::string& text) { flags.search.target_step = ParseSeconds(text); },
         "of --fit: what a step may take, such as 0.8s, 800ms")
      ->type_name("SECONDS")
      ->check([](const std::string& text) {
        const std::optional<double> seconds = ParseSeconds(text);
        return seconds && *seconds > 0 && std::isfinite(*seconds)
                   ? ""
                   : StrCat(Quote(text), ": expected seconds above 0, such as 0.8s, 800ms");
      })
      ->needs(fit)
      ->group("Mesh");
}

Result<MeshChoice> PlanChoosingMesh(const PlanningFlags& planning, const MeshFlags& flags, const RuleSet& rules,
                                    Timings& timings) {
  if (!planning.dump_dir.empty()) return UsageError("--dump-dir is of one mesh; --mesh says which");
  if (planning.strategy_options.contains("log")) return UsageError("--log is of one mesh; --mesh says which");
  if (flags.search.fit && planning.memory_limit.empty() && !flags.search.target_step) {
    return UsageError("--fit wants to know what must be kept to: --memory-limit, --target-step");
  }
  const auto start = std::chrono::steady_clock::now();
  const InterruptScope interruptible;
  Result<MeshChoice> chosen = ChoosesRemat(planning) ? ChooseWithRemat(planning, flags, rules)
                                                     : Choose(planning, flags, flags.search, rules, true);
  timings["plan"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return chosen;
}

Status CheckMeshFlags(const MeshFlags& flags) {
  const auto alone = [](std::string_view flag) {
    return UsageError(StrCat(flag, " is for a mesh that is chosen: --devices or --fit"));
  };
  if (flags.chooses()) return OkStatus();
  if (!flags.search.axes.empty()) return alone("--axes");
  return flags.top > 1 ? alone("--top") : OkStatus();
}

std::string PathOfPlan(const std::string& out, size_t number) {
  const std::filesystem::path path(out);
  std::filesystem::path name = path.stem();
  name += StrCat(".", number);
  name += path.extension();
  return (path.parent_path() / name).string();
}

}  // namespace sbp

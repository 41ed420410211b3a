// render: a plan or a model as a picture or a table.
#include "render/render.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/model.h"
#include "api/page.h"
#include "api/plan_file.h"
#include "base/cancelled.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/caller.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/plan_pages.h"
#include "cli/planning.h"
#include "cli/progress.h"
#include "fold/resolve.h"
#include "io/documents.h"
#include "io/file.h"
#include "physical/physical.h"
#include "pipeline/pipeline.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

struct RenderFlags {
  ModelFlags model;
  std::string out;
  std::string format;
  std::string trace;
  RenderOptions options;
  bool max_nodes_given = false;
  OutputFlags output;
};

Result<Plan> LoadPlanOrModel(const RenderFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(flags.model.model));
  const auto info = Recognise(bytes, flags.model.model);
  if (info.ok() && info->kind == DocumentKind::kPlan) return ReadPlan(bytes, flags.model.model);
  if (info.ok() && info->kind == DocumentKind::kCluster) {
    return BadInput(StrCat(flags.model.model, " is a cluster; expected a plan or a model"));
  }
  SBP_ASSIGN_OR_RETURN(Graph graph, LoadModel(bytes, flags.model.model, flags.model.model));
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.model.rules));
  SBP_ASSIGN_OR_RETURN(Resolved resolved, ResolveModel(std::move(graph), rules, flags.model));
  Plan plan;  // a bare graph: no mesh, no decisions
  plan.model_path = flags.model.model;
  plan.graph = std::move(resolved.graph);
  plan.warnings = std::move(resolved.warnings);
  return plan;
}

constexpr std::string_view kPage = "html";

// A page shows every view, opens what its reader clicks, and spells layouts in one way.
Status RefusePictureFlags(const RenderFlags& flags) {
  constexpr std::string_view kOther = " is for pictures and tables; a page (-o FILE.html) ";
  if (!flags.options.expand.empty()) return UsageError(StrCat("--expand", kOther, "opens scopes by clicks"));
  if (!flags.options.view.empty()) {
    return UsageError(
        StrCat(flags.max_nodes_given ? "--max-nodes" : "--view", kOther, "holds all views and folds itself"));
  }
  if (flags.output.layout_notation() != Notation::kSbp) {
    return UsageError(StrCat("--notation dims-mapping", kOther, "spells layouts as sbp"));
  }
  return OkStatus();
}

Status RenderPage(const RenderFlags& flags) {
  SBP_RETURN_IF_ERROR(RefusePictureFlags(flags));
  SBP_RETURN_IF_ERROR(CheckWritable(flags.out));
  SBP_ASSIGN_OR_RETURN(const Plan plan, LoadPlanOrModel(flags));
  std::optional<TraceFile> trace;
  if (!flags.trace.empty()) {
    if (plan.mesh.num_axes() == 0) return UsageError("--trace stands beside a plan, not beside a model");
    SBP_ASSIGN_OR_RETURN(std::string text, ReadFile(flags.trace));
    trace = TraceFile{flags.trace, std::move(text)};
  }
  SBP_ASSIGN_OR_RETURN(const std::string page, PageOf(plan, flags.model.model, trace ? &*trace : nullptr));
  return WriteFile(flags.out, page);
}

Status Render(RenderFlags flags) {
  flags.options.notation = flags.output.layout_notation();
  if (flags.format.empty() && flags.out == "-") flags.format = "txt";
  const std::string path = flags.format.empty() ? flags.out : "x." + flags.format;
  if (IsPagePath(path)) return RenderPage(flags);
  if (!flags.trace.empty()) return UsageError("--trace stands in a page alone; expected -o FILE.html");
  SBP_ASSIGN_OR_RETURN(const FormatRow* format, FormatForPath(path, {&kPage, 1}));
  SBP_RETURN_IF_ERROR(CheckWritable(flags.out));
  flags.options.cancelled = InterruptAsker();
  flags.options.hold_stderr = CurrentCaller() == nullptr;  // else the process is somebody else's
  SBP_ASSIGN_OR_RETURN(Plan plan, LoadPlanOrModel(flags));
  SBP_RETURN_IF_ERROR(RefuseCancelled(flags.options.cancelled));
  // Tasks are made on the fly where the plan file holds none.
  SBP_ASSIGN_OR_RETURN(const ViewRow* view, ViewFor(plan, flags.options));
  if (view->of_tasks && plan.mesh.num_axes() > 0) {
    SBP_ASSIGN_OR_RETURN(const RuleSet rules, RulesOfPlan(plan));
    SBP_RETURN_IF_ERROR(RefuseWrongPlan(plan, rules, flags.model.model));
  }
  if (view->of_tasks && !plan.physical && plan.mesh.num_axes() > 0) plan.physical = MakePhysicalPlan(plan);
  flags.options.step_seconds = StepOf(plan);
  SBP_RETURN_IF_ERROR(RefuseCancelled(flags.options.cancelled));
  TellProgress("drawing");
  SBP_ASSIGN_OR_RETURN(const std::string picture, format->render(plan, flags.options));
  return WriteFile(flags.out, picture);
}

}  // namespace

Command SetupRender(CLI::App& app) {
  auto flags = std::make_shared<RenderFlags>();
  std::vector<std::string> extensions;
  for (const FormatRow& row : AllFormats()) extensions.emplace_back(row.extension);
  extensions.emplace_back(kPage);
  app.add_option("plan", flags->model.model, "a plan, or a model; - is stdin")->required()->type_name("PLAN|MODEL");
  app.add_option("-o,--output", flags->out, StrCat("FILE.{", Join(extensions, ","), "}; - is stdout"))
      ->required()
      ->type_name("FILE");
  app.add_option("--as", flags->format, "format, where FILE does not say it; txt for -")
      ->check(CLI::IsMember(extensions));
  app.add_option("--expand", flags->options.expand, "open a scope (layers.*/mlp), or a repeated layer ('*' all)")
      ->type_name("SCOPE")
      ->allow_extra_args(false);
  std::vector<std::string> views, described;
  for (const ViewRow& row : AllViews()) {
    views.emplace_back(row.name);
    described.push_back(StrCat(row.name, " (", row.doc, ")"));
  }
  app.add_option("--view", flags->options.view,
                 StrCat("what to draw: ", Join(described, ", "), "; default: graph of up to ", kMostOpsOfGraphView,
                        " ops or with --expand or --max-nodes, overview of more"))
      ->check(CLI::IsMember(views));
  const CLI::Option* max_nodes = app.add_option("--max-nodes", flags->options.max_nodes,
                                                "of a graph: fold deeper scopes beyond this many nodes; a drawing has "
                                                "at most 1,000, and fewer where these take minutes to lay out")
                                     ->check(CLI::Range(1, 100000))
                                     ->capture_default_str();
  app.add_option("--trace", flags->trace, "for a page: what run --trace wrote, to stand beside the plan's times")
      ->type_name("T.json");
  app.add_option("--dim", flags->model.dims, "for a model: bind a symbolic dimension")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  app.add_option("--inputs", flags->model.inputs, "for a model: take dimensions from real inputs")->type_name("X.npz");
  app.add_option("--rules", flags->model.rules, "for a model: sharding rules of your own")
      ->type_name("FILE")
      ->allow_extra_args(false);
  AddNotationFlag(app, flags->output);
  return [flags, max_nodes] {
    flags->max_nodes_given = flags->options.view.empty() && max_nodes->count() > 0;
    if (flags->max_nodes_given) flags->options.view = "graph";
    return Render(*flags);
  };
}

}  // namespace sbp

// export: the layout problem of a model, or a plan, in a form that other programs read.
#include "api/export.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/model.h"
#include "api/plan_file.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/planning.h"
#include "export/exporter.h"
#include "io/documents.h"
#include "io/file.h"
#include "pipeline/pipeline.h"
#include "pipeline/request.h"
#include "plan/plan.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

struct ExportFlags {
  PlanningFlags planning;
  std::string to{AllExports().front().name};
  std::string out;
  std::optional<std::string> against;
  bool lossy = false;
  bool annotate = false, exact = false;
};

// A plan that holds what `check` asks of it.
Result<Plan> Trusted(Result<Plan> plan, const std::string& path) {
  SBP_RETURN_IF_ERROR(plan.status());
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, RulesOfPlan(*plan));
  SBP_RETURN_IF_ERROR(RefuseWrongPlan(*plan, rules, path));
  return plan;
}

Result<Plan> ReadOrMakePlan(const PlanningFlags& flags) {
  const std::string& path = flags.model.model;
  SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  const auto info = Recognise(bytes, path);  // no error yet: StableHLO is none of these
  if (info.ok() && info->kind == DocumentKind::kPlan) {
    if (flags.mesh) return UsageError(StrCat("--mesh: ", path, " is a plan, which has its own"));
    return Trusted(ReadPlan(bytes, path), path);
  }
  Timings timings;
  SBP_ASSIGN_OR_RETURN(LoadedModel model, LoadModelBytes(bytes, path));
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.model.rules));
  SBP_ASSIGN_OR_RETURN(PlanRequest request,
                       PreparePlan(flags, rules, timings, std::make_shared<LoadedModel>(std::move(model))));
  return PlanObserved(std::move(request), flags, timings);
}

std::vector<std::string_view> NamesOfComparing() {
  std::vector<std::string_view> names;
  for (const ExporterRow& row : AllExports()) {
    if (row.compares) names.push_back(row.name);
  }
  return names;
}

Status ExportPlan(const ExporterRow& exporter, const ExportFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const Plan plan, ReadOrMakePlan(flags.planning));
  Plan against;
  if (flags.against) {
    SBP_ASSIGN_OR_RETURN(against, Trusted(ReadPlanFile(*flags.against), *flags.against));
  }
  const Result<PlanExport> made = exporter.write_plan(
      plan, {.lossy = flags.lossy, .exact = flags.exact, .against = flags.against ? &against : nullptr});
  if (!made.ok()) return made.status().WithContext(flags.planning.model.model);
  SBP_RETURN_IF_ERROR(WriteExport(*made, flags.out));
  for (const std::string& line : made->report) NoteChoice(line);
  return OkStatus();
}

Status Export(const ExportFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const ExporterRow* exporter, FindExporter(flags.to));
  if (flags.against && !exporter->compares) {
    return UsageError(
        StrCat("--against: ", exporter->name, " shows one plan; two are shown by ", Join(NamesOfComparing(), ", ")));
  }
  if ((flags.exact || flags.annotate) && !exporter->can_be_exact) {
    return UsageError(
        StrCat(flags.exact ? "--exact: " : "--annotate: ", exporter->name, " is of one kind; jax has both"));
  }
  if (exporter->write_plan != nullptr) return ExportPlan(*exporter, flags);
  if (flags.lossy) return UsageError(StrCat("--lossy: ", exporter->name, " is written from a problem, all of it"));
  Timings timings;
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.planning.model.rules));
  SBP_ASSIGN_OR_RETURN(PlanRequest request, PreparePlan(flags.planning, rules, timings));
  SBP_ASSIGN_OR_RETURN(const std::unique_ptr<PosedProblem> posed,
                       PoseObserved(std::move(request), flags.planning, timings));
  const ExportOptions options{.memory_limit = posed->plan.options.memory_limit};
  SBP_ASSIGN_OR_RETURN(const std::string content, exporter->write(posed->problem, options));
  return WriteFile(flags.out, content);
}

}  // namespace

Command SetupExport(CLI::App& app) {
  auto flags = std::make_shared<ExportFlags>();
  std::vector<std::string> names, described, extensions;
  for (const ExporterRow& row : AllExports()) {
    names.emplace_back(row.name);
    described.push_back(StrCat(row.name, " (", row.doc, ")"));
    extensions.push_back(row.extension.empty() ? "a folder" : StrCat(".", row.extension));
  }
  AddPlanningFlags(app, flags->planning);
  app.add_option("--to", flags->to, StrCat("the form to write: ", Join(described, ", ")))
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  app.add_option("-o,--output", flags->out, StrCat("write it: ", Join(extensions, ", "), "; - is stdout"))
      ->type_name("PATH")
      ->required();
  app.add_option("--against", flags->against,
                 StrCat("another plan, to be shown beside it (", Join(NamesOfComparing(), ", "), ")"))
      ->type_name("PLAN");
  app.add_flag("--lossy", flags->lossy,
               "write what the form cannot say as the nearest that it can (onnx: an op that takes partial\n"
               "values as whole), and report it");
  CLI::Option* annotate = app.add_flag("--annotate", flags->annotate,
                                       "jax: the model's text with shardings, its partitioner free [default]");
  app.add_flag("--exact", flags->exact, "jax: a program with the plan's own collectives")->excludes(annotate);
  return [flags] { return Export(*flags); };
}

}  // namespace sbp

// export: the layout problem of a model in a form that other programs read.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/model.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/export_onnx.h"
#include "cli/planning.h"
#include "export/exporter.h"
#include "io/file.h"
#include "pipeline/pipeline.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

struct ExportFlags {
  PlanningFlags planning;
  std::string to{AllExports().front().name};
  std::string out;
  bool lossy = false;  // of --to onnx
};

Status Export(const ExportFlags& flags) {
  if (flags.to == kOnnxForm) return ExportOnnx(flags.planning.model.model, flags.out, flags.lossy);
  SBP_ASSIGN_OR_RETURN(const ExporterRow* exporter, FindExporter(flags.to));
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
    extensions.push_back(StrCat(".", row.extension));
  }
  names.emplace_back(kOnnxForm);
  described.push_back(StrCat(kOnnxForm, " (of a plan, in the place of MODEL: its ONNX model with annotations)"));
  extensions.emplace_back(".onnx");
  AddPlanningFlags(app, flags->planning);
  app.add_option("--to", flags->to, StrCat("the form to write: ", Join(described, ", ")))
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  app.add_option("-o,--output", flags->out, StrCat("write the problem: ", Join(extensions, ", "), "; - is stdout"))
      ->type_name("PROBLEM")
      ->required();
  app.add_flag("--lossy", flags->lossy, "of --to onnx: reduce partial values that an op takes where they are made");
  return [flags] { return Export(*flags); };
}

}  // namespace sbp

// What a model's layout problem, or a plan, is written as for other programs, `export --to NAME`: one file and one row
// in all_exports.cc each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "plan/plan.h"
#include "problem/problem.h"

namespace sbp {

struct ExportOptions {
  std::optional<int64_t> memory_limit;  // bytes per device
  // Of plans: what the form cannot say is written as the nearest that it can, and reported. Else it is refused.
  bool lossy = false;
  bool exact = false;             // the plan's own collectives, not layouts alone; only where the row can
  const Plan* against = nullptr;  // another plan to show beside it, right as well; only where the row compares
};

struct ExportedFile {
  std::string name;  // of one level: where an exporter makes several, they lie in one folder
  std::string content;
};
struct PlanExport {
  std::vector<ExportedFile> files;  // at least one
  // For the user, a line each: what the form cannot say exactly, which collectives differ and why.
  std::vector<std::string> report;
};

// Writes from a problem or from a plan: exactly one of the two functions is there.
struct ExporterRow {
  std::string_view name;       // as in --to
  std::string_view doc;        // one line, in help
  std::string_view extension;  // of the file, "json"; "": several files in a folder
  bool compares = false;       // can it show two plans?
  bool can_be_exact = false;   // does it take ExportOptions::exact?
  // The file's content. Errors (kBadInput): what the format cannot say, or only in a file too large to be of use.
  Result<std::string> (*write)(const Problem& problem, const ExportOptions& options) = nullptr;
  // Errors likewise. The plan is right (api/plan_file.h).
  Result<PlanExport> (*write_plan)(const Plan& plan, const ExportOptions& options) = nullptr;
};
std::span<const ExporterRow> AllExports();  // all_exports.cc
// Error (kUsage): no row of that name, with the nearest.
Result<const ExporterRow*> FindExporter(std::string_view name);

// Rows.
ExporterRow AutoparallelExporter();
ExporterRow DtensorExporter();
ExporterRow GalvatronExporter();
ExporterRow HfTpPlanExporter();
ExporterRow IopddlExporter();
ExporterRow JaxExporter();
ExporterRow MegatronExporter();
ExporterRow ModelExplorerExporter();
ExporterRow OneflowExporter();
ExporterRow OnnxExporter();
ExporterRow PaddleExporter();
ExporterRow TorchtitanExporter();

}  // namespace sbp

// Exporters: how many candidates each op has, of the problem; the layouts of a plan, two files and a line of report.
#include "export/exporter.h"

#include "base/text.h"
#include "plan/plan.h"

namespace sbp {
namespace {

Result<std::string> Write(const Problem& problem, const ExportOptions&) {
  std::string text;
  for (size_t o = 0; o < problem.num_ops(); ++o) {
    text += StrCat(problem.graph->ops[o].name, " ", problem.candidates(OpId(o)).candidates.size(), "\n");
  }
  return text;
}

Result<PlanExport> WritePlanAsToy(const Plan& plan, const ExportOptions&) {
  std::string layouts;
  for (size_t o = 0; o < plan.graph.ops.size(); ++o) {
    layouts += StrCat(plan.graph.ops[o].name, " ", ToString(plan.decision(OpId(o)).signature), "\n");
  }
  return PlanExport{.files = {{"layouts.toy", layouts}, {"mesh.toy", StrCat(plan.mesh.num_devices(), "\n")}},
                    .report = {"toys have no collectives"}};
}

}  // namespace

ExporterRow ToyPlanExporter() {
  return {.name = "toy-plan", .doc = "layouts per op", .extension = "", .write_plan = WritePlanAsToy};
}

ExporterRow ToyExporter() { return {.name = "toy", .doc = "candidates per op", .extension = "toy", .write = Write}; }

}  // namespace sbp

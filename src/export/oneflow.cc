// oneflow: sbp of parameters and inputs, to_global of OneFlow 0.9; its splits are balanced like ours.
#include <string>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "export/exporter.h"
#include "export/starts.h"
#include "plan/plan.h"

namespace sbp {
namespace {

Result<PlanExport> WriteOneflow(const Plan& plan, const ExportOptions& options) {
  const StartWords words = {.framework = "OneFlow",
                            .uneven = true,
                            .whole = "flow.sbp.broadcast",
                            .split = "flow.sbp.split(",
                            .split_end = ")",
                            .open = "(",
                            .close = ")",
                            .one = ",)"};
  PlanExport made;
  SBP_ASSIGN_OR_RETURN(const std::string tables, StartTables(plan, words, options, made.report));
  const std::vector<std::string> whole(static_cast<size_t>(plan.mesh.num_axes()), "flow.sbp.broadcast");
  std::string text =
      "\"\"\"Where a plan's parameters and inputs start, for OneFlow: shard_model(model), shard_input(name, "
      "tensor).\n\n"
      "Made by sbp-plan.\n\"\"\"\n\nimport oneflow as flow\n\n";
  text += StrCat("PLACEMENT = flow.placement(\"cuda\", ranks=", RanksOfMesh(plan.mesh), ")\n", "WHOLE = (",
                 Join(whole, ", "), ",)\n", tables);
  made.files.push_back({"oneflow.py", StrCat(text, OneflowProgramText())});
  return made;
}

}  // namespace

ExporterRow OneflowExporter() {
  return {.name = "oneflow",
          .doc = "where parameters and inputs start, as a program for OneFlow",
          .extension = "py",
          .write_plan = WriteOneflow};
}

}  // namespace sbp

// paddle: placements of parameters and inputs, dist.shard_tensor of Paddle 3.
#include <string>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "export/exporter.h"
#include "export/starts.h"
#include "plan/plan.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

Result<PlanExport> WritePaddle(const Plan& plan, const ExportOptions& options) {
  const StartWords words = {.framework = "Paddle",
                            .whole = "dist.Replicate()",
                            .split = "dist.Shard(",
                            .split_end = ")",
                            .open = "[",
                            .close = "]",
                            .one = "]"};
  PlanExport made;
  SBP_ASSIGN_OR_RETURN(const std::string tables, StartTables(plan, words, options, made.report));
  std::vector<std::string> axes;
  for (const MeshAxis& axis : plan.mesh.axes) axes.push_back(StrCat("\"", axis.name, "\""));
  std::string text =
      "\"\"\"Where a plan's parameters and inputs start, for PaddlePaddle: shard_model(model), shard_input(name, "
      "tensor).\n\n"
      "Made by sbp-plan.\n\"\"\"\n\nimport paddle.distributed as dist\n\n";
  text += StrCat("MESH = dist.ProcessMesh(", RanksOfMesh(plan.mesh), ", dim_names=[", Join(axes, ", "), "])\n", tables);
  made.files.push_back({"paddle.py", StrCat(text, PaddleProgramText())});
  return made;
}

}  // namespace

ExporterRow PaddleExporter() {
  return {.name = "paddle",
          .doc = "where parameters and inputs start, as a program for PaddlePaddle",
          .extension = "py",
          .write_plan = WritePaddle};
}

}  // namespace sbp

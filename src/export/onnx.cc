// onnx: a copy of the plan's ONNX model, with the plan's layouts as multi-device annotations.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "annotation/specs_of_plan.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"
#include "export/exporter.h"
#include "graph/graph.h"
#include "io/file.h"
#include "onnx/annotate.h"
#include "onnx/annotations.h"
#include "onnx/reader.h"
#include "plan/plan.h"

namespace sbp {
namespace {

bool HasExternalData(const Graph& graph) {
  return std::ranges::any_of(graph.tensors, [](const Tensor& t) { return t.data && !t.data->location.empty(); });
}

Result<std::string> ReadModelOf(const Plan& plan) {
  if (plan.model_path.empty() || plan.model_path == "-")
    return BadInput("the plan is of no model file, which its annotations could be written into");
  SBP_ASSIGN_OR_RETURN(std::string model, ReadFile(plan.model_path));
  if (!LooksLikeOnnx(model)) {
    return BadInput(StrCat(plan.model_path, ", the plan's model, is no ONNX file, which annotations are for"));
  }
  if (Fingerprint(model) != plan.model_fingerprint)
    return BadInput(StrCat(plan.model_path, " has changed since the plan was made of it"));
  return model;
}

Result<PlanExport> WriteAnnotated(const Plan& plan, const ExportOptions& options) {
  SBP_ASSIGN_OR_RETURN(const std::string model, ReadModelOf(plan));
  SBP_ASSIGN_OR_RETURN(const ShardingAnnotations before, ReadShardingAnnotations(model, plan.model_path));
  if (before.nested > 0) {
    return BadInput(StrCat(plan.model_path, " has ", before.nested,
                           " annotations inside subgraphs or functions, whose configuration would be replaced"));
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<NodeAnnotation> nodes, ReadNodes(model, plan.model_path));
  SBP_ASSIGN_OR_RETURN(PlanSpecs specs, SpecsOf(plan, nodes, options.lossy));
  SBP_ASSIGN_OR_RETURN(std::string annotated, Annotate(model, specs.configuration, specs.additions));
  PlanExport made;
  made.files.push_back({"model.onnx", std::move(annotated)});
  made.report = std::move(specs.notes);
  if (HasExternalData(plan.graph)) {
    made.report.push_back(
        StrCat("the weights stay in files beside ", plan.model_path, ", where the new file must lie, too"));
  }
  return made;
}

}  // namespace

ExporterRow OnnxExporter() {
  return {.name = "onnx",
          .doc = "the plan's ONNX model with multi-device annotations",
          .extension = "onnx",
          .write_plan = WriteAnnotated};
}

}  // namespace sbp

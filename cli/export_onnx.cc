#include "cli/export_onnx.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "annotation/specs_of_plan.h"
#include "api/plan_file.h"
#include "base/hash.h"
#include "base/text.h"
#include "cli/output.h"
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

}  // namespace

Status ExportOnnx(const std::string& plan_path, const std::string& out, bool lossy) {
  SBP_ASSIGN_OR_RETURN(const Plan plan, ReadPlanFile(plan_path));
  if (plan.model_path.empty() || plan.model_path == "-") {
    return BadInput(StrCat(plan_path, " is of no model file, which its annotations could be written into"));
  }
  SBP_ASSIGN_OR_RETURN(const std::string model, ReadFile(plan.model_path));
  if (!LooksLikeOnnx(model)) {
    return BadInput(StrCat(plan.model_path, ", the plan's model, is no ONNX file, which annotations are for"));
  }
  if (Fingerprint(model) != plan.model_fingerprint) {
    return BadInput(StrCat(plan.model_path, " has changed since ", plan_path, " was made of it"));
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<NodeAnnotation> nodes, ReadNodes(model, plan.model_path));
  Result<PlanSpecs> specs = SpecsOf(plan, nodes, lossy);
  if (!specs.ok()) return specs.status().WithContext(plan_path);
  SBP_ASSIGN_OR_RETURN(const std::string annotated, Annotate(model, specs->configuration, specs->additions));
  SBP_RETURN_IF_ERROR(WriteFile(out, annotated));
  for (const std::string& note : specs->notes) Note(StrCat("note: ", note));
  namespace fs = std::filesystem;
  if (HasExternalData(plan.graph) && fs::path(out).parent_path() != fs::path(plan.model_path).parent_path()) {
    Note(StrCat("note: the weights stay in files beside ", plan.model_path, ", where ", out, " must lie, too"));
  }
  return OkStatus();
}

}  // namespace sbp

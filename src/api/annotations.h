// Checks the multi-device annotations of ONNX models.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "api/planning.h"
#include "base/status.h"
#include "check/violation.h"
#include "pipeline/pipeline.h"
#include "pipeline/request.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "sbp/mesh.h"

namespace sbp {

// What one device configuration says of a model.
struct ConfigurationReport {
  std::string name;
  std::optional<Mesh> mesh;  // none: its specs have violations
  int64_t specs = 0;         // that are right
  std::optional<Plan> plan;  // with these layouts, what they leave open filled in: its transitions are the
                             // communication that they imply. None: something is wrong
};
struct AnnotationReport {
  std::vector<Violation> violations;
  std::vector<std::string> notes;
  std::vector<ConfigurationReport> configurations;
  int64_t nodes = 0, annotated = 0;  // of the main graph
};
using PlanMaker = std::function<Result<Plan>(PlanRequest request)>;
// Checks the annotations of `bytes`, which `input.model` was read from: names, axes, devices, counts; then whether
// layouts over a mesh (that of `input`, else one inferred) say the same; then whether the rule of each op has such
// layouts; and plans what is implied. Cluster, bindings and rules are the input's. Errors: no ONNX model, or one
// without annotations; of the model itself.
Result<AnnotationReport> CheckAnnotations(std::string_view bytes, const PlanningInput& input, const RuleSet& rules,
                                          const PlanMaker& make_plan, const NoteSink& note = nullptr);

}  // namespace sbp

// Who the plan is of, and its totals.
#include <string>
#include <utility>

#include "cluster/cluster.h"
#include "page/sections.h"
#include "pipeline/pipeline.h"
#include "plan/plan.h"
#include "render/facts.h"
#include "report/report.h"
#include "sbp/mesh.h"
#include "schedule/measure.h"

namespace sbp {

Json HeadSection(const PageFacts& facts) {
  const Plan& plan = facts.plan;
  Json head = {{"name", plan.graph.name.empty() ? plan.model_path : plan.graph.name},
               {"title", TitleOf(plan).front()},
               {"file", facts.options.file},
               {"model", plan.model_path},
               {"version", plan.version.empty() ? std::string(Version()) : plan.version},
               {"bare", facts.bare},
               {"warnings", plan.warnings},
               {"mesh", nullptr},
               {"cluster", nullptr},
               {"summary", nullptr}};
  if (facts.bare) return head;
  Json axes = Json::array();
  for (const MeshAxis& axis : plan.mesh.axes) axes.push_back({axis.name, axis.size});
  head["mesh"] = {{"axes", std::move(axes)}, {"ranks", plan.mesh.ranks}};
  head["cluster"] = {{"name", plan.cluster.name},
                     {"device", plan.cluster.device.name},
                     {"memory_bytes", plan.cluster.device.memory_bytes.value},
                     {"devices_per_node", plan.cluster.devices_per_node},
                     {"execution", ExecutionName(plan.cluster.execution)}};
  head["strategy"] = plan.options.strategy;
  head["measure"] = kStepMeasureNames[static_cast<size_t>(MeasureOf(plan))];
  head["micro_batches"] = plan.graph.micro_batches;
  head["summary"] = Json::parse(SummaryJson(plan, {}));
  head["totals"] = TotalRows(plan);
  head["gap"] = GapText(plan);
  Json& replicated = head["replicated"] = Json::array();
  for (const ReplicatedTensor& one : plan.replicated) replicated.push_back({one.tensor.value, one.reason});
  return head;
}

}  // namespace sbp

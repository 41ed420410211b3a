#include "calibrate/samples.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "boxing/boxing.h"
#include "boxing/op_seconds.h"
#include "calibrate/cases.h"
#include "check/legality.h"
#include "cluster/collective_kind.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/op_query.h"
#include "runtime/actors/step_times.h"

namespace sbp {

Status Samples::AddOp(const Plan& plan, const RuleSet& rules, const TaskReport& task) {
  const Op& op = plan.graph.op(task.op);
  if (op.name.starts_with(kFirstOp)) return OkStatus();
  SBP_ASSIGN_OR_RETURN(const RuleInstanceRef instance, rules.Instantiate(QueryFor(plan.graph, rules, op)));
  const LegalityAnswer answer = CheckSignature(*instance, plan.decision(task.op).signature, plan.mesh, false);
  if (!answer.legal) return Defect(StrCat("op ", Quote(op.name), ": ", answer.expected));
  const Work work = WorkOf(*instance, answer.as_candidate, plan.mesh);
  if (work.flops <= 0 && work.bytes <= 0) return OkStatus();  // priced as nothing, whatever is measured
  const OpKey key{instance->op, work.dtype, work.flops, work.bytes};
  if (const double halo = answer.as_candidate.halo_bytes; halo > 0) {
    halos_[{WidestGroup(plan.cluster, plan.mesh), halo, key}].push_back(task.mean_seconds);
    return OkStatus();
  }
  OpTimes& times = ops_[key];
  times.seconds.push_back(task.mean_seconds);  // a step is a sum of many
  times.workspace_bytes = std::max(times.workspace_bytes, static_cast<double>(task.workspace_bytes));
  return OkStatus();
}

Status Samples::Add(const Plan& plan, const RuleSet& rules, const RunReport& report, bool of_model) {
  for (const TaskReport& task : report.tasks) {
    if (task.measured_seconds <= 0) continue;
    if (task.op.valid()) {
      SBP_RETURN_IF_ERROR(AddOp(plan, rules, task));
      continue;
    }
    const BoxingStep& step = plan.transitions[task.transition].steps[task.step];
    if (plan.mesh.size(step.axis) < 2 || RowOf(step.kind).point_to_point) continue;
    const GroupShape group = AxisGroupShape(plan.cluster, plan.mesh, step.axis);
    const TensorType& type = plan.graph.tensor(plan.transitions[task.transition].tensor).type;
    const double run = RunBytes(type, step.from, step.to, plan.mesh, step.axis), measured = MeasuredRun(run);
    // Beyond the longest, runs cost what the longest do.
    const bool alone = of_model && run != measured && run < *std::rbegin(kMeasuredRuns);
    collectives_[{step.kind, group.nodes, group.ranks_per_node, alone, alone ? run : measured, step.tensor_bytes}]
        .push_back(task.measured_seconds);
  }
  return OkStatus();
}

std::vector<OpSample> Samples::Ops(const std::string& source) const {
  std::vector<OpSample> samples;
  for (const auto& [key, times] : ops_) {
    const auto& [op, dtype, flops, bytes] = key;
    samples.push_back({op, dtype, flops, bytes, Summarise(times.seconds).mean, source, times.workspace_bytes});
  }
  return samples;
}

void Samples::AddHalos(const std::string& source, std::vector<CollectiveSample>& samples) const {
  std::map<std::pair<GroupShape, double>, std::vector<double>> by_bytes;
  for (const auto& [key, seconds] : halos_) {
    const auto& [group, bytes, op] = key;
    const auto alone = ops_.find(op);
    if (alone == ops_.end()) continue;
    const double more = Summarise(seconds).median - Summarise(alone->second.seconds).median;
    if (more > 0) by_bytes[{group, bytes}].push_back(more);  // else the noise is larger than what it costs
  }
  for (const auto& [key, seconds] : by_bytes) {
    const auto& [group, bytes] = key;
    samples.push_back(
        {CollectiveKind::kSendRecv, group.nodes, group.ranks_per_node, bytes, Summarise(seconds).median, source});
  }
}

std::vector<CollectiveSample> Samples::Collectives(const std::string& source) const {
  std::vector<CollectiveSample> samples;
  for (const auto& [key, seconds] : collectives_) {
    const auto& [kind, nodes, ranks, alone, run, bytes] = key;
    samples.push_back({kind, nodes, ranks, bytes, Summarise(seconds).median, source, run, alone});
  }
  AddHalos(source, samples);  // the last kind
  return samples;
}

}  // namespace sbp

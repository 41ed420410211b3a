#include "physical/cut.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "boxing/boxing.h"
#include "boxing/search.h"
#include "cluster/cluster.h"
#include "cost/cost.h"
#include "graph/cut.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "memory/memory.h"
#include "physical/physical.h"
#include "plan/ends.h"
#include "plan/pins.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

// The first op that stays of this one and those behind it.
OpId FirstKept(const CutResult& cut, OpId op) {
  for (size_t o = op.valid() ? op.index() : cut.ops.size(); o < cut.ops.size(); ++o) {
    if (cut.ops[o].valid()) return cut.ops[o];
  }
  return OpId();
}

// Transitions with a reader that stays, and those that such ones start from. Later ones start from earlier ones.
std::vector<Transition> KeptTransitions(const Plan& plan, const CutResult& cut) {
  std::vector<Transition> kept;                             // backwards
  std::unordered_map<TensorId, std::vector<NdSbp>> starts;  // of those
  for (size_t i = plan.transitions.size(); i-- > 0;) {
    const Transition& old = plan.transitions[i];
    if (!cut.tensors[old.tensor.index()].valid()) continue;
    Transition transition = old;
    transition.tensor = cut.tensors[old.tensor.index()];
    transition.consumers.clear();
    transition.cut_seconds = 0;
    transition.ahead_of = FirstKept(cut, old.ahead_of);
    for (const Use& use : old.consumers) {
      if (cut.ops[use.op.index()].valid()) transition.consumers.push_back({cut.ops[use.op.index()], use.operand});
    }
    std::vector<NdSbp>& froms = starts[transition.tensor];
    const bool leads_on = std::find(froms.begin(), froms.end(), transition.to) != froms.end();
    if (!leads_on && transition.consumers.empty()) continue;
    froms.push_back(transition.from);
    kept.push_back(std::move(transition));
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

// As the part's own execution pays for them: local moves wait in no queue.
void PriceSteps(Plan& part) {
  for (Transition& transition : part.transitions) {
    const TensorType& type = part.graph.tensor(transition.tensor).type;
    transition.seconds = 0;
    for (BoxingStep& step : transition.steps) {
      step.seconds = CollectiveTime(part.cluster, step.kind, part.mesh.size(step.axis),
                                    AxisGroupShape(part.cluster, part.mesh, step.axis), step.tensor_bytes,
                                    RunBytes(type, step.from, step.to, part.mesh, step.axis));
      transition.seconds += step.seconds;
    }
  }
}

}  // namespace

Plan CutPlan(const Plan& plan, TensorId until) {
  CutResult cut = CutGraph(plan.graph, until);
  Plan part = plan;
  part.graph = std::move(cut.graph);
  part.options.pins.clear();
  part.options.ties.clear();
  part.options.ties_by_name = false;
  part.options.outputs = OutputPolicy::kAny;
  part.output_layouts.clear();
  part.conflicts.clear();
  part.has_bound = false;
  part.lower_bound_seconds = 0;
  part.schedule_bound_seconds.reset();
  part.uniformity_cost.reset();

  const bool fused = plan.cluster.execution == Execution::kFused;
  part.cluster.execution = Execution::kEager;
  part.kernels = {};
  part.records.clear();
  part.op_records.clear();
  part.total = Cost();
  std::vector<int64_t> numbers(plan.records.size(), -1);
  for (size_t o = 0; o < cut.ops.size(); ++o) {
    if (!cut.ops[o].valid()) continue;
    int64_t& number = numbers[plan.op_records[o]];
    if (number < 0) {
      number = static_cast<int64_t>(part.records.size());
      DecisionRecord& record = part.records.emplace_back(plan.records[plan.op_records[o]]);
      if (fused) record.compute_seconds = std::exchange(record.alone_seconds, 0);
    }
    part.op_records.push_back(static_cast<uint32_t>(number));
    part.total.compute_seconds += part.records[number].compute_seconds;
  }
  part.source_layouts.clear();
  for (size_t t = 0; t < cut.tensors.size(); ++t) {
    if (cut.tensors[t].valid()) part.source_layouts.push_back(plan.source_layouts[t]);
  }
  part.transitions = KeptTransitions(plan, cut);
  if (fused) PriceSteps(part);
  part.output_layouts = OutputLayoutsOf(part);
  for (const Transition& transition : part.transitions) {
    part.total.collective_seconds += transition.seconds;
    part.total.bytes_moved += transition.wire_bytes;
  }
  part.in_place.clear();
  for (const InPlaceWrite& write : plan.in_place) {
    const OpId op = cut.ops[write.op.index()];
    if (!op.valid()) continue;
    const TensorId read = plan.graph.OperandsOf(plan.graph.op(write.op))[write.operand];
    if (plan.graph.tensor(read).role != TensorRole::kActivation) continue;  // without its tie a state must stay
    part.in_place.push_back({op, write.result, write.operand});
  }
  part.replicated.clear();
  for (const ReplicatedTensor& tensor : plan.replicated) {
    const TensorId id = cut.tensors[tensor.tensor.index()];
    if (id.valid()) part.replicated.push_back({id, tensor.reason});
  }
  const StepOrder order = OrderOfStep(part);
  part.memory = PeakMemory(part, order, Lifetimes(part, order));
  part.memory.workspace_bytes = plan.memory.workspace_bytes;  // at most
  part.memory.peak_bytes += part.memory.workspace_bytes;
  if (plan.physical) part.physical = MakePhysicalPlan(part, {.micro_batches = plan.physical->micro_batches});
  return part;
}

}  // namespace sbp

#include "render/node_text.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"
#include "plan/plan.h"
#include "render/facts.h"
#include "render/outline_tree.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr size_t kNameLimit = 34;
constexpr size_t kLineLimit = 46;

// "(S(0), B), (B, S(1)) → (S(0), S(1))", broken before the arrow when it is long, elided when it is endless.
std::vector<std::string> SignatureLines(const Plan& plan, uint32_t o, Notation notation) {
  const DecisionRecord* record = DecisionOf(plan, o);
  if (record == nullptr) return {};
  const Op& op = plan.graph.ops[o];
  const std::vector<TensorId> operands = plan.graph.OperandsOf(op);
  const auto list = [&](const std::vector<NdSbp>& layouts, const std::vector<TensorId>& tensors) {
    constexpr size_t kShown = 4;
    std::vector<std::string> parts;
    for (size_t i = 0; i < layouts.size() && i < tensors.size(); ++i) {
      if (!tensors[i].valid()) continue;
      if (parts.size() == kShown) {
        parts.push_back(StrCat(".. ", layouts.size() - i, " more"));
        break;
      }
      parts.push_back(FormatLayout(layouts[i], plan.graph.tensor(tensors[i]).type.rank(), notation));
    }
    return Join(parts, ", ");
  };
  const std::string inputs = list(record->signature.inputs, operands);
  const std::string outputs = "→ " + list(record->signature.outputs, op.outputs);
  if (inputs.empty()) return {outputs};
  if (inputs.size() + outputs.size() <= kLineLimit) return {StrCat(inputs, " ", outputs)};
  return {inputs, outputs};
}

}  // namespace

std::string MeshAxisName(const Plan& plan, int axis) {
  return axis >= 0 && axis < plan.mesh.num_axes() ? plan.mesh.axes[axis].name : StrCat("axis ", axis);
}

ViewNode OpNode(const Plan& plan, const StepCosts& costs, uint32_t o, Notation notation) {
  const Graph& graph = plan.graph;
  const Op& op = graph.ops[o];
  ViewNode node;
  node.kind = ViewNode::Kind::kOp;
  node.title = Shorten(graph.type_of(op), kNameLimit);
  node.sharing = SharingOf(plan, o);
  node.order = o;
  const DecisionRecord* record = DecisionOf(plan, o);
  const bool takes_time = record != nullptr && record->compute_seconds > 0;
  node.lines.push_back(StrCat(Shorten(NameTail(op.name), kNameLimit), takes_time ? " · " : "",
                              takes_time ? FormatRuns(costs.runs_of_op(o), record->compute_seconds) : ""));
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i].valid()) continue;
    std::string shape = GlobalToLocal(plan, op.outputs[i], LayoutIn(plan, o, i, true));
    if (op.outputs.size() > 1) shape += StrCat("  (1 of ", op.outputs.size(), ")");
    node.lines.push_back(shape);
    break;
  }
  for (std::string& line : SignatureLines(plan, o, notation)) node.lines.push_back(std::move(line));
  size_t weights = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].valid()) continue;
    const Tensor& tensor = graph.tensor(op.inputs[i]);
    if (tensor.role != TensorRole::kParameter || tensor.type.num_elements() <= 1 || ++weights > 2) continue;
    node.lines.push_back(StrCat("◦ ", Shorten(NameTail(tensor.name), 24), " ",
                                GlobalToLocal(plan, op.inputs[i], LayoutIn(plan, o, i, false))));
  }
  node.tooltip = op.name;
  if (record != nullptr) {
    node.tooltip += StrCat("\n", record->choice, "\n", record->reason, "\n",
                           FormatRuns(costs.runs_of_op(o), record->compute_seconds));
  }
  if (const KernelGroup* group = plan.kernels.of(OpId(o)); group != nullptr) {
    const auto number = static_cast<size_t>(group - plan.kernels.groups.data());
    node.lines.push_back(StrCat(GroupKindName(group->kind), " kernel ", number));
  }
  return node;
}

ViewNode SourceNode(const Plan& plan, TensorId id, Notation notation) {
  const Tensor& tensor = plan.graph.tensor(id);
  ViewNode node;
  node.kind = tensor.role == TensorRole::kInput ? ViewNode::Kind::kInput : ViewNode::Kind::kParameter;
  node.title = Shorten(tensor.name, kNameLimit);
  const NdSbp* layout = SourceLayout(plan, id);
  node.lines.push_back(StrCat(DTypeName(tensor.type.dtype), " ", GlobalToLocal(plan, id, layout)));
  if (layout != nullptr) node.lines.push_back(FormatLayout(*layout, tensor.type.rank(), notation));
  node.tooltip = tensor.name;
  return node;
}

ViewNode RestNode(ViewNode::Kind kind) {
  ViewNode node;
  node.kind = kind;
  node.title = kind == ViewNode::Kind::kInput ? "more inputs" : "more outputs";
  return node;
}

ViewNode OutputNode(const Plan& plan, TensorId id, const NdSbp* layout, Notation notation) {
  const Tensor& tensor = plan.graph.tensor(id);
  ViewNode node;
  node.kind = ViewNode::Kind::kOutput;
  node.title = Shorten(tensor.name, kNameLimit);
  node.lines.push_back(StrCat(DTypeName(tensor.type.dtype), " ", GlobalToLocal(plan, id, layout)));
  if (layout != nullptr) node.lines.push_back(FormatLayout(*layout, tensor.type.rank(), notation));
  node.tooltip = tensor.name;
  return node;
}

ViewNode StepNode(const Plan& plan, const Transition& transition, int64_t runs, size_t index, Notation notation) {
  const BoxingStep& step = transition.steps[index];
  const int rank = plan.graph.tensor(transition.tensor).type.rank();
  ViewNode node;
  node.kind = ViewNode::Kind::kCollective;
  node.collective = step.kind;
  node.title = StrCat(CollectiveKindName(step.kind), " over ", MeshAxisName(plan, step.axis));
  node.lines.push_back(StrCat(FormatLayout(step.from, rank, notation), " → ", FormatLayout(step.to, rank, notation)));
  if (!RowOf(step.kind).local) {
    const auto times = static_cast<double>(runs);
    node.lines.push_back(StrCat(FormatBytes(times * step.wire_bytes), " · ", FormatSeconds(times * step.seconds)));
  }
  node.tooltip = StrCat(plan.graph.tensor(transition.tensor).name, "\n", transition.reason);
  return node;
}

std::string CountCollectives(const Plan& plan, const StepCosts& costs, const std::vector<uint32_t>& transitions) {
  std::map<CollectiveKind, std::pair<int64_t, double>> kinds;
  for (uint32_t t : transitions) {
    const int64_t runs = costs.runs_of_transition(t);
    for (const BoxingStep& step : plan.transitions[t].steps) {
      if (RowOf(step.kind).local) continue;
      kinds[step.kind].first += runs;
      kinds[step.kind].second += static_cast<double>(runs) * step.wire_bytes;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [kind, sum] : kinds) {
    parts.push_back(StrCat(sum.first, " ", CollectiveKindName(kind), " (", FormatBytes(sum.second), ")"));
  }
  return Join(parts, ", ");
}

ViewNode SummaryNode(const Plan& plan, const StepCosts& costs, const OutlineNode& outline_node,
                     const std::string& label, int64_t copies, const std::vector<uint32_t>& ops,
                     const std::vector<uint32_t>& inner_transitions) {
  ViewNode node;
  node.kind = ViewNode::Kind::kSummary;
  node.title = Shorten(label, kNameLimit);
  if (copies > 1) node.title += StrCat("  × ", copies);
  node.lines.push_back(StrCat(ops.size(), " ops: ", CountTypes(plan, ops, 3)));
  double seconds = 0;
  bool some = false, all = true;
  for (uint32_t o : ops) {
    seconds += costs.OpSeconds(o);
    some = some || SharingOf(plan, o) != Sharing::kReplicated;
    all = all && SharingOf(plan, o) == Sharing::kAllAxes;
  }
  double collective_seconds = 0;
  for (uint32_t t : inner_transitions) {
    seconds += costs.CutSeconds(t);
    collective_seconds += costs.TransitionSeconds(t);
  }
  if (!IsBareGraph(plan)) {
    node.sharing = all ? Sharing::kAllAxes : some ? Sharing::kSomeAxes : Sharing::kReplicated;
    const std::string each = copies > 1 ? "each " : "";
    node.lines.push_back(
        StrCat(each, "compute ", FormatSeconds(seconds), ", collectives ", FormatSeconds(collective_seconds)));
    const std::string inside = CountCollectives(plan, costs, inner_transitions);
    if (!inside.empty()) node.lines.push_back(inside);
  }
  node.order = outline_node.first_op;
  node.tooltip = outline_node.path;
  return node;
}

}  // namespace sbp

#include "render/facts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "base/ids.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cost/cost.h"
#include "graph/graph.h"
#include "graph/sections.h"
#include "graph/tensor_type.h"
#include "plan/transition_runs.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"
#include "strategy/strategy.h"

namespace sbp {

StepCosts::StepCosts(const Plan& plan)
    : plan_(plan), runs_(plan.graph), transition_runs_(RunsOfTransitions(plan, runs_)) {}

double StepCosts::OpSeconds(uint32_t op) const {
  const DecisionRecord* record = DecisionOf(plan_, op);
  return record == nullptr ? 0 : static_cast<double>(runs_of_op(op)) * record->compute_seconds;
}

double StepCosts::TransitionSeconds(uint32_t transition) const {
  return static_cast<double>(runs_of_transition(transition)) * plan_.transitions[transition].seconds;
}

double StepCosts::CutSeconds(uint32_t transition) const {
  return static_cast<double>(runs_of_transition(transition)) * plan_.transitions[transition].cut_seconds;
}

OpId StepCosts::ForWhom(uint32_t t) const {
  const Transition& transition = plan_.transitions[t];
  if (!transition.tensor.valid() || transition.tensor.index() >= plan_.graph.tensors.size()) return OpId();
  const OpId op =
      transition.consumers.empty() ? plan_.graph.tensor(transition.tensor).producer : transition.consumers.front().op;
  return op.valid() && op.index() < plan_.graph.ops.size() ? op : OpId();
}

bool IsBareGraph(const Plan& plan) { return plan.records.empty(); }

const DecisionRecord* DecisionOf(const Plan& plan, uint32_t op) {
  if (op >= plan.op_records.size() || plan.op_records[op] >= plan.records.size()) return nullptr;
  return &plan.records[plan.op_records[op]];
}

const NdSbp* LayoutIn(const Plan& plan, uint32_t op, size_t position, bool output) {
  const DecisionRecord* record = DecisionOf(plan, op);
  if (record == nullptr) return nullptr;
  const std::vector<NdSbp>& layouts = output ? record->signature.outputs : record->signature.inputs;
  return position < layouts.size() ? &layouts[position] : nullptr;
}

const NdSbp* SourceLayout(const Plan& plan, TensorId tensor) {
  if (!tensor.valid() || tensor.index() >= plan.source_layouts.size()) return nullptr;
  const NdSbp& layout = plan.source_layouts[tensor.index()];
  return layout.size() == plan.mesh.num_axes() && !IsBareGraph(plan) ? &layout : nullptr;
}

TransitionIndex::TransitionIndex(const Plan& plan) {
  for (uint32_t t = 0; t < plan.transitions.size(); ++t) {
    by_tensor_[plan.transitions[t].tensor.value].push_back(t);
    for (const Use& use : plan.transitions[t].consumers) {
      by_use_.try_emplace((static_cast<uint64_t>(use.op.value) << 32) | use.operand, static_cast<int32_t>(t));
    }
  }
}

int32_t TransitionIndex::Feeding(uint32_t op, size_t operand) const {
  const auto it = by_use_.find((static_cast<uint64_t>(op) << 32) | operand);
  return it == by_use_.end() ? -1 : it->second;
}

std::span<const uint32_t> TransitionIndex::Of(TensorId tensor) const {
  const auto it = by_tensor_.find(tensor.value);
  return it == by_tensor_.end() ? std::span<const uint32_t>() : std::span<const uint32_t>(it->second);
}

Sharing SharingOf(const Plan& plan, uint32_t op) {
  const DecisionRecord* record = DecisionOf(plan, op);
  if (record == nullptr) return Sharing::kUnknown;
  int used = 0, axes = 0;
  for (int axis = 0; axis < plan.mesh.num_axes(); ++axis) {
    if (plan.mesh.size(axis) <= 1) continue;
    ++axes;
    const auto divided = [axis](const NdSbp& layout) { return axis < layout.size() && !layout[axis].is_broadcast(); };
    const Signature& s = record->signature;
    used += std::any_of(s.inputs.begin(), s.inputs.end(), divided) ||
            std::any_of(s.outputs.begin(), s.outputs.end(), divided);
  }
  return used == axes ? Sharing::kAllAxes : used > 0 ? Sharing::kSomeAxes : Sharing::kReplicated;
}

std::vector<uint64_t> HashOps(const Plan& plan) {
  const Graph& graph = plan.graph;
  std::vector<uint64_t> signature_hash;
  for (const DecisionRecord& record : plan.records) signature_hash.push_back(HashOf(record.signature));
  std::vector<uint64_t> transition_hash;
  for (const Transition& transition : plan.transitions) {
    uint64_t hash = HashCombine(HashOf(transition.from), HashOf(transition.to));
    for (const BoxingStep& step : transition.steps) hash = HashCombine(hash, static_cast<size_t>(step.kind));
    transition_hash.push_back(hash);
  }
  const TransitionIndex index(plan);
  std::unordered_map<const Attributes*, uint64_t> attribute_hash;  // sets are shared between ops
  std::vector<uint64_t> hashes;
  hashes.reserve(graph.ops.size());
  const auto type_hash = [&](TensorId t) { return t.valid() ? HashOf(graph.tensor(t).type) : 0; };
  for (uint32_t o = 0; o < graph.ops.size(); ++o) {
    const Op& op = graph.ops[o];
    const auto [attributes, fresh] = attribute_hash.try_emplace(op.attributes.get(), 0);
    if (fresh && op.attributes != nullptr) attributes->second = HashAttributes(*op.attributes);
    uint64_t hash = HashCombine(op.type, attributes->second);
    for (TensorId t : op.inputs) hash = HashCombine(hash, type_hash(t));
    for (TensorId t : op.outputs) hash = HashCombine(hash, type_hash(t));
    if (DecisionOf(plan, o) != nullptr) hash = HashCombine(hash, signature_hash[plan.op_records[o]]);
    for (size_t i = 0; i < op.inputs.size() && !plan.transitions.empty(); ++i) {
      const int32_t feeding = index.Feeding(o, i);
      if (feeding >= 0) hash = HashCombine(HashCombine(hash, i), transition_hash[feeding]);
    }
    hashes.push_back(hash);
  }
  return hashes;
}

std::vector<uint32_t> OpWeights(const Plan& plan) {
  std::vector<uint32_t> weights(plan.graph.ops.size(), 1);
  for (const Transition& transition : plan.transitions) {
    if (transition.consumers.empty() || transition.consumers[0].op.index() >= weights.size()) continue;
    weights[transition.consumers[0].op.index()] += static_cast<uint32_t>(std::min<size_t>(transition.steps.size(), 8));
  }
  return weights;
}

std::string FormatShape(const Shape& shape) {
  constexpr size_t kShown = 8;
  if (shape.size() <= kShown) return StrCat("[", Join(shape, ","), "]");
  return StrCat("[", Join(Shape(shape.begin(), shape.begin() + kShown), ","), ",..]");
}

std::string NameTail(std::string_view name) {
  const size_t slash = name.rfind('/');
  return std::string(slash == std::string_view::npos || slash + 1 == name.size() ? name : name.substr(slash + 1));
}

std::string Shorten(std::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  // Cut between characters, not within a UTF-8 sequence.
  const auto continuation = [&](size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  size_t head = limit / 3, tail = text.size() - (limit - limit / 3 - 2);
  while (head > 0 && continuation(head)) --head;
  while (tail < text.size() && continuation(tail)) ++tail;
  return StrCat(text.substr(0, head), "..", text.substr(tail));
}

std::string GlobalToLocal(const Plan& plan, TensorId tensor, const NdSbp* layout) {
  if (!tensor.valid() || tensor.index() >= plan.graph.tensors.size()) return "";
  const TensorType& type = plan.graph.tensor(tensor).type;
  const std::string global = FormatShape(type.shape);
  if (layout == nullptr || !ValidateLayout(type.shape, *layout, plan.mesh).ok()) return global;
  const std::string local = FormatShape(LocalShape(type.shape, *layout, plan.mesh));
  return local == global ? global : StrCat(global, " → ", local);
}

std::string CountTypes(const Plan& plan, std::span<const uint32_t> ops, size_t limit) {
  std::map<uint32_t, size_t> counts;
  for (uint32_t o : ops) ++counts[plan.graph.ops[o].type];
  std::vector<std::pair<size_t, uint32_t>> order;
  for (const auto& [type, count] : counts) order.emplace_back(count, type);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> parts;
  size_t others = 0;
  for (const auto& [count, type] : order) {
    if (parts.size() < limit) {
      parts.push_back(StrCat(count, " ", plan.graph.op_types[type]));
    } else {
      others += count;
    }
  }
  if (others > 0) parts.push_back(StrCat(others, " other"));
  return Join(parts, ", ");
}

std::string PlanHeadline(const Plan& plan) {
  if (IsBareGraph(plan)) return "not planned";
  std::string text = StrCat("mesh ", ToString(plan.mesh), " · ", plan.options.strategy);
  const std::string_view criterion = CriterionOf(plan.options.strategy, plan.options.criterion);
  if (!criterion.empty()) text += StrCat(" (", criterion, ")");
  if (!plan.cluster.name.empty()) text += StrCat(" · ", plan.cluster.name);
  return text;
}

std::string PlanCosts(const Plan& plan, std::optional<double> step) {
  if (IsBareGraph(plan)) return "";
  const Cost& total = plan.total;
  return StrCat(step ? StrCat("step ", FormatSeconds(*step), " · ") : "", "sum of prices ",
                FormatSeconds(total.seconds()), " = compute ", FormatSeconds(total.compute_seconds), " + boxing ",
                FormatSeconds(total.collective_seconds), " · moved ", FormatBytes(total.bytes_moved), " · peak ",
                FormatBytes(static_cast<double>(plan.memory.peak_bytes)), " per device");
}

std::vector<std::string> WarningsOf(const Plan& plan) {
  std::vector<std::string> warnings = plan.warnings;
  const auto named = [&](const ReplicatedTensor& r) {
    return r.tensor.valid() && r.tensor.index() < plan.graph.tensors.size();
  };
  const auto first = std::ranges::find_if(plan.replicated, named);
  if (first != plan.replicated.end()) {
    warnings.push_back(StrCat("replicated for lack of a legal split: ", plan.graph.tensor(first->tensor).name,
                              plan.replicated.size() > 1 ? StrCat(" and ", plan.replicated.size() - 1, " more") : ""));
  }
  return warnings;
}

std::string DoesNotFit(int64_t peak_bytes, int64_t device_bytes) {
  if (device_bytes <= 0 || peak_bytes <= device_bytes) return "";
  return StrCat("does not fit: ", FormatBytes(static_cast<double>(peak_bytes - device_bytes)),
                " more than a device has");
}

std::string FormatRuns(int64_t runs, double seconds) {
  return runs == 1 || seconds <= 0 ? FormatSeconds(seconds) : StrCat(runs, " × ", FormatSeconds(seconds));
}

std::vector<std::string> TitleOf(const Plan& plan, std::optional<double> step) {
  const std::string& path = plan.model_path;
  std::string name = plan.graph.name.empty() ? NameTail(path) : plan.graph.name;
  if (!path.empty() && name != NameTail(path)) name = StrCat(NameTail(path), " (", Shorten(name, 40), ")");
  std::vector<std::string> title = {name.empty() ? "graph" : name};
  title.push_back(StrCat(FormatCount(static_cast<int64_t>(plan.graph.ops.size())), " ops · ", PlanHeadline(plan)));
  if (!IsBareGraph(plan)) title.push_back(PlanCosts(plan, step));
  return title;
}

}  // namespace sbp

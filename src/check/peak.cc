// A parameter or input is held throughout, with what is written in its place; an activation from its producer to the
// last op or boxing step that reads it, or that graph/held.h names, outputs to the end; what a boxing step writes, from
// that step to its last reader: the next step, or all readers of the transition. Every op and every boxing step has a
// moment of its own. A transition runs right before the first op that reads it; one that no op reads, before the first
// transition that starts from it, or at the end of the step.
#include "check/peak.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/ids.h"
#include "base/text.h"
#include "check/transition_order.h"
#include "graph/graph.h"
#include "graph/held.h"
#include "graph/made_anew.h"
#include "graph/tensor_type.h"
#include "plan/ends.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

__extension__ using Wide = __int128;  // sums of many 63-bit sizes

struct Span {
  uint32_t first = Id<OpTag>::kNoneValue, last = 0;
  bool empty() const { return first > last; }
  void Cover(uint32_t position) {
    first = std::min(first, position);
    last = std::max(last, position);
  }
};

constexpr std::string_view kBoxingOf = "boxing of ";
constexpr size_t kMostHolders = 10;  // that a plan lists

enum Kind { kParameters, kActivations, kBoxing, kKinds };

class MemorySweep {
 public:
  explicit MemorySweep(const Plan& plan) : plan_(plan), graph_(plan.graph) {
    TransitionOrder order = OrderOfTransitions(plan);
    source_ = std::move(order.source);
    runs_before_ = std::move(order.runs_before);
    SetMoments();
    for (auto& change : changes_) change.assign(static_cast<size_t>(end_) + 2, 0);
  }

  MemorySummary Run() {
    std::vector<Span> tensors(graph_.tensors.size()), copies(plan_.transitions.size());
    ReadByOps(tensors, copies);
    ReadBySteps(tensors, copies);
    HoldForKernels(tensors, copies);
    std::vector<bool> takes_none(tensors.size(), false);
    std::vector<uint32_t> handed_on(tensors.size(), kNone), copy_handed_on(copies.size(), kNone);
    FindHandedOn(takes_none, handed_on, copy_handed_on);
    for (size_t t = 0; t < tensors.size(); ++t) {
      const Tensor& tensor = graph_.tensors[t];
      if (tensor.producer.valid()) tensors[t].Cover(op_moment_[tensor.producer.index()]);
      if (handed_on[t] != kNone) tensors[t].last = handed_on[t];
      if (tensor.role != TensorRole::kActivation) tensors[t] = {0, end_};
    }
    for (size_t i = 0; i < copies.size(); ++i) {
      const auto count = static_cast<uint32_t>(plan_.transitions[i].steps.size());
      if (count > 0) copies[i].Cover(step_moment_[i] + count - 1);
      if (copy_handed_on[i] != kNone) copies[i].last = copy_handed_on[i];
    }
    if (!plan_.kernels.empty()) LeaveOutOfMemory(tensors, copies, takes_none);
    for (size_t t = 0; t < tensors.size(); ++t) {
      if (!tensors[t].empty() && !takes_none[t])
        Hold(graph_.tensors[t].role == TensorRole::kParameter ? kParameters : kActivations, tensors[t],
             Bytes(TensorId(t), plan_.source_layouts[t]));
    }
    for (size_t i = 0; i < copies.size(); ++i) HoldSteps(static_cast<uint32_t>(i), copies[i]);
    MemorySummary peak = Peak();
    FindHolders(peak);
    return peak;
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  int64_t Bytes(TensorId id, const NdSbp& layout) const {
    const TensorType& type = graph_.tensor(id).type;
    if (!type.is_static()) return 0;
    int64_t elements = 1;
    for (int64_t size : LocalShape(type.shape, layout, plan_.mesh)) elements = SaturatingMul(elements, size);
    return BytesOf(type.dtype, elements);
  }

  void SetMoments() {
    std::vector<std::vector<uint32_t>> before(graph_.ops.size() + 1);
    for (uint32_t i = 0; i < runs_before_.size(); ++i) {
      before[std::min<size_t>(runs_before_[i], graph_.ops.size())].push_back(i);
    }
    step_moment_.resize(runs_before_.size());
    uint32_t now = 0;
    for (size_t o = 0; o <= graph_.ops.size(); ++o) {
      const OpId op = graph_.ops.empty() ? OpId() : OpId(std::min(o, graph_.ops.size() - 1));
      for (uint32_t i : before[o]) {
        step_moment_[i] = now;
        now += static_cast<uint32_t>(plan_.transitions[i].steps.size());
        op_at_.resize(now, op);
      }
      if (o == graph_.ops.size()) break;
      op_moment_.push_back(now++);
      op_at_.resize(now, op);
    }
    end_ = now == 0 ? 0 : now - 1;
  }

  void ReadByOps(std::vector<Span>& tensors, std::vector<Span>& copies) {
    for (uint32_t i = 0; i < plan_.transitions.size(); ++i) {
      for (const Use& use : plan_.transitions[i].consumers) boxed_.emplace(UseKey(use.op, use.operand), i);
    }
    for (uint32_t o = 0; o < graph_.ops.size(); ++o) {
      const std::vector<TensorId> operands = graph_.OperandsOf(graph_.ops[o]);
      for (size_t i = 0; i < operands.size(); ++i) {
        if (!operands[i].valid()) continue;
        const auto copy = boxed_.find(UseKey(OpId(o), i));
        (copy == boxed_.end() ? tensors[operands[i].index()] : copies[copy->second]).Cover(op_moment_[o]);
      }
    }
    for (const HeldResult& held : FindHeld(graph_)) tensors[held.tensor.index()].Cover(op_moment_[held.until.index()]);
  }

  // The first step of a transition reads its source. What the step leaves behind stays to the end.
  void ReadBySteps(std::vector<Span>& tensors, std::vector<Span>& copies) const {
    for (uint32_t i = 0; i < copies.size(); ++i) {
      Span& source = source_[i] == kNone ? tensors[plan_.transitions[i].tensor.index()] : copies[source_[i]];
      source.Cover(step_moment_[i]);
    }
    for (const TensorEnd& end : EndsOf(plan_)) {
      (end.transition < 0 ? tensors[end.tensor.index()] : copies[end.transition]).Cover(end_);
    }
  }

  // What is made later than where its op stands, by another kernel or a later part of its own, is made of what has to
  // be there then. Boxed, it is in memory.
  void HoldForKernels(std::vector<Span>& tensors, std::vector<Span>& copies) const {
    std::vector<bool> boxed(tensors.size(), false);
    for (const Transition& transition : plan_.transitions) {
      if (!transition.steps.empty()) boxed[transition.tensor.index()] = true;
    }
    const std::vector<OpId> until = MadeAnewUntil(graph_, plan_.kernels);
    for (uint32_t o = 0; o < until.size(); ++o) {
      const std::vector<TensorId>& made = graph_.ops[o].outputs;
      const bool is_boxed = std::ranges::any_of(made, [&](TensorId id) { return id.valid() && boxed[id.index()]; });
      if (until[o] == OpId(o) || is_boxed) continue;
      const std::vector<TensorId> operands = graph_.OperandsOf(graph_.ops[o]);
      for (size_t i = 0; i < operands.size(); ++i) {
        if (!operands[i].valid()) continue;
        const auto copy = boxed_.find(UseKey(OpId(o), i));
        (copy == boxed_.end() ? tensors[operands[i].index()] : copies[copy->second])
            .Cover(op_moment_[until[o].index()]);
      }
    }
  }

  // Written in place: the buffer is its own until the moment before (that of the last one, per tensor and per copy);
  // that of an input or parameter stays what it is, and the result takes none.
  void FindHandedOn(std::vector<bool>& takes_none, std::vector<uint32_t>& tensors,
                    std::vector<uint32_t>& copies) const {
    for (const InPlaceWrite& write : plan_.in_place) {
      const Op& op = graph_.op(write.op);
      const TensorId read = graph_.OperandsOf(op)[write.operand];
      const auto copy = boxed_.find(UseKey(write.op, write.operand));
      const uint32_t moment = op_moment_[write.op.index()], before = moment == 0 ? 0 : moment - 1;
      if (copy != boxed_.end()) {
        copies[copy->second] = before;
      } else if (graph_.tensor(read).role == TensorRole::kActivation) {
        tensors[read.index()] = before;
      } else {
        takes_none[op.outputs[write.result].index()] = true;
      }
    }
  }

  // Results that lie in their operand's memory, which is kept for them; tensors that never leave their kernel.
  void LeaveOutOfMemory(std::vector<Span>& tensors, std::vector<Span>& copies, std::vector<bool>& takes_none) const {
    for (uint32_t o = static_cast<uint32_t>(graph_.ops.size()); o-- > 0;) {
      const Op& op = graph_.ops[o];
      if (!plan_.kernels.runs_no_kernel(OpId(o)) || op.inputs.empty() || !op.inputs[0].valid()) continue;
      const auto copy = boxed_.find(UseKey(OpId(o), 0));
      Span& source = copy == boxed_.end() ? tensors[op.inputs[0].index()] : copies[copy->second];
      for (const TensorId result : op.outputs) {
        if (!result.valid()) continue;
        source.last = std::max(source.last, tensors[result.index()].last);
        takes_none[result.index()] = true;
      }
    }
    std::vector<bool> boxed(tensors.size(), false);  // or the memory of what is
    for (const Transition& transition : plan_.transitions) boxed[transition.tensor.index()] = true;
    for (uint32_t o = static_cast<uint32_t>(graph_.ops.size()); o-- > 0;) {
      const Op& op = graph_.ops[o];
      if (!plan_.kernels.runs_no_kernel(OpId(o)) || op.inputs.empty() || !op.inputs[0].valid()) continue;
      const bool holds = std::ranges::any_of(op.outputs, [&](TensorId t) { return t.valid() && boxed[t.index()]; });
      if (holds) boxed[op.inputs[0].index()] = true;
    }
    for (size_t t = 0; t < tensors.size(); ++t) {
      if (plan_.kernels.is_inside(TensorId(t)) && !boxed[t]) takes_none[t] = true;
    }
  }

  void HoldSteps(uint32_t number, Span copy) {
    const Transition& transition = plan_.transitions[number];
    const auto count = static_cast<uint32_t>(transition.steps.size());
    if (count == 0) return;
    const uint32_t first = step_moment_[number];
    for (uint32_t s = 0; s + 1 < count; ++s) {
      Hold(kBoxing, {first + s, first + s + 1}, Bytes(transition.tensor, transition.steps[s].to));
    }
    Hold(kBoxing, copy, Bytes(transition.tensor, transition.to));
  }

  void Hold(Kind kind, Span span, int64_t bytes) {
    changes_[kind][span.first] += bytes;
    changes_[kind][static_cast<size_t>(span.last) + 1] -= bytes;
    held_.push_back({span, bytes});
  }

  // The sizes of the largest buffers at the peak, in descending order.
  void FindHolders(MemorySummary& peak) const {
    for (const auto& [span, bytes] : held_) {
      if (bytes > 0 && span.first <= peak_moment_ && peak_moment_ <= span.last) peak.holders.push_back({"", "", bytes});
    }
    std::ranges::sort(peak.holders, std::greater<>(), &MemoryHolder::bytes);
    if (peak.holders.size() > kMostHolders) peak.holders.resize(kMostHolders);
  }

  static int64_t Narrow(Wide value) { return value > kInt64Max ? kInt64Max : static_cast<int64_t>(value); }

  MemorySummary Peak() {
    Wide now[kKinds] = {}, most = -1;
    MemorySummary summary;
    for (uint32_t position = 0; position <= end_; ++position) {
      Wide sum = 0;
      for (int k = 0; k < kKinds; ++k) sum += now[k] += changes_[k][position];
      if (sum <= most) continue;
      most = sum;
      peak_moment_ = position;
      summary.peak_bytes = Narrow(sum);
      summary.parameter_bytes = Narrow(now[kParameters]);
      summary.activation_bytes = Narrow(now[kActivations]);
      summary.boxing_bytes = Narrow(now[kBoxing]);
      summary.peak_op = op_at_.empty() ? OpId() : op_at_[position];
    }
    return summary;
  }

  const Plan& plan_;
  const Graph& graph_;
  uint32_t end_ = 0;                                          // the last moment
  std::vector<uint32_t> source_, runs_before_, step_moment_;  // per transition; step_moment_: of its first step
  std::vector<uint32_t> op_moment_;                           // per op
  std::unordered_map<uint64_t, uint32_t> boxed_;              // UseKey -> the transition that is read
  std::vector<OpId> op_at_;                                   // per moment: the op that runs or is prepared
  std::vector<Wide> changes_[kKinds];
  std::vector<std::pair<Span, int64_t>> held_;
  uint32_t peak_moment_ = 0;
};

}  // namespace

namespace {

// "w", or "boxing of h for act", where both names may hold " for ".
TensorId TensorOf(const NameIndex& names, const MemoryHolder& holder) {
  std::string_view text = holder.name;
  if (holder.kind != "boxing" || !text.starts_with(kBoxingOf)) return names.tensor(text);
  text.remove_prefix(kBoxingOf.size());
  constexpr std::string_view kFor = " for ";
  for (size_t at = text.find(kFor); at != std::string_view::npos; at = text.find(kFor, at + 1)) {
    if (const TensorId id = names.tensor(text.substr(0, at)); id.valid()) return id;
  }
  return TensorId();
}

void CheckHolders(const Plan& plan, const MemorySummary& derived, Findings& findings) {
  const std::vector<MemoryHolder>& given = plan.memory.holders;
  if (given.size() != derived.holders.size()) {
    findings.Add("memory", "number of largest holders", StrCat(derived.holders.size()), StrCat(given.size()));
    return;
  }
  const NameIndex names(plan.graph);
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string where = StrCat("memory, holder ", Quote(given[i].name));
    if (given[i].bytes != derived.holders[i].bytes) {
      findings.Add(where, "bytes", StrCat(derived.holders[i].bytes), StrCat(given[i].bytes));
    }
    const TensorId id = TensorOf(names, given[i]);
    if (!id.valid()) {
      findings.Add(where, "names no tensor", "a tensor, or \"boxing of TENSOR for OP\"", given[i].name);
      continue;
    }
    const TensorRole role = plan.graph.tensor(id).role;
    const std::string_view kind = given[i].name.starts_with(kBoxingOf) && given[i].kind == "boxing" ? "boxing"
                                  : role == TensorRole::kParameter                                  ? "parameter"
                                  : role == TensorRole::kInput                                      ? "input"
                                                                                                    : "activation";
    if (given[i].kind != kind) findings.Add(where, "kind", std::string(kind), given[i].kind);
  }
}

}  // namespace

void CheckMemory(const Plan& plan, int64_t workspace, Findings& findings) {
  MemorySummary derived = MemorySweep(plan).Run();
  derived.workspace_bytes = workspace;
  derived.peak_bytes = SaturatingAdd(derived.peak_bytes, workspace);
  const MemorySummary& given = plan.memory;
  const auto compare = [&](std::string_view what, int64_t expected, int64_t found) {
    if (expected != found) findings.Add("memory", std::string(what), StrCat(expected), StrCat(found));
  };
  compare("peak bytes", derived.peak_bytes, given.peak_bytes);
  compare("parameter bytes at the peak", derived.parameter_bytes, given.parameter_bytes);
  compare("activation bytes at the peak", derived.activation_bytes, given.activation_bytes);
  compare("boxing bytes at the peak", derived.boxing_bytes, given.boxing_bytes);
  compare("workspace bytes", derived.workspace_bytes, given.workspace_bytes);
  if (derived.peak_op != given.peak_op) {
    const auto name = [&](OpId op) {
      return op.valid() && op.index() < plan.graph.ops.size() ? PlaceOf(plan.graph, op) : "none";
    };
    findings.Add("memory", "op of the peak", name(derived.peak_op), name(given.peak_op));
  }
  CheckHolders(plan, derived, findings);
  if (plan.options.memory_limit && derived.peak_bytes > *plan.options.memory_limit) {
    findings.Add("memory", "peak is above the limit", StrCat("at most ", *plan.options.memory_limit),
                 StrCat(derived.peak_bytes));
  }
}

}  // namespace sbp

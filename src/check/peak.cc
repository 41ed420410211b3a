// A parameter or input is held throughout; an activation from its producer to the last op or transition that reads it,
// outputs to the end; a boxed copy from its first to its last reader; while a transition of several steps runs, what
// its steps hold beyond the copy. A transition that no op reads runs when the first transition after it does, or at the
// end of the step.
#include "check/peak.h"

#include <algorithm>
#include <unordered_set>

#include "base/checked_math.h"
#include "plan/pins.h"

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

enum Kind { kParameters, kActivations, kBoxing, kKinds };

class MemorySweep {
 public:
  explicit MemorySweep(const Plan& plan) : plan_(plan), graph_(plan.graph) {
    end_ = graph_.ops.empty() ? 0 : static_cast<uint32_t>(graph_.ops.size() - 1);
    for (auto& change : changes_) change.assign(static_cast<size_t>(end_) + 2, 0);
  }

  MemorySummary Run() {
    std::vector<Span> tensors(graph_.tensors.size()), copies(plan_.transitions.size());
    ReadDirectly(tensors);
    ReadBoxed(tensors, copies);
    for (size_t t = 0; t < tensors.size(); ++t) {
      const Tensor& tensor = graph_.tensors[t];
      Span span = tensors[t];
      if (tensor.producer.valid()) span.Cover(tensor.producer.value);
      if (tensor.role != TensorRole::kActivation) span = {0, end_};
      if (!span.empty())
        Hold(tensor.role == TensorRole::kParameter ? kParameters : kActivations, span,
             Bytes(TensorId(t), plan_.source_layouts[t]));
    }
    for (size_t i = 0; i < copies.size(); ++i) HoldCopy(plan_.transitions[i], copies[i]);
    return Peak();
  }

 private:
  int64_t Bytes(TensorId id, const NdSbp& layout) const {
    const TensorType& type = graph_.tensor(id).type;
    if (!type.is_static()) return 0;
    int64_t elements = 1;
    for (int64_t size : LocalShape(type.shape, layout, plan_.mesh)) elements = SaturatingMul(elements, size);
    return BytesOf(type.dtype, elements);
  }

  void ReadDirectly(std::vector<Span>& tensors) const {
    std::unordered_set<uint64_t> boxed;
    for (const Transition& transition : plan_.transitions) {
      for (const Use& use : transition.consumers) boxed.insert(UseKey(use.op, use.operand));
    }
    for (uint32_t o = 0; o < graph_.ops.size(); ++o) {
      const std::vector<TensorId> operands = graph_.OperandsOf(graph_.ops[o]);
      for (size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].valid() && !boxed.contains(UseKey(OpId(o), i))) tensors[operands[i].index()].Cover(o);
      }
    }
    for (TensorId output : graph_.outputs) tensors[output.index()].Cover(end_);
    for (const Tie& tie : graph_.ties) tensors[tie.output.index()].Cover(end_);
  }

  // Later transitions first: each reads an earlier copy or the tensor when it runs.
  void ReadBoxed(std::vector<Span>& tensors, std::vector<Span>& copies) const {
    std::unordered_map<TensorId, std::vector<uint32_t>> earlier;
    for (uint32_t i = 0; i < copies.size(); ++i) earlier[plan_.transitions[i].tensor].push_back(i);
    for (uint32_t i = static_cast<uint32_t>(copies.size()); i-- > 0;) {
      const Transition& transition = plan_.transitions[i];
      for (const Use& use : transition.consumers) copies[i].Cover(use.op.value);
      if (copies[i].empty()) copies[i].Cover(end_);
      Span* source = &tensors[transition.tensor.index()];
      for (uint32_t e : earlier[transition.tensor]) {
        if (e >= i) break;
        if (plan_.transitions[e].to == transition.from) source = &copies[e];
      }
      source->Cover(copies[i].first);
    }
  }

  void HoldCopy(const Transition& transition, const Span& span) {
    const int64_t copy = Bytes(transition.tensor, transition.to);
    Hold(kBoxing, span, copy);
    int64_t read = 0, most = 0;
    for (const BoxingStep& step : transition.steps) {
      const int64_t written = Bytes(transition.tensor, step.to);
      most = std::max(most, SaturatingAdd(read, written));
      read = written;
    }
    if (most > copy) Hold(kBoxing, {span.first, span.first}, most - copy);
  }

  void Hold(Kind kind, Span span, int64_t bytes) {
    changes_[kind][span.first] += bytes;
    changes_[kind][static_cast<size_t>(span.last) + 1] -= bytes;
  }

  static int64_t Narrow(Wide value) { return value > kInt64Max ? kInt64Max : static_cast<int64_t>(value); }

  MemorySummary Peak() const {
    Wide now[kKinds] = {}, most = -1;
    MemorySummary summary;
    for (uint32_t position = 0; position <= end_; ++position) {
      Wide sum = 0;
      for (int k = 0; k < kKinds; ++k) sum += now[k] += changes_[k][position];
      if (sum <= most) continue;
      most = sum;
      summary.peak_bytes = Narrow(sum);
      summary.parameter_bytes = Narrow(now[kParameters]);
      summary.activation_bytes = Narrow(now[kActivations]);
      summary.boxing_bytes = Narrow(now[kBoxing]);
      summary.peak_op = graph_.ops.empty() ? OpId() : OpId(position);
    }
    return summary;
  }

  const Plan& plan_;
  const Graph& graph_;
  uint32_t end_ = 0;
  std::vector<Wide> changes_[kKinds];
};

}  // namespace

void CheckMemory(const Plan& plan, Findings& findings) {
  const MemorySummary derived = MemorySweep(plan).Run();
  const MemorySummary& given = plan.memory;
  const auto compare = [&](std::string_view what, int64_t expected, int64_t found) {
    if (expected != found) findings.Add("memory", std::string(what), StrCat(expected), StrCat(found));
  };
  compare("peak bytes", derived.peak_bytes, given.peak_bytes);
  compare("parameter bytes at the peak", derived.parameter_bytes, given.parameter_bytes);
  compare("activation bytes at the peak", derived.activation_bytes, given.activation_bytes);
  compare("boxing bytes at the peak", derived.boxing_bytes, given.boxing_bytes);
  if (derived.peak_op != given.peak_op) {
    const auto name = [&](OpId op) {
      return op.valid() && op.index() < plan.graph.ops.size() ? PlaceOf(plan.graph, op) : "none";
    };
    findings.Add("memory", "op of the peak", name(derived.peak_op), name(given.peak_op));
  }
  int64_t held = 0;
  for (const MemoryHolder& holder : given.holders) held = SaturatingAdd(held, std::max<int64_t>(holder.bytes, 0));
  if (held > derived.peak_bytes) {
    findings.Add("memory", "largest holders hold more than the peak", StrCat("at most ", derived.peak_bytes),
                 StrCat(held));
  }
  if (plan.options.memory_limit && derived.peak_bytes > *plan.options.memory_limit) {
    findings.Add("memory", "peak is above the limit", StrCat("at most ", *plan.options.memory_limit),
                 StrCat(derived.peak_bytes));
  }
}

}  // namespace sbp

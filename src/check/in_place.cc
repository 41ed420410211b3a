#include "check/in_place.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "check/transition_order.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "plan/ends.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "rule/factor_map.h"
#include "rule/in_place.h"
#include "rule/op_query.h"
#include "rule/rule_set.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// A tensor as it was written (transition -1), or the copy that a transition leaves.
struct Buffer {
  TensorId tensor;
  int32_t transition = -1;
  friend auto operator<=>(const Buffer&, const Buffer&) = default;
};

class InPlaceChecker {
 public:
  InPlaceChecker(const Plan& plan, const RuleSet& rules, Findings& findings)
      : plan_(plan), graph_(plan.graph), rules_(rules), findings_(findings) {
    if (plan.in_place.empty()) return;
    for (uint32_t i = 0; i < plan.transitions.size(); ++i) {
      for (const Use& use : plan.transitions[i].consumers) boxed_.emplace(UseKey(use.op, use.operand), i);
    }
    FindLastReads();
    for (const TensorEnd& end : EndsOf(plan)) ends_.insert({end.tensor, std::max(-1, end.transition)});
  }

  void Run() {
    for (const InPlaceWrite& write : plan_.in_place) Check(write);
  }

 private:
  static constexpr uint32_t kAtTheEnd = TransitionOrder::kNone;

  Buffer BufferOf(OpId op, uint32_t operand, TensorId tensor) const {
    const auto copy = boxed_.find(UseKey(op, operand));
    return {tensor, copy == boxed_.end() ? -1 : static_cast<int32_t>(copy->second)};
  }

  // A boxing step runs before an op, and reads then.
  void FindLastReads() {
    for (uint32_t o = 0; o < graph_.ops.size(); ++o) {
      const std::vector<TensorId> operands = graph_.OperandsOf(graph_.ops[o]);
      for (uint32_t i = 0; i < operands.size(); ++i) {
        if (operands[i].valid()) Read(BufferOf(OpId(o), i, operands[i]), o);
      }
    }
    const TransitionOrder order = OrderOfTransitions(plan_);
    for (size_t i = 0; i < plan_.transitions.size(); ++i) {
      const uint32_t source = order.source[i];
      Read({plan_.transitions[i].tensor, source == TransitionOrder::kNone ? -1 : static_cast<int32_t>(source)},
           order.runs_before[i]);
    }
  }

  void Read(const Buffer& buffer, uint32_t op) {
    const auto [entry, is_new] = last_reads_.emplace(buffer, op);
    if (!is_new) entry->second = std::max(entry->second, op);
  }

  void Check(const InPlaceWrite& write) {
    const Op& op = graph_.op(write.op);
    const TensorId read = graph_.OperandsOf(op)[write.operand], written = op.outputs[write.result];
    const Buffer buffer = BufferOf(write.op, write.operand, read);
    const auto refuse = [&](std::string_view expected, std::string found) {
      findings_.Add(PlaceOf(graph_, write.op),
                    StrCat("result ", write.result, " is written over operand ", write.operand), std::string(expected),
                    std::move(found));
    };
    if (!taken_.insert(buffer).second) refuse("one result over one buffer", "a second one");
    if (!results_.insert(written).second) refuse("one place for a result", "a second one");
    const bool is_state = buffer.transition < 0 && graph_.tensor(read).role != TensorRole::kActivation;
    if (is_state && !IsNextOf(written, read)) refuse("a tie that makes it the next value, as that lies", "none");
    if (!IsPaired(write, is_state)) refuse("an element-wise result of the same size", "a rule that does not say so");
    if (const uint32_t last = last_reads_.at(buffer); last != write.op.value) {
      refuse("the last to read it", last == kAtTheEnd ? "boxing at the end" : PlaceOf(graph_, OpId(last)));
    }
    if (ends_.contains(buffer)) refuse("a tensor that the step does not leave behind", PlaceOf(graph_, read));
    const NdSbp& from =
        buffer.transition < 0 ? plan_.source_layouts[read.index()] : plan_.transitions[buffer.transition].to;
    if (!LieAlike(read, from, written)) refuse(ToString(from), ToString(plan_.source_layouts[written.index()]));
  }

  bool IsNextOf(TensorId written, TensorId state) const {
    const bool is_tied =
        std::ranges::count(graph_.ties, state, &Tie::input) == 1 &&
        std::ranges::any_of(graph_.ties, [&](const Tie& tie) { return tie.output == written && tie.input == state; });
    return is_tied && ends_.contains({written, -1});
  }

  // Every operand in which the op reads the buffer must bear it. Equal ops ask the rules once.
  bool IsPaired(const InPlaceWrite& write, bool is_state) {
    const Op& op = graph_.op(write.op);
    const std::vector<TensorId> operands = graph_.OperandsOf(op);
    const std::vector<InPlacePair>& pairs = PairsOf(op);
    const Buffer buffer = BufferOf(write.op, write.operand, operands[write.operand]);
    for (uint32_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].valid() || BufferOf(write.op, i, operands[i]) != buffer) continue;
      const bool bears = std::ranges::any_of(pairs, [&](const InPlacePair& pair) {
        return pair.result == static_cast<int>(write.result) && pair.operand == static_cast<int>(i) &&
               (pair.elementwise || is_state || i != write.operand);
      });
      if (!bears) return false;
    }
    return true;
  }

  const std::vector<InPlacePair>& PairsOf(const Op& op) {
    std::string key = StrCat(op.type, "/", reinterpret_cast<uintptr_t>(op.attributes.get()));
    for (const TensorId id : graph_.OperandsOf(op)) {
      if (id.valid() && graph_.tensor(id).literal != nullptr) {
        key += StrCat("/", reinterpret_cast<uintptr_t>(graph_.tensor(id).literal.get()));
      }
      key += StrCat(";", id.valid() ? ToString(graph_.tensor(id).type) : "");
    }
    for (const TensorId id : op.outputs) key += StrCat(">", id.valid() ? ToString(graph_.tensor(id).type) : "");
    const auto [entry, is_new] = pairs_.try_emplace(std::move(key));
    if (is_new) {
      const Result<RuleInstanceRef> instance = rules_.Instantiate(QueryFor(graph_, rules_, op));
      if (instance.ok()) entry->second = InPlacePairs(**instance);
    }
    return entry->second;
  }

  bool LieAlike(TensorId read, const NdSbp& from, TensorId written) const {
    const TensorType &source = graph_.tensor(read).type, &target = graph_.tensor(written).type;
    const NdSbp& to = plan_.source_layouts[written.index()];
    const auto elements = [&](const TensorType& type, const NdSbp& layout) {
      int64_t product = 1;
      for (const int64_t size : LocalShape(type.shape, layout, plan_.mesh)) product *= size;
      return product;
    };
    if (BytesOf(source.dtype, elements(source, from)) != BytesOf(target.dtype, elements(target, to))) return false;
    for (int axis = 0; axis < plan_.mesh.num_axes(); ++axis) {
      const bool splits = from[axis].is_split();
      if (plan_.mesh.size(axis) == 1) continue;
      if (splits != to[axis].is_split()) return false;
      if (splits && source.shape == target.shape && from[axis] != to[axis]) return false;
    }
    return true;
  }

  const Plan& plan_;
  const Graph& graph_;
  const RuleSet& rules_;
  Findings& findings_;
  std::unordered_map<uint64_t, uint32_t> boxed_;  // UseKey -> the transition that is read
  std::map<Buffer, uint32_t> last_reads_;         // the op that reads it last, or before which boxing does
  std::set<Buffer> ends_, taken_;
  std::set<TensorId> results_;
  std::unordered_map<std::string, std::vector<InPlacePair>> pairs_;
};

}  // namespace

void CheckInPlace(const Plan& plan, const RuleSet& rules, Findings& findings) {
  InPlaceChecker(plan, rules, findings).Run();
}

}  // namespace sbp

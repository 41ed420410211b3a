#include "rule/in_place.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "memory/lifetime_builder.h"
#include "memory/memory.h"
#include "plan/ends.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

class InPlaceFinder {
 public:
  InPlaceFinder(const Plan& plan, const StepOrder& order, const LifetimeBuilder& builder, const PairsOfOp& pairs)
      : plan_(plan), graph_(plan.graph), order_(order), pairs_(pairs), builder_(builder) {
    taken_.assign(builder_.buffers().size(), false);
    std::unordered_map<TensorId, int> writers;
    for (const Tie& tie : graph_.ties) ++writers[tie.input];
    const std::vector<TensorEnd> ends = EndsOf(plan);  // of the outputs, then of the ties
    for (size_t i = 0; i < graph_.ties.size(); ++i) {
      const Tie& tie = graph_.ties[i];
      const bool lies_alike = ends[graph_.outputs.size() + i].transition < 0;
      if (lies_alike && writers[tie.input] == 1) next_of_.emplace(tie.output, tie.input);
    }
  }

  std::vector<InPlaceWrite> Run() {
    std::vector<InPlaceWrite> found;
    for (size_t o = 0; o < graph_.ops.size(); ++o) {
      const std::span<const InPlacePair> pairs = pairs_(OpId(o));
      if (pairs.empty()) continue;
      const Op& op = graph_.ops[o];
      operands_ = graph_.OperandsOf(op);
      for (uint32_t r = 0; r < op.outputs.size(); ++r) {
        if (!op.outputs[r].valid()) continue;
        const int operand = Choose(OpId(o), pairs, static_cast<int>(r), op.outputs[r]);
        if (operand >= 0) found.push_back({OpId(o), r, static_cast<uint32_t>(operand)});
      }
    }
    return found;
  }

 private:
  // The state that the result is the next value of goes first: then the step needs no second copy of it.
  int Choose(OpId op, std::span<const InPlacePair> pairs, int result, TensorId written) {
    for (const bool state : {true, false}) {
      for (const InPlacePair& pair : pairs) {
        if (pair.result != result || !operands_[pair.operand].valid()) continue;
        const size_t buffer = builder_.BufferOf(op, static_cast<uint32_t>(pair.operand), operands_[pair.operand]);
        const bool fits = state ? IsStateOf(buffer, written) : pair.elementwise && !IsOwned(buffer);
        if (!fits || !MayTake(op, pairs, result, written, buffer)) continue;
        taken_[buffer] = true;
        return pair.operand;
      }
    }
    return -1;
  }

  // Is the buffer an input or a parameter as it starts?
  bool IsOwned(size_t buffer) {
    const Lifetime& lifetime = builder_.buffers()[buffer];
    return lifetime.transition < 0 && graph_.tensor(lifetime.tensor).role != TensorRole::kActivation;
  }

  bool IsStateOf(size_t buffer, TensorId written) {
    const auto next = next_of_.find(written);
    return next != next_of_.end() && IsOwned(buffer) && builder_.buffers()[buffer].tensor == next->second;
  }

  bool MayTake(OpId op, std::span<const InPlacePair> pairs, int result, TensorId written, size_t buffer) {
    const Lifetime& source = builder_.buffers()[buffer];
    if (taken_[buffer] || builder_.kept(buffer) || builder_.last_read(buffer) != order_.ops[op.index()]) return false;
    if (source.bytes == 0 || source.bytes != builder_.buffers()[written.index()].bytes) return false;
    if (!SplitAlike(source.tensor, builder_.LayoutOf(buffer), written)) return false;
    // The op may read the buffer in several places: all must bear it.
    for (uint32_t i = 0; i < operands_.size(); ++i) {
      if (!operands_[i].valid() || builder_.BufferOf(op, i, operands_[i]) != buffer) continue;
      const bool is_paired = std::ranges::any_of(
          pairs, [&](const InPlacePair& pair) { return pair.result == result && pair.operand == static_cast<int>(i); });
      if (!is_paired) return false;
    }
    return true;
  }

  // Do the parts on each device hold the same elements? Between tensors of different shapes equal sizes say so.
  bool SplitAlike(TensorId read, const NdSbp& from, TensorId written) const {
    const NdSbp& to = plan_.source_layouts[written.index()];
    const bool same_shape = graph_.tensor(read).type.shape == graph_.tensor(written).type.shape;
    for (int axis = 0; axis < plan_.mesh.num_axes(); ++axis) {
      if (plan_.mesh.size(axis) == 1) continue;
      if (from[axis].is_split() != to[axis].is_split()) return false;
      if (same_shape && from[axis].is_split() && from[axis] != to[axis]) return false;
    }
    return true;
  }

  const Plan& plan_;
  const Graph& graph_;
  const StepOrder& order_;
  const PairsOfOp& pairs_;
  const LifetimeBuilder& builder_;
  std::vector<bool> taken_;                         // per buffer
  std::unordered_map<TensorId, TensorId> next_of_;  // outputs of ties that lie as their inputs do
  std::vector<TensorId> operands_;                  // of the op in hand
};

}  // namespace

std::vector<InPlaceWrite> FindInPlace(const Plan& plan, const StepOrder& order, const LifetimeBuilder& builder,
                                      const PairsOfOp& pairs) {
  return InPlaceFinder(plan, order, builder, pairs).Run();
}

std::vector<InPlaceWrite> FindInPlace(const Plan& plan, const StepOrder& order, const PairsOfOp& pairs) {
  return FindInPlace(plan, order, LifetimeBuilder(plan, order), pairs);
}

std::vector<Lifetime> WriteInPlace(Plan& plan, const StepOrder& order, const PairsOfOp& pairs) {
  LifetimeBuilder builder(plan, order);  // does not read in-place writes
  plan.in_place = FindInPlace(plan, order, builder, pairs);
  return Lifetimes(plan, order, std::move(builder));
}

}  // namespace sbp

#include "strategy/optimal/turn.h"

#include <algorithm>
#include <cstddef>

#include "graph/graph.h"

namespace sbp {
namespace {

// The step runs ops in the order of the graph, which is topological.
std::vector<StepSide> SidesOfOps(const Problem& problem, OpId turn) {
  const Graph& graph = *problem.graph;
  std::vector<StepSide> sides(problem.num_ops(), StepSide::kEither);
  sides[turn.index()] = StepSide::kBefore;
  for (size_t o = turn.index() + 1; o-- > 0;) {
    if (sides[o] != StepSide::kBefore) continue;
    for (const TensorId operand : problem.operands(OpId(o))) {
      if (!operand.valid()) continue;
      const OpId producer = graph.tensor(operand).producer;
      if (producer.valid()) sides[producer.index()] = StepSide::kBefore;
    }
  }
  const auto is_behind = [&](TensorId operand) {
    if (!operand.valid()) return false;
    const OpId producer = graph.tensor(operand).producer;
    return producer.valid() && (producer == turn || sides[producer.index()] == StepSide::kBehind);
  };
  for (size_t o = turn.index() + 1; o < sides.size(); ++o) {
    if (std::ranges::any_of(problem.operands(OpId(o)), is_behind)) sides[o] = StepSide::kBehind;
  }
  return sides;
}

}  // namespace

Turn TurnAt(const Problem& problem, OpId op) {
  const Graph& graph = *problem.graph;
  Turn turn{.ops = SidesOfOps(problem, op), .tensors = {}};
  std::vector<bool> tied(graph.tensors.size(), false);
  for (const Tie& tie : graph.ties) tied[tie.input.index()] = tied[tie.output.index()] = true;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const OpId producer = graph.tensors[t].producer;
    const auto [begin, end] = problem.uses.of(TensorId(t));
    const auto is_before = [&](const Use& use) { return turn.ops[use.op.index()] == StepSide::kBefore; };
    if (tied[t]) {
      turn.tensors.push_back(StepSide::kEither);
    } else if (producer.valid() && (producer == op || turn.ops[producer.index()] == StepSide::kBehind)) {
      turn.tensors.push_back(StepSide::kBehind);
    } else if (begin != end && !problem.is_output[t] && std::all_of(begin, end, is_before)) {
      turn.tensors.push_back(StepSide::kBefore);
    } else {
      turn.tensors.push_back(StepSide::kEither);
    }
  }
  return turn;
}

}  // namespace sbp

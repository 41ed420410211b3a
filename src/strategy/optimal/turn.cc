#include "strategy/optimal/turn.h"

#include <algorithm>
#include <cstddef>

#include "graph/graph.h"

namespace sbp {
// The step runs ops in the order of the graph, which is topological.
std::vector<StepSide> SidesOfTurn(const Problem& problem, OpId turn) {
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

}  // namespace sbp

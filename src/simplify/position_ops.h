// Which ops positions are followed through (position_table.h): a row an op.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "simplify/positions.h"

namespace sbp::simplify {

// One result of an op whose operands are known. The results' types are static tensors.
struct PositionCall {
  const Graph& graph;
  const Op& op;
  size_t result;
  std::vector<const PlaceValue*> operands;  // null: absent, or behind the row's

  const TensorType& type() const { return graph.tensor(op.outputs[result]).type; }
  const PlaceValue* operand(size_t i) const { return i < operands.size() ? operands[i] : nullptr; }
};

struct PositionRow {
  std::string_view op;
  size_t operands;  // the first so many must be known where they are there; what the others say is in the result's type
  MaybePlaces (*compute)(const PositionCall& call);
};
// Null: not followed.
const PositionRow* FindPositionRow(std::string_view op);

}  // namespace sbp::simplify

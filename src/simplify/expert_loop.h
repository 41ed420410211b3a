// One turn of a loop over experts: the rows of one expert, from the mask that picks them to where they are added up.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "sbp/shard_math.h"

namespace sbp::simplify {

// What an op of a turn reads: a result of a step before it, or a tensor from outside.
struct TurnOperand {
  int step = -1;
  size_t result = 0;
  TensorId outside;
};

// What is done to every row alike, seen for all rows of all experts: [rows, ...].
struct TurnStep {
  enum class Kind : uint8_t {
    kGather,   // rows of `outside`, at the coordinates of `dims`
    kProduct,  // times the expert's matrix, `outside` of the second operand
    kRowwise,  // any other op
  };
  Kind kind = Kind::kRowwise;
  size_t op = 0;  // of the graph
  std::vector<TurnOperand> operands;
  std::vector<int> dims;  // of the indices, ascending
  bool transposed = false;
  size_t leading = 0;  // kGather: dimensions of size 1 before the indexed ones
};

struct ExpertTurn {
  TensorId ids;        // the experts of all rows; the last dimension is 1 if `extra_dim`
  Shape ids_dims;      // without that one
  int64_t expert = 0;  // the one of this turn
  std::vector<TurnStep> steps;
  size_t scatter = 0;     // the op that adds the rows up
  std::vector<int> dims;  // of the indices that say where, ascending
  TurnOperand updates;
  TensorId before, after;  // what they are added to, and the result
};

// The turn that begins at op `first` (NonZero). Nothing: it is no such turn, or one that cannot be followed.
std::optional<ExpertTurn> FindTurn(const Graph& graph, const UseTable& uses, size_t first);

// Do two turns the same with matrices of their own?
bool SameTurns(const Graph& graph, const ExpertTurn& a, const ExpertTurn& b);

// How many experts the indices choose among, where that is known: they are TopK's. 0: it is not.
int64_t NumExperts(const Graph& graph, TensorId ids);

}  // namespace sbp::simplify

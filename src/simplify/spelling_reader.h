// What the passes share that read attention from products and a softmax: ops that the spelling alone reads, numbers,
// and masks that are a window of positions.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "simplify/causal_masks.h"
#include "simplify/graph_edit.h"
#include "simplify/position_table.h"

namespace sbp::simplify {

// Does what executes the model run its single ops as they are written, as PyTorch does? Then pieces of an activation or
// a norm are kernels, whose operands autograd keeps; exporters to ONNX and JAX write them of operators that are fused.
bool RunsAsWritten(const Graph& graph);

class SpellingReader {
 protected:
  // `computed`: as of SimplifyPass. Both outlive this.
  SpellingReader(Graph& graph, const std::vector<bool>& computed)
      : edit_(graph), graph_(graph), computed_(computed), uses_(BuildUses(graph)), table_(graph, computed) {}

  bool IsComputed(TensorId id) const { return id.index() < computed_.size() && computed_[id.index()]; }
  const TensorType& TypeOf(TensorId id) const { return graph_.tensor(id).type; }
  // The op of this type that writes a tensor which the spelling alone reads, in so many places; null: another one.
  const Op* Inner(TensorId id, std::string_view type, size_t operands, std::ptrdiff_t readers = 1) const;
  // The number that all elements are; nothing: of others, and of weights.
  std::optional<double> ConstantOf(TensorId id);
  // A float parameter that training may change whatever its first values are: one of rank 0 is a number.
  bool IsWeight(TensorId id) const;

  // What `x` is times a number that is not 0.
  struct Scaled {
    const Op* op;
    TensorId of;
    double factor;
  };
  std::optional<Scaled> ScaledOf(TensorId x, std::ptrdiff_t readers = 1);

  // Scores under a mask, by its op: what lets a window of keys, its last dimension, through for each query, the
  // dimension before.
  struct Masked {
    const Op* op;
    TensorId scores;
    KeyWindow window;
  };
  std::optional<Masked> MaskedOf(TensorId x, std::ptrdiff_t readers = 1);

  GraphEdit edit_;
  Graph& graph_;
  const std::vector<bool>& computed_;
  UseTable uses_;
  PositionTable table_;
};

}  // namespace sbp::simplify

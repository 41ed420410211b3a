// Numbers that follow from constants, and from inputs of which the graph assumes a value: counters, and conditions.
#pragma once

#include <optional>
#include <unordered_map>

#include "base/dtype.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "graph/literal.h"

namespace sbp {

class KnownNumbers {
 public:
  // The graph must outlive it; ops and tensors may be added to it meanwhile, behind those that are there.
  explicit KnownNumbers(const Graph& graph) : graph_(graph) {}

  // The number that a tensor of one element holds, where it follows from them by arithmetic, in f64. No more than
  // kDeepest ops after what has been asked for before.
  std::optional<double> Find(TensorId id) { return Find(id, 0); }

 private:
  static constexpr int kDeepest = 64;
  std::optional<double> Find(TensorId id, int depth);
  std::optional<double> Compute(const Op& op, DType type, int depth);
  const Literal* Assumed(const Tensor& input) const;  // nullptr: nothing is assumed of it

  const Graph& graph_;
  std::unordered_map<TensorId, std::optional<double>> values_;
};

}  // namespace sbp

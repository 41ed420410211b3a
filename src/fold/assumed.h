// What only running decides, and planning assumes: sizes of tensors, taken at their bound, and the values of shape
// arithmetic that follow from them. An assumed value serves planning like a known one, but its op stays: when running,
// the value comes from the tensor.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "fold/evaluate.h"
#include "fold/foldable.h"
#include "graph/graph.h"
#include "rule/factor_map.h"
#include "rule/rule_set.h"

namespace sbp {

// One entry a dimension, or an element in row-major order; true: assumed. Empty: none is.
using AssumedFlags = std::vector<bool>;

class Assumptions {
 public:
  const AssumedFlags& dims(TensorId tensor) const { return Find(dims_, tensor); }
  const AssumedFlags& elements(TensorId tensor) const { return Find(elements_, tensor); }
  // Is a size or a value of it assumed?
  bool Touches(TensorId tensor) const { return !dims(tensor).empty() || !elements(tensor).empty(); }
  bool TouchesAny(const std::vector<TensorId>& tensors) const;

  void SetDims(TensorId tensor, AssumedFlags flags) { Set(dims_, tensor, std::move(flags)); }
  void SetElements(TensorId tensor, AssumedFlags flags) { Set(elements_, tensor, std::move(flags)); }

  // The dimensions of an op's results that data decide, or that follow from assumed ones of its operands.
  // `reads_assumed`: the rule reads an assumed value, from which any of them may follow.
  void TakeResults(const std::vector<TensorId>& operands, const std::vector<TensorId>& results,
                   const RuleInstance& instance, bool reads_assumed);

  // Which elements of the evaluated `results` are assumed; one entry a result. Nothing: they are what they are, for all
  // that is assumed.
  std::optional<std::vector<AssumedFlags>> ElementsOf(const FoldableOp& row, const OpQuery& query,
                                                      const std::vector<TensorId>& operands,
                                                      const Evaluated& results) const;

 private:
  using Map = std::unordered_map<TensorId, AssumedFlags>;
  static const AssumedFlags& Find(const Map& map, TensorId tensor);
  static void Set(Map& map, TensorId tensor, AssumedFlags flags);

  Map dims_, elements_;
};

}  // namespace sbp

// What the tensors of a graph hold that follow from positions alone (positions.h): constants that are known, and what
// ops make of them. Found on demand, each tensor once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "simplify/positions.h"

namespace sbp::simplify {

class PositionTable {
 public:
  // `computed`: as of SimplifyPass. Both stay as they are, and outlive this.
  PositionTable(const Graph& graph, const std::vector<bool>& computed) : graph_(graph), computed_(computed) {}

  // Null: it depends on data, or is of no form that is known. Valid as long as this is. Linear in the ops before the
  // tensor; stops, with null, at some millions of numbers in all.
  const PlaceValue* Find(TensorId id);

 private:
  // The operands that must be looked at before a tensor; none where one is known to be of no form.
  std::vector<TensorId> MissingFor(TensorId id) const;
  // Of a tensor for which none is missing.
  MaybePlaces Compute(TensorId id);
  bool IsComputed(TensorId id) const { return id.index() < computed_.size() && computed_[id.index()]; }

  const Graph& graph_;
  const std::vector<bool>& computed_;
  std::unordered_map<TensorId, MaybePlaces> found_;
  int64_t numbers_ = 0;  // held
};

}  // namespace sbp::simplify

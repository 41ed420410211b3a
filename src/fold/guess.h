// Sizes that only running decides. They are planned at their bound, or at a size that stands for any (open ones), until
// a tensor further on is stated to have another size in a dimension that follows from them: then all of them take it.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"

namespace sbp {

class Guesses {
 public:
  explicit Guesses(Graph& graph) : graph_(graph) {}

  // The results of an op: which of their dimensions follow from guesses among its operands, and which are new guesses.
  // `failure` is the error of an open one that nothing states. Error: an open guess is used otherwise.
  Status Take(const std::vector<TensorId>& operands, const std::vector<TensorId>& results, const RuleInstance& instance,
              const Status& failure);

  // The sizes of these tensors are used in a way that is not followed: they stay. Error: one of them is open.
  Status Fix(const std::vector<TensorId>& tensors);

  // What is stated of a tensor decides the guesses that it follows from, where it is within their bound.
  void Decide(TensorId tensor, const TensorType& stated);

  // The error of the first open guess that nothing has decided.
  Status Undecided() const;

 private:
  using Place = std::pair<TensorId, size_t>;  // a dimension
  struct Guess {
    std::vector<Place> places;  // that have its size
    bool fixed = false;
    bool open = false;
    Status failure;
  };
  int GuessAt(TensorId tensor, size_t dim) const;  // -1: none, or fixed
  bool Follow(const std::vector<TensorId>& operands, const std::vector<TensorId>& results, const RuleInstance& instance,
              const Place& from, int guess);
  void AddPlace(int guess, TensorId tensor, size_t dim);
  Status Fix(Guess& guess);

  Graph& graph_;
  std::vector<Guess> guesses_;
  std::unordered_map<TensorId, std::vector<std::pair<size_t, int>>> at_;  // per tensor: dimension, guess
};

}  // namespace sbp

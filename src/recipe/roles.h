// What each tensor of a training graph is to a recipe.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "rule/rule_set.h"

namespace sbp {

// Of a matrix that a Transpose has turned: which dimension of it each one of the turned one is.
struct TurnedUse {
  Use use;
  std::vector<int64_t> order;
};

struct Roles {
  std::vector<TensorId> batch, residual;
  struct Parameter {
    TensorId id, gradient, accumulator;  // invalid: none
    std::vector<TensorId> states;
    std::vector<TensorId> refetched;  // results of Refetch, for the backward pass
    std::vector<Use> uses;            // by both passes, behind casts and Refetch
    std::vector<TurnedUse> turned;    // likewise, behind a Transpose of that
    bool is_master = false;           // graph/families.h
    int tensor_dim = -1;              // that tensor parallelism splits; -1: none
    int expert_dim = -1;              // of stacked experts; -1: it holds none
  };
  std::vector<Parameter> parameters;
};

// States, gradients and accumulators are found by ties and the names that `grad` gives. Dimensions of tensor
// parallelism by a walk through the forward pass, as Megatron-LM splits (Shoeybi et al. 2019): a matrix that reads what
// is not split is split by columns, the next one, which reads the split columns, by rows, whereupon nothing is split
// any more; tables along what is looked up in; vectors as what they are added to.
Result<Roles> FindRoles(const Graph& graph, const RuleSet& rules, int64_t ranks);

}  // namespace sbp

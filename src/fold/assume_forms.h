// Operands whose values an input gives, and from which sizes or an expansion follow, become constants.
#pragma once

#include <unordered_map>

#include "base/ids.h"
#include "fold/pass_state.h"
#include "graph/graph.h"

namespace sbp {

class AssumedForms {
 public:
  explicit AssumedForms(PassState& pass) : pass_(pass) {}
  void Take(Op& op);

 private:
  TensorId ConstantOf(TensorId tensor);

  PassState& pass_;
  std::unordered_map<TensorId, TensorId> constants_;
};

}  // namespace sbp

// What an op reads, absent operands passed over.
#pragma once

#include "base/ids.h"
#include "graph/graph.h"

namespace sbp {

// visit(TensorId) for each present input, then for each capture.
template <typename Visit>
void EachOperand(const Op& op, Visit visit) {
  for (const auto* list : {&op.inputs, &op.captures}) {
    for (const TensorId id : *list) {
      if (id.valid()) visit(id);
    }
  }
}

}  // namespace sbp

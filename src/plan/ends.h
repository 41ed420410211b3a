// How tensors are left at the end of a step, for the caller's sake.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "plan/plan.h"
#include "sbp/sbp.h"

namespace sbp {

struct TensorEnd {
  TensorId tensor;
  int32_t transition = -1;  // that makes the copy which is left; -1: the tensor stays as it was written
};

// The graph's outputs in their order, then the outputs of ties. A layout that no transition makes counts as the written
// one (`check` finds that).
std::vector<TensorEnd> EndsOf(const Plan& plan);

// Per output of the graph how it ends: Plan::output_layouts; where the plan does not say it, the layout of a tie, that
// of a transition which nobody reads, the written one.
std::vector<NdSbp> OutputLayoutsOf(const Plan& plan);

}  // namespace sbp

// Over which transitions activations go, and which of them a framework's words imply.
#pragma once

#include "graph/graph.h"
#include "parallelism/words.h"
#include "plan/plan.h"
#include "recipe/roles.h"

namespace sbp {

// Sets `residual` of tensor axes, and lists residual sums that lie otherwise than most.
void FoldResiduals(const Plan& plan, const Roles& roles, Fold& fold);

// Lists transitions of the forward pass that the uses of the axes do not imply (Fold::unfolded), and those of the
// backward pass and of the loss (Fold::derived). After FoldResiduals.
void FoldTransitions(const Plan& plan, Fold& fold);

// How much of each layer the backward pass computes again.
void FoldRecomputation(const Plan& plan, const Roles& roles, Fold& fold);

}  // namespace sbp

// Kernel groups in a plan's message.
#pragma once

#include "base/status.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "schemas/plan.pb.h"

namespace sbp {

void KernelsToMessage(const Plan& plan, sbp_plan::v1::Kernels& message);
// Fills plan.kernels; `index` is of its graph. Errors: an unknown op, tensor or kind; an op in two groups; a group of
// fewer than two ops.
Status KernelsFromMessage(const sbp_plan::v1::Kernels& message, const NameIndex& index, Plan& plan);

}  // namespace sbp

// Does an earlier plan answer the problem that is posed now, but for its pins and its memory limit?
#pragma once

#include "plan/plan.h"

namespace sbp {

// `posed`: the plan to be made, with its graph, mesh, cluster and options. True only where all is equal that prices and
// bounds follow from, and the same version of the program made the earlier one.
bool AnswersAlike(const Plan& earlier, const Plan& posed);

}  // namespace sbp

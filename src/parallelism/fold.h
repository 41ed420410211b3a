// A plan in the words of training frameworks (words.h), told from its layouts, never from how the plan was made. What
// has no such word is listed by name and reason.
#pragma once

#include "base/status.h"
#include "parallelism/words.h"
#include "plan/plan.h"

namespace sbp {

// The plan is right (api/plan_file.h). Errors: a rule of its own that does not read.
Result<Fold> FoldPlan(const Plan& plan);

}  // namespace sbp

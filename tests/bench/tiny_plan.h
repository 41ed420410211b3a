// A plan of tasks so small that what remains of their time is the runtime's.
#pragma once

#include <string_view>

#include "pipeline/pipeline.h"

namespace sbp {

// A chain of `ops` element-wise ops on 8 elements.
Plan TinyPlan(const RuleSet& rules, std::string_view mesh, int ops);

}  // namespace sbp

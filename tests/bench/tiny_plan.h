// A plan of tasks so small that what remains of their time is the runtime's.
#pragma once

#include <string_view>

#include "pipeline/pipeline.h"

namespace sbp {

// A chain of `ops` ops on 8 elements; `type`: element-wise or a normalization of one operand.
Plan TinyPlan(const RuleSet& rules, std::string_view mesh, int ops, std::string_view type = "Relu");

}  // namespace sbp

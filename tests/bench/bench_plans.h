// Plans that benchmarks run.
#pragma once

#include <string_view>

#include "pipeline/pipeline.h"

namespace sbp {

// A chain of `ops` ops on 8 elements, so small that what remains of their time is the runtime's; `op`: element-wise
// or a normalization of one operand.
Plan TinyPlan(const RuleSet& rules, std::string_view mesh, int ops, std::string_view op = "Relu");

// Causal attention of one device on 16 heads of 128 and `positions` positions, as ONNX's Attention or, if asked for, as
// the primitives that it stands for.
Plan AttentionPlan(const RuleSet& rules, DType dtype, int64_t positions, bool expanded);

}  // namespace sbp

// One evaluator prices every assignment, whatever found it: it inserts boxing, shares it between consumers, adds up
// compute and collectives, and computes memory.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "strategy/strategy.h"

namespace sbp {

// Fills records, op_records, source_layouts, transitions, total, memory, replicated and conflicts of `plan`, whose
// graph, mesh, cluster and options stand already. A tie whose output does not end in its input's layout gets a
// transition at the end of the step. Error kNoPlan: memory above options.memory_limit (names peak and largest holders).
// Without `reasons` transitions have none and replicated tensors are not listed, without `memory` there is none and no
// limit: for those who only want the price.
//
// Where a plan exceeds a memory limit, or with `shrinks`, smaller copies take the place of tensors early
// (memory/shrink.h), if that lowers the peak. With `ahead`, boxing is sent ahead as far as memory lets it
// (memory/prefetch.h): that may raise the peak, but not above the limit.
struct EvaluateOptions {
  bool reasons = true, memory = true, ahead = false, shrinks = false;
  std::optional<int64_t> room;  // bytes: as a memory limit, without an error; where the plan's options have none
};
Status Evaluate(const Problem& problem, const Assignment& assignment, Plan& plan, const EvaluateOptions& options = {});

}  // namespace sbp
